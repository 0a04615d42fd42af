//! `sampan jobs`: what is printed, and what people change beside a server.

use crate::commands::command::{sampan, serve};
use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use serde_json::Value;

const APP: &str = r#"
local app = require "sampan"
app.job("fine", function() end)
app.job("broken", { attempts = 1 }, function(args) error("no " .. args.what) end)
app.job("hostile", { attempts = 1 }, function() error("\27[2Jgone\nnext") end)
app.job("held", { timeout = "1 h" }, function(_, job)
  job:progress(40, "forty")
  app.time.sleep(3600)
end)
app.job("spins", { timeout = "1 h" }, function(_, job)
  job:progress(10)
  while true do end
end)
app.cron("0 3 * * *", "nightly", { tz = "Europe/Berlin" }, function() end)
app.post("/:name", function(req) return { id = app.enqueue(req.params.name, { what = "way" }) } end)
app.post("/later/:name", function(req)
  return { id = app.enqueue(req.params.name, { what = "way" }, { delay = "1 d" }) }
end)
"#;

fn ask(process: &Process, path: &str) -> i64 {
    let mut client = process.client();
    let answer = client.ask("POST", path, &[], "").expect("an answer");
    let answer: Value = serde_json::from_str(&answer.text()).expect("JSON");
    answer["id"].as_i64().expect("a number")
}

pub(super) fn jobs(scratch: &Scratch, args: &[&str]) -> (bool, String) {
    let output = sampan(&["jobs"])
        .args(args)
        .current_dir(scratch.path())
        .output();
    let output = output.expect("the command");
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8(output.stderr).expect("text");
    (output.status.success(), text + &errors)
}

fn state(scratch: &Scratch, id: i64) -> Value {
    let (_, text) = jobs(scratch, &["show", &id.to_string(), "--json"]);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

#[test]
fn jobs_are_listed_shown_retried_cancelled_and_removed() {
    let toml = "[jobs]\nkeep_done_days = 1\nlease = \"1s\"\n";
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let (broken, held) = (ask(&process, "/broken"), ask(&process, "/held"));
    let later = ask(&process, "/later/fine");
    wait::until("the end", || state(&scratch, broken)["state"] == "dead");
    wait::until("a progress", || state(&scratch, held)["progress"] == 40.0);
    wait::until("the cron", || {
        jobs(&scratch, &[]).1.contains("cron nightly")
    });
    let (is_fine, text) = jobs(&scratch, &[]);
    assert!(is_fine, "{text}");
    for part in [
        "default: 1 dead",
        "default: 1 running",
        "default: 1 scheduled",
        "cron nightly (0 3 * * *, Europe/Berlin): next ",
        "running, attempt 1, 40 forty",
        "no way",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text) = jobs(&scratch, &["list", "--state", "dead", "--json"]);
    let list: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(list["jobs"].as_array().map(Vec::len), Some(1), "{text}");
    assert_eq!(list["jobs"][0]["args"]["what"], "way");
    let (_, text) = jobs(&scratch, &["show", &broken.to_string()]);
    assert!(
        text.contains("attempt 1, ") && text.contains("app.lua:4"),
        "{text}"
    );

    // What is due later runs now; a dead job is tried again.
    let (_, text) = jobs(
        &scratch,
        &["retry", &later.to_string(), &broken.to_string()],
    );
    assert_eq!(text, "2 jobs are retried\n");
    wait::until("its end", || state(&scratch, later)["state"] == "done");
    wait::until("another attempt", || {
        let broken = state(&scratch, broken);
        broken["state"] == "dead" && broken["errors"].as_array().map(Vec::len) == Some(2)
    });

    let (_, text) = jobs(&scratch, &["cancel", &held.to_string(), "--json"]);
    assert_eq!(text, "{\"cancelled\":1}\n");
    assert_eq!(state(&scratch, held)["state"], "cancelled");
    let (is_fine, text) = jobs(&scratch, &["cancel", &held.to_string()]);
    let reason = format!("0 jobs are cancelled\njob {held} is cancelled already\n");
    assert!(!is_fine && text == reason, "{text}");
    let (is_fine, text) = jobs(&scratch, &["retry", "abc"]);
    assert!(
        !is_fine && text.contains("an id is the whole number"),
        "{text}"
    );
    let (is_fine, text) = jobs(&scratch, &["retry", "7", "--project", "."]);
    assert!(!is_fine && text.contains("there is no job 7: "), "{text}");
    let (_, text) = jobs(&scratch, &["list", "--name", "other", "--project", "."]);
    assert_eq!(text, "no such jobs\n");
    let id = held.to_string();
    let (is_fine, text) = jobs(&scratch, &["show", &id, "--project", "."]);
    assert!(is_fine && text.contains("held: cancelled"), "{text}");

    let (_, text) = jobs(&scratch, &["prune", "--days", "1"]);
    assert_eq!(text, "0 jobs are removed\n");
    let (is_fine, text) = jobs(&scratch, &["prune"]);
    assert!(!is_fine && text.contains("--all"), "{text}");
    let (_, text) = jobs(&scratch, &["prune", "--all"]);
    assert_eq!(text, "3 jobs are removed\n");
    let (is_fine, text) = jobs(&scratch, &["show", &held.to_string()]);
    assert!(!is_fine && text.contains("there is no job"), "{text}");
}

#[test]
fn errors_do_not_act_on_the_terminal() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let id = ask(&process, "/hostile");
    wait::until("the end", || state(&scratch, id)["state"] == "dead");
    for args in [&["list"][..], &["show", &id.to_string()]] {
        let (is_fine, text) = jobs(&scratch, args);
        assert!(is_fine && text.contains("\\u{1b}[2Jgone"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
    let (_, text) = jobs(&scratch, &["show", &id.to_string()]);
    assert!(text.contains("gone\nnext"), "{text}");
}

#[test]
fn a_job_that_is_not_declared_waits_for_a_process_that_declares_it() {
    let toml = "[jobs]\nkeep_done_days = 1\n";
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let id = ask(&process, "/later/fine");
    drop(process);
    let other = APP.replace("app.job(\"fine\"", "app.job(\"renamed\"");
    std::fs::write(scratch.file("app.lua"), other).expect("written");
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    let (is_fine, text) = jobs(&scratch, &["retry", &id.to_string()]);
    assert!(is_fine, "{text}");
    log.until("this version of the project declares no job \"fine\"");
    wait::until("it is given back", || {
        state(&scratch, id)["state"] == "scheduled"
    });
    assert_eq!(state(&scratch, id)["attempt"], 0);
    drop(process);
    std::fs::write(scratch.file("app.lua"), APP).expect("written");
    let _process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let (is_fine, text) = jobs(&scratch, &["retry", &id.to_string()]);
    assert!(is_fine, "{text}");
    wait::until("its end", || state(&scratch, id)["state"] == "done");
}

#[test]
fn the_project_is_named_before_a_command_or_behind_it() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let id = ask(&process, "/later/fine").to_string();
    let folder = scratch.path().display().to_string();
    let elsewhere = Scratch::new(&[("note.txt", "")]);
    for args in [
        ["--project", &folder, "show", &id],
        ["show", &id, "--project", &folder],
    ] {
        let (is_fine, text) = jobs(&elsewhere, &args);
        assert!(is_fine && text.contains("fine"), "{text}");
    }
    let (is_fine, text) = jobs(&elsewhere, &["--project", &folder, "cancel", &id]);
    assert!(is_fine && text.contains("cancelled"), "{text}");
    let (is_fine, text) = jobs(&scratch, &["--state", "dead", "retry", &id]);
    assert!(!is_fine && text.contains("before a command"), "{text}");
    let (is_fine, text) = jobs(&elsewhere, &["--project", &folder, "list", &folder]);
    assert!(!is_fine && text.contains("both name the project"), "{text}");
}

#[test]
fn a_project_without_jobs_or_database_is_told_so() {
    let scratch = Scratch::new(&[("app.lua", "local app = require 'sampan'\n")]);
    let (is_fine, text) = jobs(&scratch, &[]);
    assert!(!is_fine && text.contains("there is no database"), "{text}");
    let app = "local app = require 'sampan'\napp.db.exec('CREATE TABLE t (a)')\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    drop(Process::start(&mut serve(&scratch.file("app.lua"), 1)));
    assert_eq!(jobs(&scratch, &[]), (true, "no jobs\n".to_owned()));
}

#[test]
fn a_job_that_spins_is_stopped_when_it_is_cancelled() {
    let toml = "[jobs]\nworkers = 1\nlease = \"1s\"\n";
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let spins = ask(&process, "/spins");
    wait::until("its beginning", || {
        state(&scratch, spins)["state"] == "running"
    });
    assert!(jobs(&scratch, &["cancel", &spins.to_string()]).0);
    // Its thread is the only one.
    let fine = ask(&process, "/fine");
    wait::until("another job", || {
        !jobs(&scratch, &["show", &fine.to_string()]).0 || state(&scratch, fine)["state"] == "done"
    });
    assert_eq!(state(&scratch, spins)["state"], "cancelled");
}
