//! Processes with one file of SQLite, which ring for the jobs that another of them takes.

use crate::commands::command::{sampan, serve};
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS notes (note TEXT)") end)
local function note(text) db.exec("INSERT INTO notes VALUES (?)", { text }) end
app.job("quick", function(n) note("quick " .. n) end)
app.job("long", { timeout = "1 h" }, function()
  note("long begun")
  time.sleep(10)
  note("long ended")
end)
app.post("/add/:name/:n", function(req) app.enqueue(req.params.name, req.params.n) end)
app.post("/in/:name/:n", function(req)
  db.transaction(function(tx) tx:enqueue(req.params.name, req.params.n) end)
end)
app.get("/has/:note", function(req)
  return app.text(tostring(#db.query("SELECT 1 FROM notes WHERE note = ?", { req.params.note })))
end)
app.get("/version", function() return "one" end)
"#;

/// A process looks for jobs each 500 ms. So many jobs, each added when the one before has ended, would take twice as
/// long as the long job.
const MANY: u32 = 40;

fn has(process: &Process, note: &str) -> bool {
    ask(
        process,
        "GET",
        &format!("/has/{}", note.replace(' ', "%20")),
    ) != "0"
}

/// The project, whose process runs jobs, and the one that leaves them to others. Its path of the database is a link.
fn projects() -> (Scratch, Scratch) {
    let doer = Scratch::new(&[("app.lua", APP)]);
    let adder = Scratch::new(&[("app.lua", APP), ("sampan.toml", "[jobs]\nworkers = 0\n")]);
    fs::create_dir(doer.file("data")).expect("a folder");
    symlink(doer.file("data"), adder.file("data")).expect("a link");
    (doer, adder)
}

/// Starts a server of a project, by another program if one is named.
fn start(scratch: &Scratch, by: &[&str]) -> Process {
    let inner = serve(&scratch.file("app.lua"), 1);
    let mut command = match by {
        [] => Command::new(inner.get_program()),
        [program, args @ ..] => {
            let mut command = Command::new(program);
            command.args(args).arg(inner.get_program());
            command
        }
    };
    command.args(inner.get_args());
    Process::start(command.args(["--db", &scratch.file("data/data.db")]))
}

/// Returns the number of watches that a process has open.
fn watches(process: &Process) -> usize {
    let files = fs::read_dir(format!("/proc/{}/fd", process.id())).expect("a process");
    let links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    links
        .filter(|link| link.to_string_lossy().contains("inotify"))
        .count()
}

#[test]
fn a_process_starts_what_another_adds_without_waiting_for_its_next_look() {
    let (doer_files, adder_files) = projects();
    let doer = start(&doer_files, &[]);
    let adder = start(&adder_files, &[]);
    ask(&adder, "POST", "/add/long/0");
    wait::until("the long job", || has(&doer, "long begun"));
    for n in 0..MANY {
        let way = if n % 2 == 0 { "add" } else { "in" };
        ask(&adder, "POST", &format!("/{way}/quick/{n}"));
        wait::until("a job", || has(&adder, &format!("quick {n}")));
    }
    assert!(!has(&doer, "long ended"), "the jobs have waited");
}

#[test]
fn a_process_without_room_rings_for_what_it_adds() {
    let (doer_files, adder_files) = projects();
    let one_at_a_time = "[jobs]\nqueues = [\"default 1\"]\n";
    fs::write(adder_files.file("sampan.toml"), one_at_a_time).expect("written");
    let adder = start(&adder_files, &[]);
    ask(&adder, "POST", "/add/long/0");
    wait::until("the long job", || has(&adder, "long begun"));
    let _doer = start(&doer_files, &[]);
    for n in 0..MANY {
        ask(&adder, "POST", &format!("/add/quick/{n}"));
        wait::until("a job", || has(&adder, &format!("quick {n}")));
    }
    assert!(!has(&adder, "long ended"), "the jobs have waited");
}

#[test]
fn reloads_leave_one_watch() {
    let (scratch, _) = projects();
    let mut process = start(&scratch, &[]);
    let log = process.read_errors();
    ask(&process, "POST", "/add/quick/0");
    wait::until("the job", || has(&process, "quick 0"));
    // That of the file of the database, and that of the keeper.
    wait::until("the watches", || watches(&process) == 2);
    for version in ["two", "three", "four"] {
        let app = APP.replace("\"one\"", &format!("\"{version}\""));
        fs::write(scratch.file("app.lua"), app).expect("written");
        process.signal("HUP");
        wait::until("the reload", || ask(&process, "GET", "/version") == version);
    }
    ask(&process, "POST", "/add/quick/1");
    wait::until("the job", || has(&process, "quick 1"));
    assert_eq!(watches(&process), 2, "{}", log.text());
}

/// In a user namespace of its own, whose limit can be set without being root.
#[test]
fn where_the_system_has_no_watches_left_jobs_are_found_by_looking() {
    let (doer_files, adder_files) = projects();
    let limit = "echo 0 > /proc/sys/user/max_inotify_instances";
    let can = Command::new("unshare")
        .args(["-Ur", "sh", "-c", limit])
        .status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no user namespaces here");
        return;
    }
    let script = format!("{limit} && exec \"$@\"");
    let mut doer = start(&doer_files, &["unshare", "-Ur", "sh", "-c", &script, "sh"]);
    let log = doer.read_errors();
    let adder = start(&adder_files, &[]);
    for n in 0..3 {
        ask(&adder, "POST", &format!("/add/quick/{n}"));
        wait::until("a job", || has(&adder, &format!("quick {n}")));
    }
    assert_eq!(watches(&doer), 0);
    assert!(!log.text().contains("jobs"), "{}", log.text());
}

#[test]
fn a_script_beside_a_server_rings_for_its_jobs() {
    let (scratch, _) = projects();
    let script = format!(
        "local app = require 'sampan'
app.enqueue('long')
for n = 1, {MANY} do
  app.enqueue('quick', n)
  repeat app.time.sleep(0.002) until app.db.one('SELECT 1 FROM notes WHERE note = ?', {{ 'quick ' .. n }})
end"
    );
    fs::write(scratch.file("add.lua"), script).expect("written");
    let process = start(&scratch, &[]);
    let mut command = sampan(&["exec", "--project"]);
    command
        .arg(scratch.path())
        .args(["--db", &scratch.file("data/data.db")]);
    let added = command.arg(scratch.file("add.lua")).output();
    let added = added.expect("the command");
    let errors = String::from_utf8_lossy(&added.stderr);
    assert!(added.status.success(), "{errors}");
    assert!(has(&process, "long begun") && has(&process, &format!("quick {MANY}")));
    assert!(!has(&process, "long ended"), "the jobs have waited");
}
