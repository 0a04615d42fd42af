//! Changes of which it is not known whether they are there, because the database went before it answered.

use super::serving::{project, serve};
use crate::support::Process;
use sampan_client::postgres::PostgresServer;
use sampan_testkit::{Answer, wait};
use std::thread;

const LUA: &str = r#"
local app = require "sampan"
local db = app.db
app.post("/slow", function() return db.one("SELECT slow_add('a') AS id") end)
-- In Lua each statement is waited for.
app.post("/forgotten", function() return db.one("SELECT slow_add('c') AS id") end)
app.post("/handled", function()
  local ok, err = pcall(db.one, "SELECT slow_add('b') AS id")
  return tostring(ok) .. " " .. tostring(err.code)
end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";
app.post("/slow", async () => await db.one("SELECT slow_add('a') AS id"));
app.post("/forgotten", () => {
  void db.one("SELECT slow_add('c') AS id");
  return "done";
});
app.post("/handled", async () => {
  try {
    await db.one("SELECT slow_add('b') AS id");
    return "true";
  } catch (error) {
    return `false ${error.code}`;
  }
});
"#;

const SLOW_ADD: &str =
    "CREATE FUNCTION slow_add(title text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_sleep(60);
    INSERT INTO notes (title) VALUES (title);
    RETURN 1;
END $$";

#[test]
fn the_client_is_told_that_a_change_may_be_there() {
    for (file, source) in [("app.lua", LUA), ("app.js", JS)] {
        let Some(server) = PostgresServer::start() else {
            return;
        };
        let scratch = project(file, source);
        let migration = scratch.path().join("migrations/0002_add.postgres.sql");
        std::fs::write(migration, SLOW_ADD).expect("a file");
        let database = server.database();
        let url = server.url(&database);
        let process = Process::start(&mut serve(&scratch.file(file), &url));
        let asked = [
            ("/slow", "*/*"),
            ("/slow", "text/html"),
            ("/handled", "*/*"),
            ("/forgotten", "*/*"),
        ];
        // One after the other: statements of several requests may wait for each other on one connection.
        let answers = asked.map(|(path, accept)| {
            let mut client = process.client();
            let asking = thread::spawn(move || {
                let accept = format!("Accept: {accept}");
                client.ask("POST", path, &[&accept], "").expect("an answer")
            });
            let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            wait::until("the statement", || server.psql(&database, sleeping) == "1");
            server.kill();
            let answer: Answer = asking.join().expect("an answer");
            server.resume();
            answer
        });
        let [json, page, handled, forgotten] = &answers[..] else {
            panic!("four answers");
        };
        let statuses = (json.status, page.status, forgotten.status);
        assert_eq!(statuses, (500, 500, 500), "{file}");
        let told =
            r#"{"error":"the change may or may not have been saved","code":"commit_unknown"}"#;
        assert_eq!(json.text(), told, "{file}");
        assert_eq!(forgotten.text(), told, "{file}");
        assert_eq!(page.header("content-type"), ["text/html; charset=utf-8"]);
        let told = "<p>the change may or may not have been saved</p>";
        assert!(page.text().contains(told), "{file}: {}", page.text());
        assert_eq!(handled.text(), "false commit_unknown", "{file}");
    }
}
