//! `npx sampan run` with several workers, in Node.js and in Bun: threads of one process, which start together and end
//! together. What a worker answers is shown by the specs.

use sampan_client::{ports, wait};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use sampan_testkit::{Client, Platform, built_addon, npm};

const APP: &str = r#"
import { app, db } from "sampan";
import { isMainThread } from "node:worker_threads";

if (!isMainThread && process.env.FAILS_IN_THREADS) throw new Error("not in this thread");
app.get("/", () => ({ worker: app.worker.index, count: app.worker.count, isMainThread }));
app.get("/write", async () => {
  await db.exec("INSERT INTO writes (worker) VALUES (?)", [app.worker.index]);
  return String(app.worker.index);
});
app.get("/written", () => db.query("SELECT DISTINCT worker FROM writes ORDER BY 1").map((row) => row.worker));
app.get("/runtime", () => typeof process.version);
app.get("/exit", () => {
  setTimeout(() => process.exit(7), 10);
  return app.worker.index;
});
app.get("/throw", () => {
  setTimeout(() => { throw new Error("nobody catches this"); }, 1);
  return "thrown";
});
class Own extends Response {}
app.get("/classes", () => [new Own("") instanceof Own, new Response("") instanceof Own, new Own("") instanceof Response]);
"#;

/// A served project, whose process ends with it.
struct Served {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Served {
    fn start(program: &OsStr, name: &str, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let addon = built_addon().expect("cargo builds the library before its tests");
        let kind = Path::new(program).file_name().expect("a program's name");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join("run")
            .join(format!("{name}-{}", kind.display()));
        let _ = fs::remove_dir_all(&folder);
        let package = folder.join("node_modules/sampan");
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("package");
        Platform::put_together(&files, &addon, &package).expect("the package");
        fs::create_dir(folder.join("migrations")).expect("a folder");
        let write = |file: &str, text: &str| fs::write(folder.join(file), text).expect("written");
        write("app.js", APP);
        let kind = if name == "commonjs" { name } else { "module" };
        write("package.json", &format!("{{\"type\":\"{kind}\"}}"));
        write(
            "migrations/0001_writes.sql",
            "CREATE TABLE writes (worker INTEGER NOT NULL) STRICT;",
        );
        let address = SocketAddr::from(([127, 0, 0, 1], ports::free()));
        let log = File::create(folder.join("log")).expect("a file");
        let child = Command::new(program)
            .arg(package.join("bin/sampan.js"))
            .args(["run", "app.js", "--listen", &address.to_string()])
            .args(flags)
            .envs(variables.iter().copied())
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the file again"))
            .stderr(log)
            .spawn()
            .expect("it starts");
        Self {
            child,
            folder,
            address,
        }
    }

    /// Waits until it listens.
    fn listening(self) -> Self {
        wait::until("listening", || self.log().contains("listening on"));
        self
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Returns the answer on a fresh connection; connections go to the workers in turn.
    fn get(&self, path: &str) -> String {
        let mut client = Client::connect(self.address).expect("connected");
        let answer = client.ask("GET", path, &[], "").expect("answered");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    /// Waits until its process has ended.
    fn ended(&mut self) -> ExitStatus {
        wait::found("its end", || self.child.try_wait().expect("its status"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Node.js and Bun, as far as they can be had.
fn runtimes() -> Vec<OsString> {
    let node = Command::new("node").arg("--version").output();
    let node = node.ok().map(|_| OsString::from("node"));
    let runtimes: Vec<_> = node
        .into_iter()
        .chain(npm::bun().map(OsString::from))
        .collect();
    if runtimes.len() < 2 {
        println!("SKIPPED: Node.js or Bun is missing");
    }
    runtimes
}

#[test]
fn each_worker_has_a_thread_and_they_share_the_database() {
    for runtime in runtimes() {
        let mut served = Served::start(&runtime, "threads", &["--workers", "3"], &[]).listening();
        let seen: BTreeSet<String> = (0..12).map(|_| served.get("/")).collect();
        let expected = [1, 2, 3].map(|worker| {
            let is_first = worker == 1;
            format!(r#"{{"worker":{worker},"count":3,"isMainThread":{is_first}}}"#)
        });
        assert_eq!(seen, BTreeSet::from(expected));
        for _ in 0..12 {
            served.get("/write");
            served.get("/throw");
        }
        assert_eq!(served.get("/written"), "[1,2,3]");
        served.signal("-TERM");
        assert!(served.ended().success(), "{}", served.log());
        let log = served.log();
        assert!(log.contains("with 3 workers"), "{log}");
        assert!(
            log.contains("in the background: app.js:18: nobody catches this"),
            "{log}"
        );
    }
}

/// `npm init` writes this type, and the executable runs such a file too.
#[test]
fn a_module_runs_where_package_json_says_commonjs() {
    for runtime in runtimes() {
        let served = Served::start(&runtime, "commonjs", &[], &[]).listening();
        assert_eq!(served.get("/runtime"), "string");
    }
}

#[test]
fn a_subclass_of_response_has_its_own_instances_alone() {
    for runtime in runtimes() {
        let served = Served::start(&runtime, "classes", &[], &[]).listening();
        assert_eq!(served.get("/classes"), "[true,false,true]");
    }
}

#[test]
fn a_script_that_ends_the_process_ends_all_of_it_from_any_worker() {
    for runtime in runtimes() {
        let mut ended = BTreeSet::new();
        while ended.len() < 2 {
            let mut served = Served::start(&runtime, "exit", &["--workers", "2"], &[]).listening();
            if !ended.is_empty() {
                // The connection after this one is the other worker's.
                served.get("/");
            }
            ended.insert(served.get("/exit"));
            assert_eq!(served.ended().code(), Some(7), "{}", served.log());
        }
    }
}

#[test]
fn a_project_that_one_worker_cannot_load_does_not_start() {
    for runtime in runtimes() {
        let fails = [("FAILS_IN_THREADS", "1")];
        let mut served = Served::start(&runtime, "load", &["--workers", "2"], &fails);
        assert_eq!(served.ended().code(), Some(1));
        let log = served.log();
        assert!(log.contains("app.js:5: not in this thread"), "{log}");
    }
}

#[test]
fn a_reload_is_refused_and_the_project_goes_on_where_it_is() {
    for runtime in runtimes() {
        let served = Served::start(&runtime, "reload", &["--workers", "2"], &[]).listening();
        served.signal("-HUP");
        let refusal = "keeps the modules that it has loaded";
        wait::until("a refusal", || served.log().contains(refusal));
        for _ in 0..4 {
            assert_eq!(served.get("/runtime"), "string");
        }
    }
}

#[test]
fn scripts_that_are_to_follow_their_files_are_refused() {
    for runtime in runtimes() {
        let mut served = Served::start(&runtime, "mode", &["--set", "scripts.mode=file"], &[]);
        assert_eq!(served.ended().code(), Some(1));
        let log = served.log();
        assert!(log.contains("[scripts] mode = \"file\""), "{log}");
    }
}

#[test]
fn a_number_of_workers_that_cannot_be_is_refused() {
    for runtime in runtimes() {
        for workers in ["0", "100000", "two", "1.5", "-1"] {
            let fault = format!("'{workers}' for '--workers': it must be a number from 1 to 1024");
            let mut served = Served::start(&runtime, "refused", &["--workers", workers], &[]);
            assert_eq!(served.ended().code(), Some(2), "{workers}");
            let log = served.log();
            assert!(log.contains(&fault), "{workers}: {log}");
        }
    }
}

#[test]
fn flags_may_come_twice_where_they_list_values() {
    for runtime in runtimes() {
        let other = SocketAddr::from(([127, 0, 0, 1], ports::free()));
        let address = other.to_string();
        let flags = ["--listen", address.as_str()];
        let served = Served::start(&runtime, "listen", &flags, &[]).listening();
        assert_eq!(served.get("/runtime"), "string");
        let mut client = Client::connect(other).expect("connected");
        let answer = client.ask("GET", "/runtime", &[], "").expect("answered");
        assert_eq!(answer.status, 200, "{}", served.log());
    }
}

#[test]
fn variables_of_a_file_count() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("run-variables.env");
    fs::write(&file, "SAMPAN_SERVER_WORKERS=3\n").expect("written");
    let path = file.display().to_string();
    for runtime in runtimes() {
        let flags = ["--env-file", path.as_str()];
        let served = Served::start(&runtime, "variables", &flags, &[]).listening();
        let log = served.log();
        assert!(log.contains("with 3 workers"), "{log}");
    }
}

#[test]
fn mistakes_end_with_the_status_of_the_executable() {
    for runtime in runtimes() {
        for (flags, status, fault) in [
            (
                &["--db", "a", "--db=b"][..],
                2,
                "'--db' cannot be used multiple times",
            ),
            (
                &["--no-migrate", "--no-migrate"][..],
                2,
                "cannot be used multiple times",
            ),
            (&["--set", "nonsense"][..], 1, "--set nonsense: write it as"),
            (&["--config", "none.toml"][..], 1, "none.toml"),
            (
                &["--tls-cert", "a.pem"][..],
                2,
                "'--tls-cert' needs '--tls-key'",
            ),
            (&["--tls-cert", "a.pem", "--tls-key=b.pem"][..], 1, "a.pem"),
            (&["--tls", "*.example.org"][..], 1, "write each name"),
            (&["--restore"][..], 1, "[backup]"),
            (
                &["--", "--db"][..],
                2,
                "unexpected argument '--db': one project is served at a time",
            ),
        ] {
            let mut served = Served::start(&runtime, "mistakes", flags, &[]);
            assert_eq!(served.ended().code(), Some(status), "{flags:?}");
            let log = served.log();
            assert!(log.contains(fault), "{flags:?}: {log}");
        }
    }
}
