//! The plans of PostgreSQL for the statements on the table of jobs. Without PostgreSQL this test is skipped.

use crate::commands::command::sampan;
use crate::support::{Process, Scratch};
use sampan_client::postgres::PostgresServer;
use sampan_jobs::POSTGRES_STATEMENTS;

const APP: &str = "local app = require 'sampan'\napp.job('count', function() end)\n";

/// Adds jobs to the table, as many for each state.
const ADD: &str = "INSERT INTO _sampan_jobs(name, queue, args, state, priority, due, added, unique_key, ended, lease)
    SELECT 'count', 'large', '1', s, 0, i, 0, i || s, CASE WHEN s IN ('done', 'dead') THEN i END,
      CASE s WHEN 'running' THEN i END
    FROM generate_series(1, 20000) i, unnest(ARRAY['ready', 'scheduled', 'running', 'done', 'dead']) s;
    ANALYZE _sampan_jobs;";

/// Returns the statement with numbers for its parameters, and how many these are.
fn numbered(sql: &str) -> (String, usize) {
    if let Some(most) = (1..10).rev().find(|at| sql.contains(&format!("${at}"))) {
        return (sql.to_owned(), most);
    }
    let mut parts = sql.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut count = 0;
    for part in parts {
        count += 1;
        text += &format!("${count}{part}");
    }
    (text, count)
}

#[test]
fn no_statement_on_postgresql_looks_at_all_jobs() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let (file, database) = (scratch.file("app.lua"), server.database());
    let url = server.url(&database);
    // A process that starts makes the tables.
    let args = ["run", &file, "--listen", "127.0.0.1:0", "--workers", "1"];
    let process = Process::start(sampan(&args).args(["--db", &url]));
    process.signal("KILL");
    process.end();
    server.psql(&database, ADD);
    for sql in POSTGRES_STATEMENTS {
        let (sql, count) = numbered(sql);
        let nothing = vec!["NULL"; count].join(", ");
        let explain = format!(
            "SET plan_cache_mode = force_generic_plan; PREPARE s AS {sql}; EXPLAIN EXECUTE s({nothing});"
        );
        let plan = server.psql(&database, &explain);
        assert!(!plan.contains("Seq Scan on _sampan_jobs"), "{sql}: {plan}");
    }
}
