//! Two versions of an app with one database, as in a rolling deploy.

use super::clock::Clock;
use super::{alone, ask, database, start};
use sampan_client::wait;
use sampan_host::Value;

/// 2026-05-02T00:10:00Z.
const BEGIN: u64 = 1_777_680_600;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS runs (due INTEGER)") end)
app.cron("PATTERN", "report", { tz = "ZONE" }, function(run) db.exec("INSERT INTO runs VALUES (?)", { run.due }) end)
app.get("/runs", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT due FROM runs ORDER BY due")) do lines[i] = row.due end
  return lines
end)
local function count(name, condition, ...)
  if not db.one("SELECT 1 FROM sqlite_master WHERE name = ?", { name }) then return 0 end
  return db.one("SELECT count(*) AS n FROM " .. name .. " WHERE " .. condition, { ... }).n
end
-- The schedules that wait for their next time, and the jobs.
app.get("/waiting", function()
  return app.text(count("_sampan_cron_times", "next > ?", time.now() * 1000) .. " " .. count("_sampan_jobs", "1"))
end)
"#;

/// Runs two versions, with a pattern and a time zone each, at these minutes after the begin. Returns the minutes for
/// which the cron ran.
fn runs(versions: [(&str, &str); 2], minutes: &[u64]) -> Vec<u64> {
    let _alone = alone();
    let clock = Clock;
    clock.set(BEGIN);
    let folder = tempfile::tempdir().expect("a folder");
    let servers = versions.map(|(pattern, zone)| {
        let app = APP.replace("PATTERN", pattern).replace("ZONE", zone);
        start(folder.path(), &app, "")
    });
    let settle = || {
        wait::until("both versions have no work", || {
            ask(&servers[0], "GET", "/waiting") == "2 0"
        });
    };
    settle();
    for minute in minutes {
        clock.set(BEGIN + minute * 60);
        settle();
    }
    let runs = ask(&servers[1], "GET", "/runs");
    for server in servers {
        assert!(server.shutdown());
    }
    let runs = runs.trim_matches(['[', ']']).split(',');
    let runs = runs.filter_map(|due| due.parse::<u64>().ok());
    runs.map(|due| (due - BEGIN) / 60).collect()
}

#[test]
fn a_cron_runs_at_the_times_of_both_versions() {
    let versions = [("0 3 * * *", "UTC"), ("0 3 * * *", "Europe/Berlin")];
    assert_eq!(runs(versions, &[30, 50, 100, 170, 180]), [50, 170]);
}

#[test]
fn a_time_of_both_versions_runs_once() {
    let versions = [("0 * * * *", "UTC"), ("0,30 * * * *", "UTC")];
    assert_eq!(runs(versions, &[20, 50, 80, 110]), [20, 50, 80, 110]);
}

const OLD: &str = r#"
local app = require "sampan"
local db = app.db
app.job("known", function() end)
app.post("/known", function() app.enqueue("known") end)
app.get("/states", function()
  local states = {}
  for i, row in ipairs(db.query("SELECT id, state FROM _sampan_jobs ORDER BY id")) do
    states[i] = ("%d %s"):format(row.id, row.state)
  end
  return app.text(table.concat(states, ", "))
end)
"#;

/// Jobs whose processes died an hour and 25 hours ago.
const LEFT: &str = "INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, attempt, token, lease)
    SELECT column1, column2, 'default', '1', 'running', 0, 0, 0, 1, 1, unixepoch() * 1000 - column3 * 3600000
    FROM (VALUES (1, 'new', 1), (2, 'new', 25), (3, 'known', 1))";

#[test]
fn a_process_that_does_not_declare_a_job_leaves_its_attempts_to_one_that_does() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let sections = "[jobs]\nlease = \"1s\"\n";
    let old = start(folder.path(), OLD, sections);
    ask(&old, "POST", "/known");
    let states = |expected: &str| {
        wait::until(expected, || ask(&old, "GET", "/states") == expected);
    };
    states("");
    let db = database(folder.path());
    assert_eq!(db.own_write(LEFT, &Value::Null).expect("written"), Some(3));
    db.finish_loading().expect("committed");
    drop(db);
    // Its own has run again, and no process has come for the oldest in a day.
    states("1 running, 2 scheduled");
    let app = format!("{OLD}\napp.job('new', {{ attempts = 1 }}, function() end)\n");
    let new = start(folder.path(), &app, sections);
    wait::until("it is dead after its only attempt", || {
        ask(&new, "GET", "/states").starts_with("1 dead")
    });
    for server in [old, new] {
        assert!(server.shutdown());
    }
}
