//! A queue with very many jobs: 20,000, or as many as `SAMPAN_JOBS` says.

use super::{alone, ask, database, start};
use sampan_client::wait;
use sampan_db::{DatabaseConfig, Db};
use sampan_host::{Cell, Value};
use sampan_jobs::console::JobsConsole;
use sampan_jobs::{JobFilter, SERVER_STATEMENTS};
use sampan_runtime::with_tables;
use std::rc::Rc;
use std::time::Instant;

const APP: &str = r#"
local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS runs (n INTEGER)") end)
app.job("first", function() end)
app.job("one", { queue = "large" }, function(n) db.exec("INSERT INTO runs VALUES (?)", { n }) end)
app.job("small", { queue = "small" }, function(n) db.exec("INSERT INTO runs VALUES (?)", { n }) end)
app.post("/first", function() app.enqueue("first") end)
app.post("/small/:n", function(req) app.enqueue("small", tonumber(req.params.n)) end)
app.get("/runs", function() return app.text(("%d"):format(db.one("SELECT count(*) AS n FROM runs").n)) end)
app.get("/left", function()
  return app.text(("%d"):format(db.one("SELECT count(*) AS n FROM _sampan_jobs").n))
end)
"#;

/// Adds jobs to the table, as many for each state.
const ADD: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, ended)
    SELECT i, 'one', 'large', i, 'ready', 0, 0, 0, NULL FROM n
    UNION ALL SELECT i + 100000000, 'one', 'large', i, 'scheduled', 0, 99999999999999, 0, NULL FROM n
    UNION ALL SELECT i + 200000000, 'one', 'large', i, 'dead', 0, 0, 0, i FROM n";

/// Returns the number of jobs of each state.
fn jobs_max() -> u64 {
    let wanted = std::env::var("SAMPAN_JOBS").ok();
    wanted.map_or(20_000, |text| text.parse().expect("a number"))
}

/// Begins to measure the most memory that this process has in use (proc_pid_clear_refs(5)). Returns what it has now, in
/// KiB.
fn begin_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").expect("a process");
    peak_kib()
}

/// Returns the most memory that this process had in use since then, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let digits = line.expect("a line").trim().trim_end_matches(" kB");
    digits.parse().expect("a number")
}

/// Returns the result of what does not wait on SQLite.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(work)
}

/// Asserts that a statement does not look at all jobs.
fn assert_reads_indexes(db: &Db, sql: &str) {
    let params = Value::List(sql.matches('?').map(|_| Value::Null).collect());
    let plan = db.own_read(&format!("EXPLAIN QUERY PLAN {sql}"), &params);
    let plan = plan.expect("a plan").expect("a table");
    for at in 0..plan.len() {
        let Cell::Text(step) = plan.cell(at, 3) else {
            panic!("{sql}: no text");
        };
        assert!(!step.starts_with("SCAN _sampan_jobs"), "{sql}: {step}");
    }
}

#[test]
fn a_queue_with_very_many_jobs_is_as_quick_as_a_short_one() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let sections =
        "[jobs]\nkeep_days = 36500\nqueues = [\"large 100\", \"default 10 1000000/h\"]\n";
    let running = start(folder.path(), APP, sections);
    // With a rate, so that the table of starts is there.
    ask(&running, "POST", "/first");
    wait::until("the first", || ask(&running, "GET", "/left") == "0");
    assert!(running.shutdown());
    let (db, count) = (database(folder.path()), jobs_max());
    let params = Value::List(vec![Value::Int(count as i64)]);
    let begun = Instant::now();
    let added = db.own_write(ADD, &params).expect("written");
    assert_eq!(added, Some(3 * count as i64));
    db.finish_loading().expect("committed");
    eprintln!("{} jobs added in {:?}", 3 * count, begun.elapsed());

    for sql in SERVER_STATEMENTS {
        assert_reads_indexes(&db, sql);
    }

    // People look at them, and remove those that have ended.
    let (console, begun) = (JobsConsole(Rc::new(db.clone())), Instant::now());
    let counts = at_once(console.counts()).expect("counted");
    let of = |state: &str| ("large".to_owned(), state.to_owned(), count as i64);
    assert_eq!(counts, ["dead", "ready", "scheduled"].map(of));
    eprintln!("counted in {:?}", begun.elapsed());
    for (state, first) in [
        (None, 200_000_000 + count),
        (Some("ready"), 1),
        (Some("scheduled"), 100_000_001),
        (Some("dead"), 200_000_000 + count),
    ] {
        let begun = Instant::now();
        let filter = JobFilter {
            state: state.map(str::to_owned),
            count_max: 20,
            ..JobFilter::default()
        };
        let list = at_once(console.list(&filter)).expect("listed");
        assert_eq!((list.len(), list[0].id), (20, first as i64), "{state:?}");
        eprintln!("listed {state:?} in {:?}", begun.elapsed());
    }
    drop(console);
    drop(db);

    // While it is long, others start at once, and it gets shorter.
    let before = begin_peak();
    let running = start(folder.path(), APP, sections);
    let begun = Instant::now();
    for n in 1..=20 {
        ask(&running, "POST", &format!("/small/{}", 1_000_000_000 + n));
    }
    let runs = || {
        ask(&running, "GET", "/runs")
            .parse::<u64>()
            .expect("a number")
    };
    let wanted = count.min(2_000);
    wait::until("many runs", || runs() >= wanted);
    eprintln!("{} runs in {:?}", runs(), begun.elapsed());
    let grown = peak_kib().saturating_sub(before);
    eprintln!("{grown} KiB more memory at most");
    assert!(grown < 64 * 1024, "{grown} KiB");
    assert!(running.shutdown());
    let db = database(folder.path());
    let done = db.own_read(
        "SELECT count(*), count(DISTINCT n) FROM runs WHERE n > 0",
        &Value::Null,
    );
    let done = done.expect("read").expect("a table");
    assert_eq!(done.cell(0, 0), done.cell(0, 1), "none has run twice");
    drop(db);

    let (begun, before) = (Instant::now(), begin_peak());
    let config = DatabaseConfig::new(folder.path().join("data.db"));
    let pruned = with_tables(&config, |tables| {
        Box::pin(async move { JobsConsole(tables).prune(0).await })
    });
    assert_eq!(pruned, Ok(count as i64));
    let grown = peak_kib().saturating_sub(before);
    eprintln!(
        "{count} jobs removed in {:?}, with {grown} KiB more memory at most",
        begun.elapsed()
    );
    assert!(grown < 64 * 1024, "{grown} KiB");
}
