//! Reports of crashes.

use crate::support::{LiveLog, Process, Scratch};
use rustix::process::geteuid;
use sampan_client::ports;
use sampan_testkit::{Client, wait};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

const LUA: &str = r#"
local app = require "sampan"
app.db.exec("CREATE TABLE IF NOT EXISTS seen (what TEXT)")
app.get("/read/:secret", function() return { n = app.db.one("SELECT count(*) AS n FROM seen").n } end)
local function spin()
  app.log.info("it spins")
  while true do end
end
app.get("/spin/:secret", { slow = false }, spin)
app.get("/slow/:secret", { slow = true }, spin)
"#;

const JS: &str = r#"
import { app, db, log } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS seen (what TEXT)");
app.get("/read/:secret", () => ({ n: db.one("SELECT count(*) AS n FROM seen").n }));
const spin = () => {
  log.info("it spins");
  for (;;);
};
app.get("/spin/:secret", { slow: false }, spin);
app.get("/slow/:secret", { slow: true }, spin);
"#;

const SETTINGS: &str =
    "[server]\nworkers = 1\n[workers]\nslow = 1\n[limits]\nscript_millis_max = 60000\n";

/// The number of the user `nobody`.
const NOBODY: u32 = 65_534;

struct Served {
    scratch: Scratch,
    process: Process,
    log: LiveLog,
    client: Client,
}

fn serve((file, text): (&str, &str), settings: &str) -> Served {
    let settings = format!("{SETTINGS}{settings}");
    let scratch = Scratch::new(&[(file, text), ("sampan.toml", &settings)]);
    start(scratch, &[])
}

fn start(scratch: Scratch, options: &[&str]) -> Served {
    let port = ports::free();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.args(["run", "--listen", &format!("127.0.0.1:{port}")]);
    let mut process = Process::start(command.args(options).arg(scratch.path()));
    let log = process.read_errors();
    let client = Client::connect(([127, 0, 0, 1], port).into()).expect("connected");
    Served {
        scratch,
        process,
        log,
        client,
    }
}

fn each(test: impl Fn((&'static str, &'static str))) {
    for app in [("app.lua", LUA), ("app.js", JS)] {
        test(app);
    }
}

/// Returns the reports in a folder, the oldest first.
fn reports(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("a text"))
        .collect()
}

/// Returns the only report of a server.
fn report(served: &Served, folder: &str) -> String {
    let mut reports = reports(&served.scratch.path().join(folder));
    assert_eq!(reports.len(), 1, "{}", served.log.text());
    reports.remove(0)
}

impl Served {
    fn send(&mut self, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
        self.client.send(request.as_bytes()).expect("sent");
    }

    /// Ends by a signal, which is the status of the process too.
    fn ends_by(&mut self, name: &str, number: i32) {
        self.process.signal(name);
        self.ended_by(number);
    }

    fn ended_by(&mut self, number: i32) {
        assert_eq!(
            self.process.ended().signal(),
            Some(number),
            "{}",
            self.log.text()
        );
    }
}

#[test]
fn a_signal_leaves_a_report_with_the_routes_that_ran() {
    each(|app| {
        for (signal, number, path, route) in [
            ("SEGV", 11, "/spin/s3cret", "  GET /spin/:secret\n"),
            ("ABRT", 6, "/slow/s3cret", "  GET /slow/:secret\n"),
        ] {
            let mut served = serve(app, "");
            served.send(path);
            served.log.until("it spins");
            served.ends_by(signal, number);
            let report = report(&served, "crashes");
            assert!(
                report.starts_with("Sampan crash report 1\ntime: "),
                "{report}"
            );
            let reason = format!("\nreason: SIG{signal}, sent to the process\n");
            assert!(report.contains(&reason), "{report}");
            assert!(
                report.contains(route) && !report.contains("s3cret"),
                "{report}"
            );
            for version in [
                "\nversions: sampan ",
                ", LuaJIT 2.1.",
                ", QuickJS-ng 0.",
                ", SQLite 3.",
            ] {
                assert!(report.contains(version), "{report}");
            }
            assert!(report.contains("stack:\n  "), "{report}");
            let folder = served.scratch.path().join("crashes");
            let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode();
            assert_eq!(mode(&folder) & 0o777, 0o700);
            served.log.until("a crash report is in ");
        }
    });
}

#[test]
fn a_fault_is_reported_with_the_route_of_its_thread() {
    each(|app| {
        let mut served = serve(app, "");
        served.send("/read/1");
        served.client.read(false).expect("an answer");
        // The memory that connections of SQLite share is this file.
        let shared = served.scratch.path().join("data.db-shm");
        File::options()
            .write(true)
            .open(shared)
            .expect("there")
            .set_len(0)
            .expect("cut");
        served.send("/read/2");
        served.ended_by(7);
        let report = report(&served, "crashes");
        assert!(report.contains("\nreason: SIGBUS at 0x"), "{report}");
        assert!(report.contains("\nroute: GET /read/:secret\n"), "{report}");
        assert!(report.contains("\n  sampan+0x"), "{report}");
    });
}

#[test]
fn without_a_slow_lane_routes_are_known_too() {
    each(|(file, text)| {
        let settings = SETTINGS.replace("slow = 1", "slow = 0");
        let scratch = Scratch::new(&[(file, text), ("sampan.toml", &settings)]);
        let mut served = start(scratch, &[]);
        served.send("/slow/s3cret");
        served.log.until("it spins");
        served.ends_by("SEGV", 11);
        let report = report(&served, "crashes");
        assert!(
            report.contains("all threads:\n  GET /slow/:secret\nstack:"),
            "{report}"
        );
    });
}

#[test]
fn one_file_leaves_its_report_beside_the_database() {
    each(|(file, text)| {
        let project = Scratch::new(&[(file, text), ("sampan.toml", SETTINGS)]);
        let place = Scratch::new(&[]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.arg("build").arg(project.path());
        command.args(["-o", &place.file("shop")]);
        assert!(command.status().expect("it runs").success());
        for (options, folder) in [
            (&[][..], "crashes"),
            (&["--db", "data/of.db"], "data/crashes"),
        ] {
            fs::create_dir_all(place.path().join("data")).expect("a folder");
            let mut command = Command::new("./shop");
            command.args(["--listen", "127.0.0.1:0"]).args(options);
            let mut process = Process::start(command.current_dir(place.path()));
            let log = process.read_errors();
            let mut client = process.client();
            client
                .send(b"GET /spin/s3cret HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            log.until("it spins");
            process.signal("SEGV");
            assert_eq!(process.ended().signal(), Some(11), "{}", log.text());
            let reports = reports(&place.path().join(folder));
            assert_eq!(reports.len(), 1, "{}", log.text());
            assert!(reports[0].contains("  GET /spin/:secret\n"), "{reports:?}");
            assert!(reports[0].contains("\n  sampan+0x"), "{reports:?}");
        }
        // None is in the folder that it was made from.
        assert!(!project.path().join("crashes").exists());
    });
}

#[test]
fn dev_leaves_no_report() {
    each(|(file, text)| {
        let scratch = Scratch::new(&[(file, text), ("sampan.toml", SETTINGS)]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.args(["dev", "--listen", "127.0.0.1:0"]);
        let mut process = Process::start(command.arg(scratch.path()));
        let _log = process.read_errors();
        let answer = process.client().ask("GET", "/read/1", &[], "");
        assert_eq!(answer.expect("an answer").status, 200);
        process.signal("ABRT");
        assert_eq!(process.ended().signal(), Some(6));
        assert!(!scratch.path().join("crashes").exists());
    });
}

#[test]
fn a_folder_that_cannot_hold_reports_is_told_at_the_start() {
    for folder in ["app.lua", "app.lua/below"] {
        let settings = format!("{SETTINGS}[crash]\nfolder = \"{folder}\"\n");
        let scratch = Scratch::new(&[("app.lua", LUA), ("sampan.toml", &settings)]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.args(["run", "--listen", "127.0.0.1:0"]);
        let told = format!(
            "warning: crash reports cannot be written to {}: ",
            scratch.path().join(folder).display()
        );
        let mut process = Process::start_until(command.arg(scratch.path()), &told);
        // It serves all the same.
        process.read_errors().until("listening on ");
        process.signal("TERM");
        assert_eq!(process.status(), Some(0));
    }
}

#[test]
fn the_missing_folder_of_a_database_is_told_and_not_made() {
    for more in ["", "[crash]\nfolder = \"typo/crashes\"\n"] {
        let settings = format!("{SETTINGS}{more}");
        let scratch = Scratch::new(&[("app.lua", LUA), ("sampan.toml", &settings)]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.args(["run", "--listen", "127.0.0.1:0", "--db"]);
        command.args([scratch.file("typo/data.db"), scratch.file("")]);
        let output = command.output().expect("the command starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("there is no folder "), "{told}");
        assert!(!told.contains("crash reports"), "{told}");
        assert!(!scratch.path().join("typo").exists(), "{more}");
    }
}

#[test]
fn the_folder_belongs_to_the_user_that_the_server_becomes() {
    if !geteuid().is_root() {
        println!("SKIPPED: only root can become another user");
        return;
    }
    let settings = format!("{SETTINGS}[crash]\nfolder = \"told/here\"\n");
    let scratch = Scratch::new(&[("app.lua", LUA), ("sampan.toml", &settings)]);
    chown(scratch.path(), Some(NOBODY), Some(NOBODY)).expect("root may");
    let served = start(scratch, &["--user", "nobody"]);
    let folder = fs::metadata(served.scratch.path().join("told")).expect("it is made");
    assert_eq!(folder.uid(), NOBODY);
}

#[test]
fn the_folder_can_be_another_and_reports_can_be_turned_off() {
    let app = ("app.lua", LUA);
    let mut served = serve(app, "[crash]\nfolder = \"told/here\"\n");
    served.ends_by("SEGV", 11);
    assert!(report(&served, "told/here").contains("reason: SIGSEGV"));
    // Without the handler a SIGSEGV that is sent does nothing: Rust takes it for a fault, which would come again.
    let mut served = serve(app, "[crash]\nenabled = false\n");
    served.ends_by("ABRT", 6);
    assert!(!served.scratch.path().join("crashes").exists());
    // In a database in memory there is no place beside it.
    let mut served = serve(app, "[db]\npath = \":memory:\"\n");
    served.ends_by("ABRT", 6);
    assert!(!served.scratch.path().join("crashes").exists());
}

#[test]
fn no_more_than_twenty_reports_are_kept() {
    let mut served = serve(("app.lua", LUA), "");
    for number in 0..30 {
        let folder = served.scratch.path().join("crashes");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("crash-{number:011}-1.txt")), "old").expect("written");
    }
    served.ends_by("SEGV", 11);
    let mut again = start(served.scratch, &[]);
    again.ends_by("SEGV", 11);
    let reports = reports(&again.scratch.path().join("crashes"));
    assert_eq!(reports.len(), 20);
    assert!(reports[19].contains("SIGSEGV") && reports[18].contains("SIGSEGV"));
    wait::until("told", || {
        again.log.text().contains("a crash report is in ")
    });
}

#[test]
fn a_supervised_server_leaves_one_for_each_crash() {
    let scratch = Scratch::new(&[("app.lua", LUA), ("sampan.toml", SETTINGS)]);
    let mut served = start(scratch, &["--supervise"]);
    let id = served.process.id();
    let children = format!("/proc/{id}/task/{id}/children");
    let child = fs::read_to_string(children).expect("children");
    let child = child
        .split_whitespace()
        .next()
        .expect("a server")
        .to_owned();
    let killed = Command::new("kill").args(["-SEGV", &child]).status();
    assert!(killed.expect("it runs").success());
    served.log.until("was ended by SIGSEGV");
    served.log.until("listening on");
    served.process.signal("TERM");
    assert_eq!(served.process.status(), Some(0), "{}", served.log.text());
    assert!(report(&served, "crashes").contains("reason: SIGSEGV"));
}
