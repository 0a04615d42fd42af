//! Crons by a clock that a test sets: times that overlap, that were missed, and that come again.

use crate::commands::command::sampan;
use crate::support::Scratch;
use sampan_client::postgres::PostgresServer;

const APP: &str = r#"
local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS runs (name TEXT, due INTEGER)") end)
local function note(name)
  return function(run) db.exec("INSERT INTO runs VALUES (?, ?)", { name, run.due }) end
end
app.cron("0 * * * *", "once", note("once"))
app.cron("0 * * * *", "skip", { missed = "skip" }, note("skip"))
app.cron("0 3 * * *", "daily", note("daily"))
app.cron("0 * * * *", "fails", { attempts = 2, backoff = "90 m" }, function(run)
  note("fails")(run)
  error("fails")
end)
app.job("later", note("later"))
app.post("/later", function() app.enqueue("later", { due = 0 }, { delay = "1 h" }) end)
"#;

const TESTS: &str = r#"
local app = require "sampan"
local t, db = app.t, app.db
local HOUR = 3600
-- 2026-05-02 00:30 UTC.
local BEGIN = 1777681800

local function runs(name)
  local row = db.one("SELECT count(*) AS count, max(due) AS due FROM runs WHERE name = ?", { name })
  return { row.count, row.due or 0 }
end
local function at(seconds)
  t.set_time(seconds)
  t.run_jobs()
end

t.test("a time whose job has not ended is left out", function()
  at(BEGIN)
  at(BEGIN + HOUR)
  t.equal(runs("fails"), { 1, BEGIN + HOUR / 2 })
  -- The second attempt begins after 67 to 113 minutes.
  at(BEGIN + 2 * HOUR)
  t.equal(runs("fails"), { 1, BEGIN + HOUR / 2 })
  t.equal(runs("once"), { 2, BEGIN + 1.5 * HOUR })
  at(BEGIN + 3 * HOUR)
  t.equal(runs("fails")[1], 2, "the second attempt")
  at(BEGIN + 4 * HOUR)
  t.equal(runs("fails"), { 3, BEGIN + 3.5 * HOUR })
end)

t.test("what was missed runs once, or not", function()
  at(BEGIN)
  at(BEGIN + HOUR / 2)
  t.equal({ runs("once")[1], runs("skip")[1] }, { 1, 1 })
  at(BEGIN + 100.25 * HOUR)
  t.equal({ runs("once")[1], runs("skip")[1] }, { 2, 1 })
  at(BEGIN + 100.5 * HOUR + 59)
  t.equal({ runs("once")[1], runs("skip")[1] }, { 3, 2 }, "less than a minute late")
end)

t.test("a clock that is set back repeats no time", function()
  at(BEGIN)
  at(BEGIN + 2.5 * HOUR)
  t.equal(runs("daily"), { 1, BEGIN + 2.5 * HOUR })
  at(BEGIN + 2 * HOUR)
  at(BEGIN + 2.5 * HOUR)
  at(BEGIN + 3 * HOUR)
  t.equal(runs("daily"), { 1, BEGIN + 2.5 * HOUR })
  at(BEGIN + 26.5 * HOUR)
  t.equal(runs("daily"), { 2, BEGIN + 26.5 * HOUR })
end)

t.test("after a clock that was years ahead crons go on", function()
  at(BEGIN)
  at(BEGIN + 90000 * HOUR)
  t.equal({ runs("daily")[1], runs("once")[1] }, { 1, 1 })
  at(BEGIN)
  at(BEGIN + 2.5 * HOUR)
  t.equal(runs("daily"), { 2, BEGIN + 2.5 * HOUR })
  t.equal(runs("once"), { 2, BEGIN + 0.5 * HOUR })
end)

t.test("a delay ends once, however the clock goes", function()
  t.set_time(BEGIN)
  t.post("/later")
  at(BEGIN + 0.9 * HOUR)
  at(BEGIN - 100 * HOUR)
  t.equal(runs("later")[1], 0)
  at(BEGIN + HOUR)
  t.equal(runs("later")[1], 1)
  at(BEGIN)
  at(BEGIN + 2 * HOUR)
  t.equal(runs("later")[1], 1)
end)
"#;

/// Runs the tests, with further arguments.
fn passes(args: &[&str]) {
    let scratch = Scratch::new(&[("app.lua", APP), ("crons.test.lua", TESTS)]);
    std::fs::create_dir(scratch.path().join("tests")).expect("a folder");
    let file = scratch.path().join("tests/crons.test.lua");
    std::fs::rename(scratch.file("crons.test.lua"), file).expect("moved");
    let output = sampan(&["test"]).arg(scratch.path()).args(args).output();
    let output = output.expect("the command starts");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let out = out + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}");
    assert!(out.contains("5 passed, 0 failed"), "{out}");
}

#[test]
fn crons_follow_a_clock_that_jumps() {
    passes(&[]);
}

#[test]
fn crons_on_postgresql_follow_a_clock_that_a_test_sets() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    passes(&["--db", &server.url(&server.database())]);
}
