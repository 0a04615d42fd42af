//! Unique keys of jobs that people run again after their end.

use super::command::jobs;
use crate::commands::command::serve;
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use serde_json::Value;

const APP: &str = r#"
local app = require "sampan"
app.job("broken", { attempts = 1, unique = true }, function() error("no way") end)
app.job("held", { timeout = "1 h", unique = true }, function() app.time.sleep(3600) end)
app.post("/later/:name", function(req) return { id = app.enqueue(req.params.name, 7, { delay = "1 d" }) } end)
app.post("/:name", function(req) return { id = app.enqueue(req.params.name, 7) } end)
"#;

fn add(process: &Process, path: &str) -> String {
    let answer: Value = serde_json::from_str(&ask(process, "POST", path)).expect("JSON");
    answer["id"].as_i64().expect("a number").to_string()
}

fn job(scratch: &Scratch, id: &str) -> Value {
    let (_, text) = jobs(scratch, &["show", id, "--json"]);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

fn start() -> (Scratch, Process) {
    let scratch = Scratch::new(&[
        ("app.lua", APP),
        ("sampan.toml", "[jobs]\nlease = \"1s\"\n"),
    ]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    (scratch, process)
}

fn reason(job: &str, other: &str) -> String {
    format!("job {job} stays as it is: job {other} has the same unique key and has not ended")
}

#[test]
fn a_dead_job_does_not_run_beside_another_with_its_key() {
    let (scratch, process) = start();
    let first = add(&process, "/broken");
    let is_dead = |attempts| {
        let job = job(&scratch, &first);
        let errors = job["errors"].as_array().map(Vec::len);
        job["state"] == "dead" && errors == Some(attempts)
    };
    wait::until("the end", || is_dead(1));
    let other = add(&process, "/later/broken");
    assert_ne!(other, first);
    let (is_fine, text) = jobs(&scratch, &["retry", &first]);
    assert!(!is_fine && text.contains("0 jobs are retried"), "{text}");
    assert!(text.contains(&reason(&first, &other)), "{text}");
    assert!(is_dead(1));
    assert!(jobs(&scratch, &["cancel", &other]).0);
    // One of both runs.
    let (is_fine, text) = jobs(&scratch, &["retry", &other, &first]);
    assert!(!is_fine && text.contains("1 job is retried"), "{text}");
    assert!(text.contains(&reason(&other, &first)), "{text}");
    wait::until("another attempt", || is_dead(2));
    // Its second end has left the key to others too.
    let (is_fine, text) = jobs(&scratch, &["retry", &first]);
    assert!(is_fine && text == "1 job is retried\n", "{text}");
    wait::until("one more attempt", || is_dead(3));
}

#[test]
fn a_job_that_was_cancelled_has_its_key_again_when_it_is_retried() {
    let (scratch, process) = start();
    let id = add(&process, "/held");
    let is_running = || job(&scratch, &id)["state"] == "running";
    wait::until("its beginning", is_running);
    assert!(jobs(&scratch, &["cancel", &id]).0);
    assert_eq!(
        jobs(&scratch, &["retry", &id]),
        (true, "1 job is retried\n".to_owned())
    );
    assert_eq!(add(&process, "/held"), id);
    wait::until("its next attempt", is_running);
    assert_eq!(add(&process, "/held"), id);
}
