//! Changes of jobs of which a statement fails: triggers of the project make it fail.

use super::processes::count;
use crate::commands::command::{run, serve};
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use std::time::Duration;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS runs (what TEXT, attempt INTEGER)")
  db.exec("CREATE TABLE IF NOT EXISTS released (what TEXT)")
end)
local function note(what, job) db.exec("INSERT INTO runs VALUES (?, ?)", { what, job.attempt }) end
local function until_released(what)
  while not db.one("SELECT 1 FROM released WHERE what = ?", { what }) do time.sleep(0.005) end
end
app.job("a", { attempts = 1, queue = "a" }, function(what, job) note("a", job) end)
app.job("b", { attempts = 1, queue = "b" }, function(what, job) note("b", job) end)
app.job("ends", { attempts = 1 }, function(_, job)
  note("ends", job)
  until_released("ends")
end)
app.job("tells", { attempts = 1 }, function(_, job)
  note("tells", job)
  until_released("tells")
  job:progress(40)
  time.sleep(3600)
end)

app.post("/add/:name", function(req) app.enqueue(req.params.name) end)
app.post("/tables", function()
  app.enqueue("a", 1, { delay = "1 d" })
  app.enqueue_batch("a", {})
end)
app.post("/release/:what", function(req) db.exec("INSERT INTO released VALUES (?)", { req.params.what }) end)
app.post("/batch", function()
  db.exec("INSERT INTO runs VALUES ('before', 0)")
  local ok, err = pcall(app.enqueue_batch, "a", { "fine", "fails" }, { after = "b" })
  db.exec("INSERT INTO runs VALUES ('after', 0)")
  return { ok = ok, err = tostring(err) }
end)
app.get("/runs/:what", function(req)
  return db.one("SELECT count(*) AS runs FROM runs WHERE what = ? AND attempt <= 1", { req.params.what })
end)
app.get("/jobs", function()
  return db.one([[SELECT count(*) AS jobs, count(*) FILTER (WHERE state = 'dead') AS dead,
    count(*) FILTER (WHERE name = 'b' AND state = 'ready' AND attempt = 0) AS waiting,
    count(*) FILTER (WHERE name = 'ends') AS ends, count(*) FILTER (WHERE progress = 40) AS told
    FROM _sampan_jobs]])
end)
"#;

fn start(toml: &str) -> (Scratch, Process) {
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    ask(&process, "POST", "/tables");
    (scratch, process)
}

/// Changes the schema beside the server.
fn change(scratch: &Scratch, sql: &str) {
    let (code, out, errors) = run(&["db", &scratch.file(""), sql, "--write"]);
    assert_eq!(code, 0, "{out}{errors}");
}

fn counted(process: &Process, path: &str, name: &str) -> u64 {
    count(&ask(process, "GET", path), name)
}

#[test]
fn a_queue_whose_jobs_cannot_be_taken_leaves_the_others_alone() {
    let (scratch, mut process) = start("[jobs]\nlease = \"1s\"\n");
    let log = process.read_errors();
    change(
        &scratch,
        "CREATE TRIGGER stuck BEFORE UPDATE OF state ON _sampan_jobs WHEN NEW.state = 'running' AND NEW.queue = 'b'
         BEGIN SELECT RAISE(ABORT, 'stuck'); END",
    );
    for _ in 0..3 {
        ask(&process, "POST", "/add/b");
    }
    log.until("stuck");
    for _ in 0..4 {
        ask(&process, "POST", "/add/a");
    }
    wait::until("the jobs of the other queue", || {
        counted(&process, "/runs/a", "runs") == 4
    });
    let jobs = ask(&process, "GET", "/jobs");
    assert_eq!(count(&jobs, "waiting"), 3, "no attempt is lost: {jobs}");
    change(&scratch, "DROP TRIGGER stuck");
    wait::until("the jobs of the queue", || {
        counted(&process, "/runs/b", "runs") == 3
    });
    wait::until("their end", || counted(&process, "/jobs", "jobs") == 1);
}

#[test]
fn a_turn_that_fails_leaves_nothing_and_is_made_again() {
    let (scratch, mut process) = start("[jobs]\nlease = \"1h\"\n");
    let log = process.read_errors();
    ask(&process, "POST", "/add/ends");
    ask(&process, "POST", "/add/tells");
    wait::until("their beginning", || {
        let runs = |what| counted(&process, &format!("/runs/{what}"), "runs");
        runs("ends") == 1 && runs("tells") == 1
    });
    change(
        &scratch,
        "CREATE TRIGGER stuck BEFORE UPDATE OF progress ON _sampan_jobs BEGIN SELECT RAISE(ABORT, 'stuck'); END",
    );
    ask(&process, "POST", "/release/tells");
    log.until("stuck");
    ask(&process, "POST", "/release/ends");
    // Several turns. No event tells their number: the log has the same error now and then only.
    wait::dawdle(Duration::from_millis(1_500));
    let jobs = ask(&process, "GET", "/jobs");
    assert_eq!(count(&jobs, "ends"), 1, "its end is not kept alone: {jobs}");
    change(&scratch, "DROP TRIGGER stuck");
    wait::until("the end and the progress", || {
        let jobs = ask(&process, "GET", "/jobs");
        count(&jobs, "ends") == 0 && count(&jobs, "told") == 1
    });
    process.signal("KILL");
    process.end();
    let log = log.join().expect("no panic");
    assert!(!log.contains("does not count any more"), "{log}");
}

#[test]
fn a_keeper_that_ends_tries_again_to_give_jobs_back() {
    let toml = "[limits]\nshutdown_millis_max = \"50 ms\"\n[jobs]\nlease = \"1h\"\n";
    let (scratch, mut process) = start(toml);
    let log = process.read_errors();
    ask(&process, "POST", "/add/ends");
    wait::until("its beginning", || {
        counted(&process, "/runs/ends", "runs") == 1
    });
    change(
        &scratch,
        "CREATE TABLE stuck AS SELECT unixepoch('now', 'subsec') + 0.5 AS until;
         CREATE TRIGGER stuck_for_a_while BEFORE UPDATE OF state ON _sampan_jobs
         WHEN NEW.state = 'ready' AND unixepoch('now', 'subsec') < (SELECT until FROM stuck)
         BEGIN SELECT RAISE(ABORT, 'stuck'); END",
    );
    process.signal("TERM");
    process.end();
    let log = log.join().expect("no panic");
    assert!(log.contains("cut by the shutdown"), "{log}");
    // The attempt did not count, and no lease of an hour is waited for.
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    wait::until("attempt 1 once more", || {
        counted(&process, "/runs/ends", "runs") == 2
    });
}

#[test]
fn a_batch_of_which_a_job_cannot_be_added_is_not_added() {
    let (scratch, process) = start("");
    change(
        &scratch,
        "CREATE TRIGGER stuck BEFORE INSERT ON _sampan_jobs WHEN NEW.args = '\"fails\"'
         BEGIN SELECT RAISE(ABORT, 'stuck'); END",
    );
    let answer = ask(&process, "POST", "/batch");
    assert!(
        answer.contains("\"ok\":false") && answer.contains("stuck"),
        "{answer}"
    );
    // The other writes of the request stay.
    for what in ["before", "after"] {
        assert_eq!(counted(&process, &format!("/runs/{what}"), "runs"), 1);
    }
    let jobs = ask(&process, "GET", "/jobs");
    assert_eq!(count(&jobs, "jobs"), 1, "none of the batch: {jobs}");
    let sql = "SELECT count(*) AS batches FROM _sampan_job_batches";
    let (_, out, _) = run(&["db", &scratch.file(""), sql, "--json"]);
    assert!(out.contains("\"batches\":0"), "{out}");
    change(&scratch, "DROP TRIGGER stuck");
    assert!(ask(&process, "POST", "/batch").contains("\"ok\":true"));
    wait::until("the jobs of the batch, and the one that follows", || {
        counted(&process, "/runs/a", "runs") == 2 && counted(&process, "/runs/b", "runs") == 1
    });
}
