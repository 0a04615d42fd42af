//! The connections of a process: how many there are, and those of a pooler in transaction mode.

use super::each_app;
use super::serving::{project, serve};
use crate::support::Process;
use sampan_client::postgres::{Pooler, PostgresServer};
use std::thread;

/// Each request keeps a connection while others want one, and leaves its number.
const LUA: &str = r#"
local app = require "sampan"
local db = app.db

app.post("/notes", function()
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes (title) VALUES (CAST(pg_backend_pid() AS text))")
    tx:query("SELECT pg_sleep(0.02)")
  end)
  return #db.query("SELECT id FROM notes WHERE title <> ?", { "none" })
end)
app.post("/session", function(req)
  req.session.n = (req.session.n or 0) + 1
  return app.lock("one", function() return tostring(req.session.n) end)
end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";

app.post("/notes", async () => {
  await db.transaction(async (tx) => {
    await tx.exec("INSERT INTO notes (title) VALUES (CAST(pg_backend_pid() AS text))");
    await tx.query("SELECT pg_sleep(0.02)");
  });
  return (await db.query("SELECT id FROM notes WHERE title <> ?", ["none"])).length;
});
app.post("/session", async (req) => {
  req.session.n = (req.session.n ?? 0) + 1;
  return app.lock("one", async () => String(req.session.n));
});
"#;

fn post(process: &Process, path: &str) -> u16 {
    let mut client = process.client();
    client.ask("POST", path, &[], "").expect("an answer").status
}

/// Asks so often at the same time, and returns the statuses that were not 200.
fn ask_at_once(process: &Process, path: &str, times: usize) -> Vec<u16> {
    let statuses = thread::scope(|scope| {
        let asked: Vec<_> = (0..times)
            .map(|_| scope.spawn(|| post(process, path)))
            .collect();
        let answered = asked.into_iter().map(|one| one.join().expect("an answer"));
        answered.collect::<Vec<u16>>()
    });
    statuses
        .into_iter()
        .filter(|&status| status != 200)
        .collect()
}

#[test]
fn a_process_opens_no_more_connections_than_it_may() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let database = server.database();
        let mut command = serve(&scratch.file(file), &server.url(&database));
        let process = Process::start(command.args(["--set", "db.connections_max=2"]));
        let refused = ask_at_once(&process, "/notes", 12);
        if !refused.is_empty() {
            process.signal("TERM");
            panic!("{file}: {refused:?}\n{}", process.end().1);
        }
        assert_eq!(server.psql(&database, "SELECT count(*) FROM notes"), "12");
        let open = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND application_name = 'sampan'"
        );
        // That of the messages of topics is beside them.
        let open: usize = server.psql("postgres", &open).parse().expect("a number");
        assert!(open <= 3, "{file}: {open}");
    }
}

#[test]
fn an_app_runs_behind_a_pooler_in_transaction_mode() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let Some(pooler) = Pooler::before(&server) else {
        return;
    };
    for (file, source) in [("app.lua", LUA), ("app.js", JS)] {
        let scratch = project(file, source);
        let database = server.database();
        let mut command = serve(&scratch.file(file), &pooler.url(&server, &database));
        let process = Process::start(command.args(["--set", "db.prepared_statements=false"]));
        for _ in 0..3 {
            let mut refused = ask_at_once(&process, "/notes", 8);
            refused.extend(ask_at_once(&process, "/session", 8));
            if !refused.is_empty() {
                process.signal("TERM");
                panic!("{file}: {refused:?}\n{}", process.end().1);
            }
        }
        assert_eq!(server.psql(&database, "SELECT count(*) FROM notes"), "24");
        let sessions = "SELECT count(*) FROM _sampan_sessions";
        assert_eq!(server.psql(&database, sessions), "24", "{file}");
    }
}
