//! A clock that jumps while jobs run.

use super::{alone, ask, database, start};
use sampan_client::wait;
use sampan_host::{Value, clock};
use sampan_runtime::Running;
use std::time::Duration;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS runs (what TEXT)")
  db.exec("CREATE TABLE IF NOT EXISTS released (n INTEGER)")
end)
local function note(what) db.exec("INSERT INTO runs VALUES (?)", { what }) end
app.job("note", function(what) note(what) end)
app.job("held", { timeout = "1 h", backoff = 0 }, function()
  note("begun")
  while not db.one("SELECT 1 FROM released") do time.sleep(0.005) end
  note("ended")
end)
app.cron("* * * * *", "tick", function() note("tick") end)
app.post("/add/:what", function(req) app.enqueue("note", req.params.what) end)
app.post("/held", function() app.enqueue("held") end)
app.post("/release", function() db.exec("INSERT INTO released VALUES (1)") end)
app.get("/count/:what", function(req)
  return app.text(("%d"):format(db.one("SELECT count(*) AS count FROM runs WHERE what = ?", { req.params.what }).count))
end)
app.get("/starts", function()
  return app.text(("%d"):format(db.one("SELECT max(at) AS at FROM _sampan_job_starts").at))
end)
app.get("/left", function() return app.text(("%d"):format(db.one("SELECT count(*) AS n FROM _sampan_jobs").n)) end)
"#;

/// Sets the time of day again when it is dropped.
pub(crate) struct Clock;

impl Clock {
    pub(crate) fn set(&self, seconds: u64) {
        clock::set(Some(Duration::from_secs(seconds)));
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        clock::set(None);
    }
}

#[test]
fn a_lease_of_a_clock_that_was_ahead_is_not_waited_for() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let running = start(folder.path(), APP, "[jobs]\nlease = \"1s\"\n");
    ask(&running, "POST", "/add/first");
    wait::until("the first", || ask(&running, "GET", "/count/first") == "1");
    assert!(running.shutdown());
    let db = database(folder.path());
    let left = "INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, attempt, token, lease)
        VALUES (7, 'note', 'default', '\"left\"', 'running', 0, 0, 0, 1, 1, unixepoch('now', '+10 years') * 1000)";
    assert_eq!(db.own_write(left, &Value::Null).expect("written"), Some(1));
    db.finish_loading().expect("committed");
    drop(db);
    let running = start(folder.path(), APP, "[jobs]\nlease = \"1s\"\n");
    wait::until("its next attempt", || {
        ask(&running, "GET", "/count/left") == "1"
    });
    assert!(running.shutdown());
}

#[test]
fn a_clock_that_jumps_takes_no_job_from_those_who_run_it() {
    const BEGIN: u64 = 1_777_681_800;
    const HOUR: u64 = 3_600;
    let _alone = alone();
    let clock = Clock;
    clock.set(BEGIN);
    let folder = tempfile::tempdir().expect("a folder");
    // A machine that is busy must not make a lease end.
    let sections = "[jobs]\nlease = \"600s\"\n";
    let servers = [0, 1].map(|_| start(folder.path(), APP, sections));
    ask(&servers[0], "POST", "/held");
    wait::until("it has begun", || {
        ask(&servers[0], "GET", "/count/begun") == "1"
    });
    let ticks = || {
        ask(&servers[1], "GET", "/count/tick")
            .parse::<u64>()
            .expect("a number")
    };
    for jump in 1..=20 {
        let before = ticks();
        clock.set(BEGIN + jump * HOUR);
        wait::until("the time that was missed", || ticks() > before);
        ask(&servers[0], "POST", &format!("/add/forward{jump}"));
        clock.set(BEGIN + jump * HOUR - HOUR / 2);
        ask(&servers[1], "POST", &format!("/add/back{jump}"));
        for what in ["forward", "back"] {
            let path = format!("/count/{what}{jump}");
            wait::until("a job beside", || ask(&servers[1], "GET", &path) == "1");
        }
        // The next time of the cron is left out while the job of this one has not ended.
        wait::until("the ends of all but the one that is held", || {
            ask(&servers[0], "GET", "/left") == "1"
        });
    }
    ask(&servers[1], "POST", "/release");
    wait::until("the ends of all", || {
        ask(&servers[0], "GET", "/left") == "0"
    });
    for (what, expected) in [("begun", "1"), ("ended", "1")] {
        assert_eq!(
            ask(&servers[0], "GET", &format!("/count/{what}")),
            expected,
            "{what}"
        );
    }
    for server in servers {
        assert!(server.shutdown());
    }
}

#[test]
fn a_rate_counts_what_a_clock_that_was_ahead_has_counted_for_one_period() {
    const BEGIN: u64 = 1_777_681_800;
    const HOUR: u64 = 3_600;
    let _alone = alone();
    let clock = Clock;
    clock.set(BEGIN + 5 * HOUR);
    let folder = tempfile::tempdir().expect("a folder");
    let sections = "[jobs]\nqueues = [\"default 10 2/h\"]\n";
    let running = start(folder.path(), APP, sections);
    for _ in 0..3 {
        ask(&running, "POST", "/add/note");
    }
    let notes = |running: &Running| ask(running, "GET", "/count/note");
    wait::until("as many as the rate allows", || notes(&running) == "2");
    assert!(running.shutdown());
    clock.set(BEGIN);
    let running = start(folder.path(), APP, sections);
    wait::until("the starts count from now on", || {
        let latest: u64 = ask(&running, "GET", "/starts").parse().expect("a time");
        latest < (BEGIN + HOUR) * 1_000
    });
    assert_eq!(notes(&running), "2");
    clock.set(BEGIN + HOUR + 10);
    wait::until("the third", || notes(&running) == "3");
    assert!(running.shutdown());
}
