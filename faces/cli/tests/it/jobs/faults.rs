//! Jobs that kill their process, and jobs while the project is reloaded and the process replaced.

use super::processes::{all_ended, count};
use crate::commands::command::serve;
use crate::serving::upgrade::upgrades;
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use std::fs;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS added (n INTEGER PRIMARY KEY)")
  db.exec("CREATE TABLE IF NOT EXISTS runs (n INTEGER, attempt INTEGER, what TEXT)")
  db.exec("CREATE TABLE IF NOT EXISTS released (attempt INTEGER)")
end)

local function waits(n, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'begun')", { n, job.attempt })
  while not db.one("SELECT 1 FROM released WHERE attempt = ?", { job.attempt }) do time.sleep(0.005) end
  db.exec("INSERT INTO runs VALUES (?, ?, 'VERSION')", { n, job.attempt })
end
app.job("poison", { attempts = 3, backoff = 0 }, waits)
app.job("held", { attempts = 5, backoff = 0 }, waits)
app.job("count", { attempts = 100, backoff = 0 }, function(n, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'VERSION')", { n, job.attempt })
end)

app.post("/poison", function() app.enqueue("poison", 0) end)
app.post("/held", function() app.enqueue("held", 0) end)
app.post("/add/:n", function(req) app.enqueue("count", tonumber(req.params.n)) end)
app.post("/release/:attempt", function(req)
  db.exec("INSERT INTO released VALUES (?)", { tonumber(req.params.attempt) })
end)
app.get("/begun/:attempt", function(req)
  return { count = #db.query("SELECT 1 FROM runs WHERE what = 'begun' AND attempt = ?", { tonumber(req.params.attempt) }) }
end)
app.get("/counts", function()
  return db.one([[SELECT count(*) FILTER (WHERE what = 'one') AS one, count(*) FILTER (WHERE what = 'two') AS two,
    count(*) FILTER (WHERE what = 'begun') AS begun,
    (SELECT count(*) FROM _sampan_jobs WHERE state NOT IN ('done', 'dead')) AS left,
    (SELECT count(*) FROM _sampan_jobs WHERE state = 'dead') AS dead FROM runs]])
end)
app.get("/errors", function()
  return db.one("SELECT attempt, state, errors FROM _sampan_jobs WHERE name = 'poison'")
end)
"#;

const TOML: &str = "[jobs]\nlease = \"1s\"\nkeep_done_days = 1\n";

fn scratch(toml: &str) -> Scratch {
    let app = APP.replace("VERSION", "one");
    Scratch::new(&[("app.lua", &app), ("sampan.toml", toml)])
}

fn start(scratch: &Scratch) -> Process {
    Process::start(&mut serve(&scratch.file("app.lua"), 2))
}

fn waits_for_attempt(process: &Process, attempt: u32) {
    wait::until(format!("attempt {attempt}"), || {
        ask(process, "GET", &format!("/begun/{attempt}")).contains('1')
    });
}

#[test]
fn a_job_that_kills_its_process_is_dead_after_its_attempts() {
    let scratch = scratch(TOML);
    let mut process = start(&scratch);
    ask(&process, "POST", "/poison");
    for attempt in 1..=3 {
        waits_for_attempt(&process, attempt);
        // It holds no other job up, and takes none with it.
        for n in 0..20 {
            ask(&process, "POST", &format!("/add/{n}"));
        }
        process.signal("KILL");
        process.end();
        process = start(&scratch);
    }
    let counts = all_ended(&process);
    assert_eq!(count(&counts, "dead"), 1, "{counts}");
    assert_eq!(count(&counts, "begun"), 3, "no fourth attempt: {counts}");
    assert!(count(&counts, "one") >= 60, "{counts}");
    let errors = ask(&process, "GET", "/errors");
    assert!(errors.contains("\"state\":\"dead\""), "{errors}");
    let told = "its process ended, or said nothing for longer than its lease";
    assert_eq!(errors.matches(told).count(), 3, "{errors}");
}

#[test]
fn a_reload_lets_jobs_end_and_others_begin() {
    // A machine that is busy must not make a lease end.
    let scratch = scratch(&TOML.replace("1s", "1h"));
    let process = start(&scratch);
    ask(&process, "POST", "/held");
    waits_for_attempt(&process, 1);
    fs::write(scratch.file("app.lua"), APP.replace("VERSION", "two")).expect("written");
    process.signal("HUP");
    let mut n = 0;
    wait::until("a job of the new version", || {
        ask(&process, "POST", &format!("/add/{n}"));
        n += 1;
        count(&ask(&process, "GET", "/counts"), "two") > 0
    });
    // The one that began before ends as it began.
    let before = count(&ask(&process, "GET", "/counts"), "one");
    ask(&process, "POST", "/release/1");
    let counts = all_ended(&process);
    assert_eq!(count(&counts, "begun"), 1, "{counts}");
    let all = count(&counts, "one") + count(&counts, "two");
    assert_eq!(all, n + 1, "each ran once: {counts}");
    assert!(count(&counts, "one") > before, "{counts}");
}

#[test]
fn an_upgrade_leaves_jobs_to_the_process_that_runs_them() {
    let scratch = scratch(&TOML.replace("1s", "1h"));
    let mut process = start(&scratch);
    ask(&process, "POST", "/held");
    waits_for_attempt(&process, 1);
    fs::write(scratch.file("app.lua"), APP.replace("VERSION", "two")).expect("written");
    let new = upgrades(&scratch);
    for n in 0..20 {
        ask(&process, "POST", &format!("/add/{n}"));
    }
    wait::until("the jobs of the new process", || {
        count(&ask(&process, "GET", "/counts"), "two") == 20
    });
    // The old process has not ended, because its job has not.
    ask(&process, "POST", "/release/1");
    let counts = all_ended(&process);
    assert_eq!(count(&counts, "begun"), 1, "{counts}");
    assert_eq!(count(&counts, "one"), 1, "{counts}");
    assert_eq!(process.status(), Some(0));
    new.ends_well();
}

const CUT_LUA: &str = r#"
local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS begun (attempt INTEGER)") end)
app.job("long", { attempts = 1, timeout = "1 m" }, function(_, job)
  db.exec("INSERT INTO begun VALUES (?)", { job.attempt })
  app.time.sleep(50)
end)
app.post("/", function() app.enqueue("long") end)
app.get("/", function() return db.one("SELECT count(*) AS begun FROM begun WHERE attempt = 1") end)
"#;

const CUT_JS: &str = r#"
import { app, db, time } from "sampan";
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS begun (attempt INTEGER)"); });
app.job("long", { attempts: 1, timeout: "1 m" }, async (_, job) => {
  db.exec("INSERT INTO begun VALUES (?)", [job.attempt]);
  await time.sleep(50);
});
app.post("/", () => { app.enqueue("long"); });
app.get("/", () => db.one("SELECT count(*) AS begun FROM begun WHERE attempt = 1"));
"#;

#[test]
fn a_job_that_a_shutdown_cuts_begins_anew() {
    for (name, app) in [("app.lua", CUT_LUA), ("app.js", CUT_JS)] {
        let toml = "[limits]\nshutdown_millis_max = \"50 ms\"\n[jobs]\nlease = \"1h\"\n";
        let scratch = Scratch::new(&[(name, app), ("sampan.toml", toml)]);
        let start = || Process::start(&mut serve(&scratch.file(name), 1));
        let begun = |process: &Process, times| {
            wait::until(format!("attempt 1, begun {times} times"), || {
                count(&ask(process, "GET", "/"), "begun") == times
            });
        };
        let mut process = start();
        let log = process.read_errors();
        ask(&process, "POST", "/");
        begun(&process, 1);
        process.signal("TERM");
        process.end();
        let told = log.join().expect("no panic");
        assert!(told.contains("cut by the shutdown"), "{name}: {told}");
        // The attempt did not count: it had one only. Its lease would have lasted for an hour.
        let process = start();
        begun(&process, 2);
        process.signal("TERM");
        process.end();
    }
}
