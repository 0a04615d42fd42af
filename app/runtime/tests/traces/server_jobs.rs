//! The traces of jobs that lie in a database on a server. Without PostgreSQL these tests are skipped.

use crate::support::{Collector, Traced, both, start_for};
use sampan_client::postgres::PostgresServer;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

const LUA: &str = r#"
local app = require "sampan"
app.job("count", function() app.db.query("SELECT 1") end)
app.get("/job", function() app.enqueue("count", {}) return "added" end)
app.get("/batch", function() app.db.batch(function() app.enqueue("count", {}) end) return "added" end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";
app.job("count", async () => { await db.query("SELECT 1"); });
app.get("/job", async () => { await app.enqueue("count", {}); return "added"; });
app.get("/batch", async () => { await db.batch(() => { app.enqueue("count", {}); }); return "added"; });
"#;

/// The tables as the release before had them.
const BEFORE: &str = "ALTER TABLE _sampan_jobs DROP COLUMN trace; DROP TABLE _sampan_job_starts;
    UPDATE _sampan_job_schema SET version = 1";

/// Held by a test while it has servers: PostgreSQL has too few connections for those of all.
static TURN: Mutex<()> = Mutex::new(());

/// A database, and the collector of its servers.
struct Rig<'a> {
    _turn: MutexGuard<'static, ()>,
    server: &'a PostgresServer,
    database: String,
    collector: Collector,
}

impl<'a> Rig<'a> {
    fn new(server: &'a PostgresServer) -> Self {
        Self {
            _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner),
            server,
            database: server.database(),
            collector: Collector::start(),
        }
    }

    /// Starts a server that does so many jobs at a time.
    fn start(&self, app: (&str, &str), jobs: usize) -> Traced {
        let url = self.server.url(&self.database);
        let keys = format!("[db]\nurl = {url:?}\n[jobs]\nworkers = {jobs}");
        start_for(self.collector.clone(), app, &keys)
    }

    /// Starts so many servers at the same time.
    fn start_at_once(&self, app: (&str, &str), count: usize) -> Vec<Traced> {
        thread::scope(|scope| {
            let starting = (0..count).map(|_| scope.spawn(|| self.start(app, 1)));
            let starting: Vec<_> = starting.collect();
            let started = starting.into_iter().map(|one| one.join());
            started.map(|one| one.expect("it starts")).collect()
        })
    }
}

#[test]
fn processes_that_start_at_once_on_an_empty_database_make_the_tables_once() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for app in both(LUA, JS) {
        let rig = Rig::new(&server);
        for running in rig.start_at_once(app, 4) {
            assert_eq!(running.ask("/job", &[]).text(), "added", "{}", app.0);
            assert!(running.server.shutdown(), "it ends in time");
        }
    }
}

#[test]
fn a_job_continues_the_trace_in_another_process_after_a_restart() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for app in both(LUA, JS) {
        for path in ["/job", "/batch"] {
            let rig = Rig::new(&server);
            let adding = rig.start(app, 0);
            assert_eq!(adding.ask(path, &[]).text(), "added", "{} {path}", app.0);
            let root = rig.collector.span(&format!("GET {path}"));
            assert!(adding.server.shutdown(), "it ends in time");
            let doing = rig.start(app, 1);
            let job = rig.collector.span("job count");
            assert_eq!(
                job.text("traceId"),
                root.text("traceId"),
                "{} {path}",
                app.0
            );
            let spans = rig.collector.spans();
            let is_around = |id: &str| spans.iter().any(|span| span.text("spanId") == id);
            assert!(is_around(job.text("parentSpanId")), "{spans:#?}");
            assert!(doing.server.shutdown(), "it ends in time");
        }
    }
}

#[test]
fn tables_of_the_release_before_are_taken_over_by_processes_that_start_at_once() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let app = both(LUA, JS)[0];
    let rig = Rig::new(&server);
    assert!(rig.start(app, 0).server.shutdown(), "it ends in time");
    let psql = |sql: &str| rig.server.psql(&rig.database, sql);
    psql(BEFORE);
    // As a process of that release adds it.
    psql(
        "INSERT INTO _sampan_jobs(name, queue, args, state, priority, due, added)
         VALUES ('count', 'default', '{}', 'ready', 0, 0, 0)",
    );
    let started = rig.start_at_once(app, 4);
    assert_eq!(psql("SELECT version FROM _sampan_job_schema"), "3");
    let before = rig.collector.span("job count");
    assert_eq!(started[0].ask("/job", &[]).text(), "added");
    let root = rig.collector.span("GET /job");
    assert_ne!(before.text("traceId"), root.text("traceId"));
    sampan_client::wait::until("the job continues the trace of its request", || {
        let spans = rig.collector.spans();
        let mut jobs = spans.iter().filter(|span| span.name() == "job count");
        jobs.any(|job| job.text("traceId") == root.text("traceId"))
    });
    for running in started {
        assert!(running.server.shutdown(), "it ends in time");
    }
}
