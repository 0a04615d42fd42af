//! The lines of the log about attempts, and the ends that a batch counts.

use crate::commands::command::{sampan, serve};
use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use serde_json::Value;

const BATCH: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS released (n INTEGER)") end)
app.job("broken", { attempts = 1 }, function() error("no way") end)
app.job("part", { attempts = 1, timeout = "1 h" }, function(args)
  if args == "broken" then error("no way") end
  while not db.one("SELECT 1 FROM released") do time.sleep(0.005) end
end)
app.job("report", function() end)
app.post("/batch", function() app.enqueue_batch("part", { "broken", "held" }, { after = "report" }) end)
app.post("/release", function() db.exec("INSERT INTO released VALUES (1)") end)
"#;

fn post(process: &Process, path: &str) {
    let answer = process.client().ask("POST", path, &[], "");
    assert_eq!(answer.expect("an answer").status, 204, "{path}");
}

fn jobs(scratch: &Scratch, args: &[&str]) -> Value {
    let mut command = sampan(&["jobs"]);
    let output = command
        .args(args)
        .arg("--json")
        .current_dir(scratch.path())
        .output();
    serde_json::from_slice(&output.expect("the command").stdout).unwrap_or(Value::Null)
}

fn named(scratch: &Scratch, name: &str) -> Vec<Value> {
    let list = jobs(scratch, &["list", "--name", name]);
    list["jobs"].as_array().cloned().unwrap_or_default()
}

fn dead(scratch: &Scratch) -> Option<Value> {
    let parts = named(scratch, "part");
    parts.into_iter().find(|part| part["state"] == "dead")
}

#[test]
fn a_batch_waits_for_a_dead_job_that_is_tried_again() {
    let toml = "[jobs]\nkeep_done_days = 1\nlease = \"1h\"\n";
    let scratch = Scratch::new(&[("app.lua", BATCH), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    post(&process, "/batch");
    let retried = |attempts: usize| {
        let id = wait::found("a dead job", || dead(&scratch))["id"].to_string();
        let count = jobs(&scratch, &["retry", &id]);
        assert_eq!(count["retried"], 1, "{count}");
        wait::until("another attempt", || {
            dead(&scratch).is_some_and(|job| {
                let errors = job["errors"].as_array().map(Vec::len);
                errors == Some(attempts)
            })
        });
    };
    retried(2);
    // Its end was counted with its second attempt; the first does not count any more.
    assert_eq!(named(&scratch, "report"), Vec::<Value>::new());
    post(&process, "/release");
    wait::until("the job that follows", || {
        named(&scratch, "report")
            .iter()
            .any(|job| job["state"] == "done")
    });
    let reports = named(&scratch, "report");
    assert_eq!(reports[0]["args"]["dead"], 1, "{reports:?}");
    assert_eq!(reports[0]["args"]["done"], 1, "{reports:?}");
    // A batch that is over has told its ends once.
    retried(3);
    assert_eq!(named(&scratch, "report").len(), 1);
}

#[test]
fn the_log_has_the_last_attempt_however_it_ended() {
    let app = r#"
local app = require "sampan"
app.job("again", { attempts = 1 }, function(_, job) job:retry_in("1 s") end)
app.job("lost", { attempts = 2, timeout = "1 h" }, function(_, job)
  app.log.info("begun " .. job.attempt)
  app.time.sleep(3600)
end)
app.post("/:name", function(req) app.enqueue(req.params.name) end)
"#;
    let toml = "[jobs]\nlease = \"1s\"\n";
    let scratch = Scratch::new(&[("app.lua", app), ("sampan.toml", toml)]);
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    post(&process, "/again");
    log.until(", attempt 1 of 1; the job is dead: asked to run again (job:retry_in)");
    post(&process, "/lost");
    log.until("begun 1");
    process.signal("KILL");
    process.end();
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    log.until(", attempt 1 of 2; attempt 2 follows in ");
    log.until("begun 2");
    process.signal("KILL");
    process.end();
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    log.until(", attempt 2 of 2; the job is dead: its process ended, or said nothing");
}

#[test]
fn a_promise_that_a_job_forgot_is_logged_when_it_fails() {
    let app = r#"
import { app, time } from "sampan";
app.job("forgets", () => { Promise.reject(new Error("at once")); });
app.job("later", () => { time.sleep(0).then(() => { throw new Error("in a while"); }); });
app.post("/:name", (req) => { app.enqueue(req.params.name); });
"#;
    let toml = "[jobs]\nkeep_done_days = 1\n";
    let scratch = Scratch::new(&[("app.js", app), ("sampan.toml", toml)]);
    let mut process = Process::start(&mut serve(&scratch.file("app.js"), 1));
    let log = process.read_errors();
    for (name, told) in [("forgets", "at once"), ("later", "in a while")] {
        post(&process, &format!("/{name}"));
        log.until(&format!("unhandled rejection: {told}"));
        // Its job is done all the same.
        wait::until("the end", || {
            named(&scratch, name)
                .iter()
                .any(|job| job["state"] == "done")
        });
    }
}
