//! Jobs of several processes whose database is on a PostgreSQL server. Without PostgreSQL these tests are skipped.

use super::processes::{all_ended, count};
use crate::commands::command::sampan;
use crate::support::{Process, Scratch, ask};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::wait;
use serde_json::Value;
use std::thread;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time

app.job("count", { attempts = 100, backoff = 0 }, function(n, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'ran', 'PROCESS')", { n, job.attempt })
end)
app.job("held", { attempts = 5, backoff = 0 }, function(n, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'begun', 'PROCESS')", { n, job.attempt })
  while not db.one("SELECT 1 FROM released WHERE attempt = ?", { job.attempt }) do time.sleep(0.005) end
end)
-- Jobs that fail and are scheduled again, write progress, wait for a time, and are cancelled.
app.job("flaky", { attempts = 100, backoff = 0 }, function(n, job)
  if job.attempt == 1 then error("not yet") end
  db.exec("INSERT INTO runs VALUES (?, ?, 'ran', 'PROCESS')", { n, job.attempt })
end)
app.job("told", { attempts = 100, backoff = 0 }, function(n, job)
  job:progress(50, "half")
  db.exec("INSERT INTO runs VALUES (?, ?, 'ran', 'PROCESS')", { n, job.attempt })
end)
app.job("dozing", { attempts = 100, backoff = 0 }, function() time.sleep(0.1) end)
app.job("broken", { attempts = 1 }, function(args) error("no " .. args) end)
app.job("report", { attempts = 100, backoff = 0 }, function(batch, job)
  db.exec("INSERT INTO runs VALUES (?, ?, 'report ' || ?::text, 'PROCESS')", { batch.args, job.attempt, batch.done })
end)
app.cron("0 * * * *", "hourly", function(run)
  db.exec("INSERT INTO runs VALUES (?, 1, 'hour', 'PROCESS')", { run.due })
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
  end)
end)
app.post("/cancel", function()
  local rows = db.query([[SELECT id FROM _sampan_jobs
    WHERE name = 'dozing' AND state IN ('ready', 'scheduled', 'running')]])
  for _, row in ipairs(rows) do app.cancel_job(row.id) end
end)
app.get("/ends", function()
  return db.one([[SELECT count(*) AS ends, count(DISTINCT id) AS ended,
    (SELECT count(*) FROM _sampan_jobs WHERE queue <> 'cron') AS jobs FROM ends]])
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
app.post("/one/:n", function(req)
  local n = tonumber(req.params.n)
  app.enqueue_batch("count", { n }, { after = "report", args = n })
end)
app.post("/many/:n", function(req)
  local n, list = tonumber(req.params.n), {}
  for at = n * 1000, n * 1000 + 999 do list[#list + 1] = at end
  app.enqueue_batch("count", list)
end)
app.post("/transaction/:n", function(req)
  db.transaction(function(tx)
    tx:exec("INSERT INTO added VALUES (?)", { tonumber(req.params.n) })
    tx:enqueue("count", tonumber(req.params.n))
  end)
end)
app.post("/held", function() app.enqueue("held", 1) end)
app.post("/broken", function() return { id = app.enqueue("broken", "way") } end)
app.post("/unique", function() return { id = app.enqueue("held", 1, { unique = "key" }) } end)
app.post("/later", function() return { id = app.enqueue("count", 1, { delay = "1 d" }) } end)
app.post("/release/:attempt", function(req)
  db.exec("INSERT INTO released VALUES (?)", { tonumber(req.params.attempt) })
end)
app.get("/reports", function()
  return db.one([[SELECT (SELECT count(DISTINCT n) FROM runs WHERE what = 'report 10') AS ran,
    (SELECT count(*) FROM _sampan_jobs WHERE name = 'report') AS reports,
    (SELECT count(*) FROM _sampan_job_batches) AS left]])
end)
app.get("/counts", function()
  return db.one([[SELECT (SELECT count(*) FROM added) AS added,
    (SELECT count(DISTINCT n) FROM runs WHERE what = 'ran') AS ran,
    (SELECT count(*) FROM runs WHERE what = 'ran') AS runs,
    (SELECT count(DISTINCT process) FROM runs) AS processes,
    (SELECT count(*) FROM _sampan_jobs WHERE state = 'done' AND name IN ('count', 'flaky', 'told')) AS done,
    (SELECT count(*) FROM _sampan_jobs WHERE state NOT IN ('done', 'cancelled')) AS left]])
end)
app.get("/begun/:attempt", function(req)
  return { count = #db.query("SELECT 1 FROM runs WHERE what = 'begun' AND attempt = ?", { tonumber(req.params.attempt) }) }
end)
app.get("/state", function()
  local row = db.one("SELECT state, attempt FROM _sampan_jobs")
  return row.state .. " " .. string.format("%d", row.attempt)
end)
"#;

const TABLES: &str = "CREATE TABLE added (n bigint PRIMARY KEY);
    CREATE TABLE runs (n bigint, attempt bigint, what text, process text, at timestamptz DEFAULT clock_timestamp());
    CREATE TABLE released (attempt bigint);";

const TOML: &str = "[jobs]\nlease = \"1s\"\nkeep_done_days = 1\n";

/// A database with its tables, and projects for processes.
struct Rig<'a> {
    server: &'a PostgresServer,
    database: String,
    toml: String,
    projects: Vec<Scratch>,
}

impl<'a> Rig<'a> {
    fn new(server: &'a PostgresServer, toml: &str) -> Self {
        let database = server.database();
        server.psql(&database, TABLES);
        Self {
            server,
            database,
            toml: toml.to_owned(),
            projects: Vec::new(),
        }
    }

    /// Starts a process, which has a name in what its jobs write.
    fn start(&mut self, name: &str) -> Process {
        let app = APP.replace("PROCESS", name);
        let scratch = Scratch::new(&[("app.lua", &app), ("sampan.toml", &self.toml)]);
        let file = scratch.file("app.lua");
        let url = self.server.url(&self.database);
        let args = ["run", &file, "--listen", "127.0.0.1:0", "--workers", "1"];
        let process = Process::start(sampan(&args).args(["--db", &url]));
        self.projects.push(scratch);
        process
    }

    fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.database, sql)
    }

    /// Runs `sampan jobs`.
    fn jobs(&self, args: &[&str]) -> (bool, String) {
        let url = self.server.url(&self.database);
        let folder = self.projects.first().expect("a project").path();
        let output = sampan(&["jobs"])
            .args(args)
            .env("SAMPAN_DB_URL", url)
            .current_dir(folder)
            .output();
        let output = output.expect("the command");
        let text = String::from_utf8(output.stdout).expect("text");
        let errors = String::from_utf8(output.stderr).expect("text");
        (output.status.success(), text + &errors)
    }
}

/// A lease that a busy machine does not let end.
fn long_lease() -> String {
    TOML.replace("1s", "1h")
}

#[test]
fn two_processes_share_ten_thousand_jobs() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, &long_lease());
    let (one, other) = (rig.start("one"), rig.start("other"));
    for n in 0..10 {
        let process = if n % 2 == 0 { &one } else { &other };
        ask(process, "POST", &format!("/many/{n}"));
    }
    let counts = all_ended(&one);
    for (name, wanted) in [
        ("ran", 10_000),
        ("runs", 10_000),
        ("done", 10_000),
        ("processes", 2),
    ] {
        assert_eq!(count(&counts, name), wanted, "{name}: {counts}");
    }
    // What one leaves at its end is the other's.
    ask(&one, "POST", "/many/10");
    one.signal("TERM");
    let (status, errors) = one.end();
    assert_eq!(status, Some(0), "{errors}");
    let counts = all_ended(&other);
    assert_eq!(
        count(&counts, "runs"),
        11_000,
        "none begins twice: {counts}"
    );
}

#[test]
fn a_process_that_does_no_jobs_tells_those_that_do() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, &long_lease());
    let _doing = rig.start("doing");
    let listening = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND query = 'LISTEN _sampan_jobs'";
    wait::until("it listens", || rig.psql(listening).trim() == "1");
    rig.toml = format!("{}workers = 0\n", long_lease());
    let adding = rig.start("adding");
    wait::until("all who listen are told", || {
        let heard = thread::scope(|scope| {
            let hears = || rig.psql("LISTEN _sampan_jobs; SELECT pg_sleep(0.3); SELECT 1;");
            let heard = scope.spawn(hears);
            while !heard.is_finished() {
                ask(&adding, "POST", "/later");
            }
            heard.join().expect("its output")
        });
        heard.contains("_sampan_jobs")
    });
    ask(&adding, "POST", "/add/7");
    wait::until("its jobs have run elsewhere", || {
        count(&ask(&adding, "GET", "/counts"), "ran") == 10
    });
}

/// Counts the tables that the first process makes last.
const HAS_TABLES: &str = "SELECT count(*) FROM pg_tables WHERE tablename = '_sampan_job_schema'";

/// Has the server note each end of a job but those of crons.
const NOTE_ENDS: &str = "CREATE TABLE ends (id bigint);
    CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN INSERT INTO ends VALUES (NEW.id); RETURN NULL; END';
    CREATE TRIGGER noted AFTER UPDATE OF state ON _sampan_jobs FOR EACH ROW
      WHEN (NEW.state IN ('done', 'dead', 'cancelled') AND NEW.queue <> 'cron') EXECUTE FUNCTION note_end();";

#[test]
fn kills_under_load_lose_no_job_and_end_none_twice() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, TOML);
    let other = rig.start("other");
    wait::until("the tables", || rig.psql(HAS_TABLES) == "1");
    rig.psql(NOTE_ENDS);
    let mut next = 0;
    for cycle in 0..4 {
        let process = rig.start("killed");
        for _ in 0..10 {
            ask(&process, "POST", &format!("/mixed/{next}"));
            ask(&process, "POST", &format!("/add/{}", next + 1));
            ask(&process, "POST", &format!("/batch/{}", next + 2));
            next += 3;
        }
        if cycle == 1 {
            ask(&process, "POST", "/cancel");
        }
        if cycle % 2 == 0 {
            let so_far = count(&ask(&process, "GET", "/counts"), "done");
            wait::until("another end", || {
                let counts = ask(&process, "GET", "/counts");
                count(&counts, "done") > so_far || count(&counts, "left") == 0
            });
        }
        process.signal("KILL");
        process.end();
    }
    ask(&other, "POST", "/cancel");
    assert_whole(&other, next * 10, next / 3);
    let ends = ask(&other, "GET", "/ends");
    let jobs = count(&ends, "jobs");
    assert_eq!(jobs, next * 10 + next, "{ends}");
    for name in ["ends", "ended"] {
        assert_eq!(count(&ends, name), jobs, "one end for each job: {ends}");
    }
}

/// Waits until no job is left, and asserts that each that was added has ended once.
fn assert_whole(process: &Process, jobs: u64, batches: u64) {
    let counts = all_ended(process);
    let added = count(&counts, "added");
    assert!(added >= jobs, "what was acknowledged is there: {counts}");
    assert_eq!(count(&counts, "ran"), added, "none is lost: {counts}");
    assert_eq!(count(&counts, "done"), added, "each ends once: {counts}");
    let reports = ask(process, "GET", "/reports");
    let ran = count(&reports, "ran");
    assert!(ran >= batches, "one for each batch: {reports}");
    assert_eq!(count(&reports, "reports"), ran, "{reports}");
    assert_eq!(count(&reports, "left"), 0, "{reports}");
}

#[test]
fn a_process_that_does_not_declare_a_job_leaves_its_attempts_to_one_that_does() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, TOML);
    let _process = rig.start("one");
    wait::until("the tables", || rig.psql(HAS_TABLES) == "1");
    // Their processes died an hour and 25 hours ago.
    rig.psql(
        "INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, attempt, token, lease)
        SELECT id, name, 'default', '1', 'running', 0, 0, 0, 1, 1,
          (extract(epoch FROM now()) * 1000)::bigint - hours * 3600000
        FROM (VALUES (1, 'new', 1), (2, 'new', 25), (3, 'count', 1)) AS v(id, name, hours)",
    );
    let states = "SELECT string_agg(id || ' ' || state, ', ' ORDER BY id) FROM _sampan_jobs WHERE queue = 'default'";
    wait::until("the others are taken", || {
        rig.psql(states).trim() == "1 running, 2 scheduled, 3 done"
    });
}

#[test]
fn the_job_that_follows_a_batch_starts_at_its_end() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, &long_lease());
    let process = rig.start("one");
    // The keeper looks at the table each 500 ms. A machine that is busy makes some late, so the quickest counts.
    let waits = (0..20).map(|n| {
        ask(&process, "POST", &format!("/one/{n}"));
        let wait = format!(
            "SELECT (extract(epoch FROM max(at) - min(at)) * 1000)::bigint FROM runs
            WHERE n = {n} HAVING count(*) = 2"
        );
        wait::found("the job that follows", || {
            rig.psql(&wait).trim().parse::<u64>().ok()
        })
    });
    let mut seen = Vec::new();
    let is_quick = waits
        .inspect(|millis| seen.push(*millis))
        .any(|millis| millis < 250);
    assert!(is_quick, "{seen:?} ms");
}

#[test]
fn a_server_killed_under_load_loses_no_job() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    let mut rig = Rig::new(&server, &long_lease());
    let mut one = rig.start("one");
    let other = rig.start("other");
    let log = one.read_errors();
    let (mut next, mut jobs, mut batches) = (0, 0, 0);
    for cycle in 1..=3 {
        for _ in 0..15 {
            ask(&one, "POST", &format!("/add/{next}"));
            ask(&other, "POST", &format!("/batch/{}", next + 1));
            (next, jobs, batches) = (next + 2, jobs + 20, batches + 1);
        }
        server.kill();
        log.until_times("trying again until it succeeds", cycle);
        server.resume();
        log.until_times("jobs: the database takes jobs again", cycle);
    }
    assert_whole(&one, jobs, batches);
}

#[test]
fn a_job_of_a_transaction_exists_with_it() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, TOML);
    let process = rig.start("one");
    ask(&process, "POST", "/transaction/7");
    let mut client = process.client();
    let request = "POST /transaction/7 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    client.send(request.as_bytes()).expect("sent");
    let answer = client.read(false).expect("an answer");
    assert_eq!(answer.status, 500, "a row that is there already");
    let counts = all_ended(&process);
    assert_eq!(count(&counts, "runs"), 1, "{counts}");
}

#[test]
fn an_attempt_that_was_believed_dead_cannot_end_its_job() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, &TOML.replace("1s", "3s"));
    let mut one = rig.start("one");
    let log = one.read_errors();
    ask(&one, "POST", "/held");
    wait::until("the first attempt", || {
        ask(&one, "GET", "/begun/1").contains('1')
    });
    one.signal("STOP");
    let other = rig.start("other");
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

/// The server's clock as the statements of jobs see it: the real one and a shift.
const CLOCK: &str = "CREATE TABLE shift (hours integer);
    INSERT INTO shift VALUES (0);
    CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
      'SELECT pg_catalog.statement_timestamp() + (SELECT hours FROM public.shift) * interval ''1 hour''';
    DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
    END $$;";

#[test]
fn a_cron_runs_once_for_each_time_of_the_server() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, &long_lease());
    rig.psql(CLOCK);
    let _processes = [rig.start("one"), rig.start("two"), rig.start("three")];
    wait::until("the first time", || {
        rig.psql("SELECT count(*) FROM _sampan_cron_times") == "1"
    });
    for hour in 1..=4 {
        rig.psql(&format!("UPDATE shift SET hours = {hour}"));
        // A time that was more than a minute ago when its cron was looked at is made up for by the next.
        let ran = format!("SELECT count(*) >= {hour} FROM runs WHERE what = 'hour'");
        wait::until("a run", || rig.psql(&ran) == "t");
    }
    let twice = "SELECT n, count(*) FROM runs WHERE what = 'hour' GROUP BY n HAVING count(*) > 1";
    assert_eq!(rig.psql(twice), "");
}

#[test]
fn the_command_shows_and_changes_jobs() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, TOML);
    rig.projects.push(Scratch::new(&[(
        "app.lua",
        "local app = require 'sampan'\n",
    )]));
    assert_eq!(rig.jobs(&[]), (true, "no jobs\n".to_owned()));
    let process = rig.start("one");
    let id = |path: &str| {
        let answer: Value = serde_json::from_str(&ask(&process, "POST", path)).expect("JSON");
        answer["id"].as_i64().expect("a number").to_string()
    };
    let (broken, later) = (id("/broken"), id("/later"));
    let state = |id: &str| {
        let (_, text) = rig.jobs(&["show", id, "--json"]);
        serde_json::from_str::<Value>(&text).unwrap_or(Value::Null)
    };
    wait::until("the end", || state(&broken)["state"] == "dead");
    wait::until("the cron", || rig.jobs(&[]).1.contains("cron hourly"));
    let (is_fine, text) = rig.jobs(&[]);
    assert!(is_fine, "{text}");
    for part in ["default: 1 dead", "default: 1 scheduled", "no way"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text) = rig.jobs(&["list", "--state", "dead", "--json"]);
    let list: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(list["jobs"][0]["args"], "way", "{text}");
    let (_, text) = rig.jobs(&["retry", &later, &broken]);
    assert_eq!(text, "2 jobs are retried\n");
    wait::until("its end", || state(&later)["state"] == "done");
    wait::until("another attempt", || {
        let broken = state(&broken);
        broken["state"] == "dead" && broken["errors"].as_array().map(Vec::len) == Some(2)
    });
    let later = id("/later");
    let (_, text) = rig.jobs(&["cancel", &later, "--json"]);
    assert_eq!(text, "{\"cancelled\":1}\n");
    let (is_fine, text) = rig.jobs(&["cancel", &later]);
    assert!(!is_fine && text.contains("is cancelled already"), "{text}");
    let (_, text) = rig.jobs(&["prune", "--days", "1"]);
    assert_eq!(text, "0 jobs are removed\n");
    let (_, text) = rig.jobs(&["prune", "--all"]);
    // At a full hour the cron has left a job too.
    let removed = ["3 jobs are removed\n", "4 jobs are removed\n"];
    assert!(removed.contains(&text.as_str()), "{text}");
}

/// Jobs by their states, and for how many hours they have ended. More of them are old than one transaction removes.
const ENDED: &str = "INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, ended)
    SELECT id, 'count', 'default', '1', state, 0, 99999999999999, 0,
      (extract(epoch FROM now()) * 1000)::bigint - hours * 3600000
    FROM (VALUES (1, 'done', 23), (2, 'done', 25), (3, 'dead', 71), (4, 'dead', 73), (5, 'cancelled', 71),
      (6, 'cancelled', 73), (7, 'scheduled', NULL)) AS jobs(id, state, hours)
    UNION ALL SELECT i, 'count', 'default', '1', 'done', 0, 0, 0,
      (extract(epoch FROM now()) * 1000)::bigint - 25 * 3600000 FROM generate_series(1000, 3499) AS i";

#[test]
fn ended_jobs_are_removed_after_their_days() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, &format!("{TOML}keep_days = 3\n"));
    let _first = rig.start("first");
    wait::until("the tables", || rig.psql(HAS_TABLES) == "1");
    rig.psql(ENDED);
    // A process removes old jobs when it starts, and from time to time.
    let _second = rig.start("second");
    let left =
        "SELECT string_agg(id::text, ' ' ORDER BY id) FROM _sampan_jobs WHERE name = 'count'";
    wait::until("the young ones alone are left", || {
        rig.psql(left) == "1 3 5 7"
    });
}

#[test]
fn a_job_that_is_retried_has_its_unique_key_again() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let mut rig = Rig::new(&server, TOML);
    let process = rig.start("one");
    let added = || {
        let answer: Value = serde_json::from_str(&ask(&process, "POST", "/unique")).expect("JSON");
        answer["id"].as_i64().expect("a number").to_string()
    };
    let first = added();
    assert_eq!(added(), first);
    assert!(rig.jobs(&["cancel", &first]).0);
    let second = added();
    assert_ne!(second, first);
    let (is_fine, text) = rig.jobs(&["retry", &first]);
    let reason = |job: &str, other: &str| {
        format!("job {job} stays as it is: job {other} has the same unique key and has not ended")
    };
    assert!(!is_fine && text.contains("0 jobs are retried"), "{text}");
    assert!(text.contains(&reason(&first, &second)), "{text}");
    assert!(rig.jobs(&["cancel", &second]).0);
    // One of both runs.
    let (is_fine, text) = rig.jobs(&["retry", &second, &first]);
    assert!(!is_fine && text.contains("1 job is retried"), "{text}");
    assert!(text.contains(&reason(&second, &first)), "{text}");
    assert_eq!(added(), first);
    ask(&process, "POST", "/release/1");
    let state = format!("SELECT state FROM _sampan_jobs WHERE id = {first}");
    wait::until("its end", || rig.psql(&state) == "done");
    let (is_fine, text) = rig.jobs(&["retry", &first]);
    assert!(is_fine && text == "1 job is retried\n", "{text}");
    wait::until("its end", || rig.psql(&state) == "done");
    assert_ne!(added(), first);
}
