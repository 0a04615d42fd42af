//! Rates of queues, which count in all processes that share a database.

use super::processes::count;
use crate::commands::command::{sampan, serve};
use crate::support::{Process, Scratch, ask};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::wait;

const APP: &str = r#"
local app = require "sampan"
local db = app.db

app.job("slow", { queue = "slow" }, function() end)
app.job("quick", { queue = "quick" }, function() end)
app.job("other", function() end)

app.post("/slow", function() app.enqueue("slow") end)
app.post("/quick", function() for _ = 1, 20 do app.enqueue("quick") end end)
app.post("/other", function() for _ = 1, 20 do app.enqueue("other") end end)
app.get("/counts", function()
  return db.one([[SELECT (SELECT count(*) FROM _sampan_jobs WHERE name = 'slow' AND state = 'done') AS slow,
    (SELECT count(*) FROM _sampan_jobs WHERE name = 'quick' AND state = 'done') AS quick,
    (SELECT count(*) FROM _sampan_jobs WHERE name = 'other' AND state <> 'done') AS others]])
end)
-- The times at which jobs were taken.
app.get("/taken", function()
  local lines = app.json.array {}
  local rows = db.query("SELECT started FROM _sampan_jobs WHERE name = 'quick' ORDER BY started")
  for at, row in ipairs(rows) do lines[at] = string.format("%d", row.started) end
  return lines
end)
"#;

const TOML: &str =
    "[jobs]\nkeep_done_days = 1\nlease = \"1h\"\nqueues = [\"slow 10 3/h\", \"quick 10 5/s\"]\n";

/// Starts processes that share a database, and asserts that they keep to the rates of queues together.
fn keep_to_rates(start: impl Fn() -> Process) {
    let (one, other) = (start(), start());
    for process in [&one, &other, &one, &other] {
        ask(process, "POST", "/slow");
        ask(process, "POST", "/slow");
    }
    let assert_three = |process: &Process| {
        wait::until("as many as the rate allows", || {
            count(&ask(process, "GET", "/counts"), "slow") >= 3
        });
        // Each keeper has had its turns since.
        ask(process, "POST", "/other");
        wait::until("the end of all others", || {
            count(&ask(process, "GET", "/counts"), "others") == 0
        });
        assert_eq!(count(&ask(process, "GET", "/counts"), "slow"), 3);
    };
    assert_three(&one);
    assert_three(&other);
    one.signal("KILL");
    one.end();
    // One that starts counts what was started before.
    let one = start();
    assert_three(&one);
    for process in [&one, &other] {
        ask(process, "POST", "/quick");
    }
    wait::until("the end of the quick ones", || {
        count(&ask(&one, "GET", "/counts"), "quick") == 40
    });
    let taken = ask(&one, "GET", "/taken");
    let taken = taken.trim_matches(['[', ']']).split(',');
    let taken: Vec<i64> = taken
        .map(|time| time.trim_matches('"').parse().expect("a time"))
        .collect();
    assert_eq!(taken.len(), 40);
    assert!(
        taken.windows(6).all(|six| six[5] - six[0] >= 1_000),
        "no more than five in a second: {taken:?}"
    );
}

#[test]
fn processes_with_one_file_keep_to_a_rate_together() {
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", TOML)]);
    keep_to_rates(|| Process::start(&mut serve(&scratch.file("app.lua"), 1)));
}

#[test]
fn processes_with_one_server_keep_to_a_rate_together() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", TOML)]);
    let (file, url) = (scratch.file("app.lua"), server.url(&server.database()));
    keep_to_rates(|| {
        let args = ["run", &file, "--listen", "127.0.0.1:0", "--workers", "1"];
        Process::start(sampan(&args).args(["--db", &url]))
    });
}

/// One thread, which a job keeps busy for longer than the start of a job may be apart from when it was counted.
const BUSY: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time

app.job("busy", function(_, job)
  job:progress(1)
  local begun = time.now()
  while time.now() < begun + 4 do end
end)
app.job("slow", { queue = "slow" }, function() end)
app.post("/busy", function() app.enqueue("busy") end)
app.post("/slow", function() app.enqueue("slow") end)
app.get("/is_busy", function() return { is = db.one("SELECT 1 FROM _sampan_jobs WHERE progress = 1") ~= nil } end)
-- The state of the job with a rate, its attempt, how often it was taken, and the starts that are counted.
app.get("/slow", function()
  -- The table is made with the first start.
  if not db.one("SELECT 1 FROM sqlite_schema WHERE name = '_sampan_job_starts'") then return "" end
  local row = db.one("SELECT state, attempt, token FROM _sampan_jobs WHERE name = 'slow'")
  local starts = db.one("SELECT sum(jobs) AS jobs FROM _sampan_job_starts")
  return app.text(("%s %d %d %d"):format(row.state, row.attempt, row.token, starts.jobs))
end)
"#;

#[test]
fn a_job_that_waits_for_a_thread_is_counted_when_it_begins() {
    let toml = "[jobs]\nworkers = 1\nkeep_done_days = 1\nqueues = [\"slow 1 1/h\"]\n";
    let scratch = Scratch::new(&[("app.lua", BUSY), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    ask(&process, "POST", "/busy");
    wait::until("the only thread is busy", || {
        ask(&process, "GET", "/is_busy").contains("true")
    });
    ask(&process, "POST", "/slow");
    wait::until("its end, as its first attempt and only start", || {
        ask(&process, "GET", "/slow") == "done 1 2 1"
    });
}

#[test]
fn jobs_without_a_rate_run_where_a_role_may_not_count_starts() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", TOML)]);
    let (file, database) = (scratch.file("app.lua"), server.database());
    let url = server.url(&database);
    let made = sampan(&["db", "migrate", &file, "--db", &url]).output();
    assert!(made.expect("it starts").status.success());
    server.psql(
        &database,
        "CREATE ROLE no_counter LOGIN PASSWORD 'secret'; GRANT ALL ON ALL TABLES IN SCHEMA public TO no_counter;
         REVOKE ALL ON _sampan_job_starts FROM no_counter",
    );
    let (_, place) = url.split_once('@').expect("a user");
    let url = format!("postgres://no_counter:secret@{place}");
    let args = ["run", &file, "--listen", "127.0.0.1:0", "--workers", "1"];
    let process = Process::start(sampan(&args).args(["--db", &url]));
    ask(&process, "POST", "/slow");
    ask(&process, "POST", "/other");
    wait::until("the end of all others", || {
        server.psql(
            &database,
            "SELECT count(*) FROM _sampan_jobs WHERE name = 'other' AND state = 'done'",
        ) == "20"
    });
    process.signal("TERM");
    // It looks for jobs before it listens, or after that.
    let first_lines = process.first_lines.clone();
    let errors = first_lines + &process.end().1;
    let told = "GRANT SELECT, INSERT, UPDATE, DELETE ON _sampan_job_starts";
    assert!(errors.contains(told), "{errors}");
    let state = "SELECT state FROM _sampan_jobs WHERE name = 'slow'";
    assert_eq!(server.psql(&database, state), "ready");
}
