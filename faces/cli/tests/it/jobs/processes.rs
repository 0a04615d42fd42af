//! Jobs of processes that are killed, stopped and ended, and of two processes with one database.

use crate::commands::command::serve;
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use std::path::Path;
use std::process::Command;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS added (n INTEGER PRIMARY KEY)")
  db.exec("CREATE TABLE IF NOT EXISTS runs (n INTEGER, attempt INTEGER, what TEXT)")
  db.exec("CREATE TABLE IF NOT EXISTS released (attempt INTEGER)")
  db.exec("CREATE TABLE IF NOT EXISTS ends (id INTEGER)")
end)

app.job("count", { attempts = 100, backoff = 0 }, function(n, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'ran')", { n, job.attempt })
end)

app.job("held", { attempts = 5, backoff = 0 }, function(n, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'begun')", { n, job.attempt })
  while not db.one("SELECT 1 FROM released WHERE attempt = ?", { job.attempt }) do time.sleep(0.005) end
end)

app.post("/add/:n", function(req)
  local n = tonumber(req.params.n)
  db.batch(function()
    for at = n * 10, n * 10 + 9 do
      db.exec("INSERT INTO added VALUES (?)", { at })
      app.enqueue("count", at)
    end
  end)
end)
-- Jobs that fail and are scheduled again, write progress, wait for a time, and are cancelled.
app.job("flaky", { attempts = 100, backoff = 0 }, function(n, job)
  if job.attempt == 1 then error("not yet") end
  db.exec("INSERT INTO runs VALUES (?, ?, 'ran')", { n, job.attempt })
end)
app.job("told", { attempts = 100, backoff = 0 }, function(n, job)
  job:progress(50, "half")
  db.exec("INSERT INTO runs VALUES (?, ?, 'ran')", { n, job.attempt })
end)
app.job("dozing", { attempts = 100, backoff = 0 }, function() time.sleep(0.1) end)
app.post("/mixed/:n", function(req)
  local n = tonumber(req.params.n)
  db.batch(function()
    for at = n * 10, n * 10 + 9 do
      db.exec("INSERT INTO added VALUES (?)", { at })
      if at % 3 == 0 then
        app.enqueue("flaky", at)
      elseif at % 3 == 1 then
        app.enqueue("told", at)
      else
        app.enqueue("count", at, { delay = 0.2 })
      end
    end
    app.enqueue("dozing", n)
    app.enqueue("dozing", n, { delay = "1 h" })
    db.exec([[CREATE TRIGGER IF NOT EXISTS noted AFTER UPDATE OF state ON _sampan_jobs
      WHEN NEW.state IN ('done', 'dead', 'cancelled') BEGIN INSERT INTO ends VALUES (NEW.id); END]])
  end)
end)
app.post("/cancel", function()
  local rows = db.query([[SELECT id FROM _sampan_jobs
    WHERE name = 'dozing' AND state IN ('ready', 'scheduled', 'running')]])
  for _, row in ipairs(rows) do app.cancel_job(row.id) end
end)
app.get("/ends", function()
  return db.one([[SELECT count(*) AS ends, count(DISTINCT id) AS ended,
    (SELECT count(*) FROM _sampan_jobs) AS jobs FROM ends]])
end)

app.job("report", { attempts = 100, backoff = 0 }, function(batch, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'report ' || ?)", { batch.args, job.attempt, batch.done })
end)
app.post("/batch/:n", function(req)
  local n, list = tonumber(req.params.n), {}
  db.batch(function()
    for at = n * 10, n * 10 + 9 do
      db.exec("INSERT INTO added VALUES (?)", { at })
      list[#list + 1] = at
    end
    app.enqueue_batch("count", list, { after = "report", args = n })
  end)
end)
app.get("/reports", function()
  return db.one([[SELECT (SELECT count(DISTINCT n) FROM runs WHERE what = 'report 10') AS ran,
    (SELECT count(*) FROM _sampan_jobs WHERE name = 'report') AS reports,
    (SELECT count(*) FROM _sampan_job_batches) AS left]])
end)
app.post("/held", function() app.enqueue("held", 1) end)
app.post("/release/:attempt", function(req)
  db.exec("INSERT INTO released VALUES (?)", { tonumber(req.params.attempt) })
end)
app.get("/counts", function()
  return db.one([[SELECT (SELECT count(*) FROM added) AS added,
    (SELECT count(DISTINCT n) FROM runs WHERE what = 'ran') AS ran,
    (SELECT count(*) FROM runs WHERE what = 'ran') AS runs,
    (SELECT count(*) FROM _sampan_jobs WHERE state = 'done' AND name NOT IN ('report', 'dozing')) AS done,
    (SELECT count(*) FROM _sampan_jobs WHERE state NOT IN ('done', 'cancelled')) AS left]])
end)
app.get("/begun/:attempt", function(req)
  return { count = #db.query("SELECT 1 FROM runs WHERE what = 'begun' AND attempt = ?", { tonumber(req.params.attempt) }) }
end)
app.get("/state", function()
  local row = db.one("SELECT state, attempt FROM _sampan_jobs")
  return row.state .. " " .. row.attempt
end)
"#;

const TOML: &str = "[jobs]\nlease = \"1s\"\nkeep_done_days = 1\n";

fn start(scratch: &Scratch) -> Process {
    Process::start(&mut serve(&scratch.file("app.lua"), 2))
}

/// A number in the answer of `/counts`.
pub(super) fn count(counts: &str, name: &str) -> u64 {
    let name = format!("\"{name}\":");
    let (_, rest) = counts.split_once(&name).expect("a count");
    let digits = rest.split([',', '}']).next().unwrap_or_default();
    digits.parse().expect("a number")
}

/// Waits until no job is left; returns the counts.
pub(super) fn all_ended(process: &Process) -> String {
    wait::found("the end of all jobs", || {
        let counts = ask(process, "GET", "/counts");
        (count(&counts, "left") == 0).then_some(counts)
    })
}

#[test]
fn kills_under_load_lose_no_job_and_end_none_twice() {
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", TOML)]);
    let mut next = 0;
    for cycle in 0..6 {
        let process = start(&scratch);
        // The more cycles, the more jobs of the ones before are among them.
        for _ in 0..10 {
            ask(&process, "POST", &format!("/mixed/{next}"));
            ask(&process, "POST", &format!("/add/{}", next + 1));
            ask(&process, "POST", &format!("/batch/{}", next + 2));
            next += 3;
        }
        if cycle % 3 == 1 {
            ask(&process, "POST", "/cancel");
        }
        if cycle % 2 == 0 {
            let so_far = count(&ask(&process, "GET", "/counts"), "done");
            wait::until("another end", || {
                count(&ask(&process, "GET", "/counts"), "done") > so_far
            });
        }
        process.signal("KILL");
        process.end();
    }
    let process = start(&scratch);
    ask(&process, "POST", "/cancel");
    let counts = all_ended(&process);
    let added = count(&counts, "added");
    assert_eq!(added, next * 10, "{counts}");
    assert_eq!(count(&counts, "ran"), added, "none is lost: {counts}");
    assert_eq!(count(&counts, "done"), added, "each ends once: {counts}");
    let reports = ask(&process, "GET", "/reports");
    for name in ["ran", "reports"] {
        assert_eq!(
            count(&reports, name),
            next / 3,
            "one for each batch: {reports}"
        );
    }
    assert_eq!(count(&reports, "left"), 0, "{reports}");
    let ends = ask(&process, "GET", "/ends");
    let jobs = count(&ends, "jobs");
    assert_eq!(jobs, next * 10 + next, "{ends}");
    for name in ["ends", "ended"] {
        assert_eq!(count(&ends, name), jobs, "one end for each job: {ends}");
    }
}

#[test]
fn two_processes_share_the_jobs_of_a_database() {
    // A machine that is busy must not make a lease end.
    let toml = TOML.replace("1s", "1h");
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", &toml)]);
    let (one, other) = (start(&scratch), start(&scratch));
    for n in 0..40 {
        ask(
            if n % 2 == 0 { &one } else { &other },
            "POST",
            &format!("/add/{n}"),
        );
    }
    let counts = all_ended(&one);
    assert_eq!(count(&counts, "added"), 400, "{counts}");
    assert_eq!(count(&counts, "runs"), 400, "each runs once: {counts}");
    // What one leaves at its end is the other's.
    for n in 40..60 {
        ask(&one, "POST", &format!("/add/{n}"));
    }
    one.signal("TERM");
    let (status, errors) = one.end();
    assert_eq!(status, Some(0), "{errors}");
    let counts = all_ended(&other);
    assert_eq!(count(&counts, "runs"), 600, "none begins twice: {counts}");
}

#[test]
fn an_attempt_that_was_believed_dead_cannot_end_its_job() {
    let toml = TOML.replace("1s", "3s");
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", &toml)]);
    let mut one = start(&scratch);
    let log = one.read_errors();
    ask(&one, "POST", "/held");
    wait::until("the first attempt", || {
        ask(&one, "GET", "/begun/1").contains('1')
    });
    one.signal("STOP");
    let other = start(&scratch);
    wait::until("the second attempt", || {
        ask(&other, "GET", "/begun/2").contains('1')
    });
    // Its function could end now.
    ask(&other, "POST", "/release/1");
    one.signal("CONT");
    log.until("attempt 1 does not count any more");
    assert_eq!(ask(&other, "GET", "/state"), "running 2");
    ask(&other, "POST", "/release/2");
    wait::until("its end", || ask(&other, "GET", "/state") == "done 2");
}

#[test]
fn a_shutdown_waits_for_jobs_that_run_and_gives_the_others_back() {
    let toml = format!("{TOML}queues = [\"default 1\"]\n");
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", &toml)]);
    let process = start(&scratch);
    ask(&process, "POST", "/held");
    wait::until("the attempt", || {
        ask(&process, "GET", "/begun/1").contains('1')
    });
    ask(&process, "POST", "/held");
    let mut client = process.client();
    process.signal("TERM");
    assert!(client.is_closed());
    // Another process ends the wait of the first.
    let sqlite = Command::new(env!("CARGO_BIN_EXE_sampan"))
        .args(["db", "--write"])
        .arg(Path::new(&scratch.path()))
        .arg("INSERT INTO released VALUES (1)")
        .output()
        .expect("the command");
    assert!(
        sqlite.status.success(),
        "{}",
        String::from_utf8_lossy(&sqlite.stderr)
    );
    let (status, errors) = process.end();
    assert_eq!(status, Some(0), "{errors}");
    let process = start(&scratch);
    wait::until("the end of both", || {
        count(&ask(&process, "GET", "/counts"), "done") == 2
    });
    assert!(
        ask(&process, "GET", "/begun/1").contains('2'),
        "the second was not begun before"
    );
}

#[test]
fn an_app_without_jobs_has_no_table_and_no_thread() {
    let app = "local app = require 'sampan'\napp.get('/', function() app.db.exec('CREATE TABLE IF NOT EXISTS t (a)') return app.db.query(\"SELECT name FROM sqlite_schema WHERE name LIKE '_sampan%'\") end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let process = start(&scratch);
    assert_eq!(ask(&process, "GET", "/"), "[]");
    assert_eq!(threads_for_jobs(&process), 0);
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let process = start(&scratch);
    assert_eq!(
        threads_for_jobs(&process),
        3,
        "two with isolates and the keeper"
    );
    // A thread that has just begun has the priority of its process.
    wait::until("the low priority", || {
        let of_jobs = |(name, _): &(String, i32)| name.starts_with("sampan-b");
        let nices = threads(&process).into_iter().filter(of_jobs);
        let low = nices.filter(|(_, nice)| *nice >= 10);
        low.count() == 2
    });
}

/// Returns the number of threads that a process has for jobs.
fn threads_for_jobs(process: &Process) -> usize {
    let all = threads(process).into_iter();
    all.filter(|(name, _)| name.starts_with("sampan-b") || name.starts_with("sampan-keeper"))
        .count()
}

/// Returns the name and the nice value of each thread of a process.
fn threads(process: &Process) -> Vec<(String, i32)> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.id())).expect("a process");
    let stats =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
    let found = stats.filter_map(|stat| {
        let (name, rest) = stat.split_once('(')?.1.split_once(") ")?;
        // The 19th field, as proc_pid_stat(5) counts.
        Some((name.to_owned(), rest.split(' ').nth(16)?.parse().ok()?))
    });
    found.collect()
}
