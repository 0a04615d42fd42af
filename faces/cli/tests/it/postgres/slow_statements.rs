//! Metrics of statements that take long on PostgreSQL.

use super::each_app;
use super::serving::serve;
use crate::support::{Process, Scratch, ask};

const LUA: &str = r#"
local app = require "sampan"
app.get("/slow", function()
  app.db.query("SELECT 'secret' FROM pg_sleep(?)", { 0.05 })
  return "slept"
end)
app.get("/inside", function()
  app.db.transaction(function(tx) tx:query("SELECT 2 FROM pg_sleep(0.05)") end)
  return "slept"
end)
local function two(run)
  run "SELECT FROM pg_sleep(0.05)"
  run "SELECT 'secret', 3"
end
app.get("/batch", function()
  app.db.batch(function() two(app.db.exec) end)
  app.db.transaction(function(tx)
    tx:batch(function() two(function(sql) tx:exec(sql) end) end)
    tx:batch(function() tx:exec("SELECT 4 FROM pg_sleep(0.05)") end)
  end)
  return "slept"
end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";
app.get("/slow", async () => {
  await db.query("SELECT 'secret' FROM pg_sleep(?)", [0.05]);
  return "slept";
});
app.get("/inside", async () => {
  await db.transaction(async (tx) => { await tx.query("SELECT 2 FROM pg_sleep(0.05)"); });
  return "slept";
});
const two = (run) => {
  run("SELECT FROM pg_sleep(0.05)");
  run("SELECT 'secret', 3");
};
app.get("/batch", async () => {
  await db.batch(() => two((sql) => db.exec(sql)));
  await db.transaction(async (tx) => {
    await tx.batch(() => two((sql) => tx.exec(sql)));
    await tx.batch(() => { tx.exec("SELECT 4 FROM pg_sleep(0.05)"); });
  });
  return "slept";
});
"#;

fn alone(file: &str, source: &str) -> Scratch {
    Scratch::new(&[(file, source)])
}

#[test]
fn slow_statements_are_listed_without_their_values() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], alone) {
        let url = server.url(&server.database());
        let process = Process::start(&mut serve(&scratch.file(file), &url));
        for path in ["/slow", "/slow", "/inside", "/batch"] {
            ask(&process, "GET", path);
        }
        let metrics = ask(&process, "GET", "/_sampan/metrics");
        for (statement, count) in [
            ("SELECT ? FROM pg_sleep(?)", 4),
            ("BATCH SELECT FROM pg_sleep(?); SELECT ?, ?", 2),
        ] {
            let labels = format!("{{statement=\"{statement}\"}}");
            let line = format!("sampan_slow_statements_total{labels} {count}\n");
            assert!(metrics.contains(&line), "{file}: {metrics}");
        }
        assert!(!metrics.contains("secret"), "{file}: {metrics}");
    }
}
