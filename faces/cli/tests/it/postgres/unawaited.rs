//! Statements that a script in JavaScript does not await.

use super::serving::{project, serve};
use crate::support::Process;
use sampan_client::postgres::PostgresServer;

const JS: &str = r#"
import { app, db } from "sampan";
app.post("/query", () => { db.query("SELECT slow_add('query')"); return "ok"; });
app.post("/one", () => { db.one("SELECT slow_add('one') AS id"); return "ok"; });
app.post("/sql", () => { db.sql`SELECT slow_add(${"sql"})`; return "ok"; });
app.post("/async", () => { db.queryAsync("SELECT slow_add('async')"); return "ok"; });
"#;

const SLOW_ADD: &str =
    "CREATE FUNCTION slow_add(title text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_sleep(0.3);
    INSERT INTO notes (title) VALUES (title);
    RETURN 1;
END $$";

#[test]
fn the_answer_waits_for_a_function_that_writes() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.js", JS);
    std::fs::write(
        scratch
            .path()
            .join("migrations")
            .join("0002_add.postgres.sql"),
        SLOW_ADD,
    )
    .expect("a file");
    let database = server.database();
    let process = Process::start(&mut serve(&scratch.file("app.js"), &server.url(&database)));
    let mut client = process.client();
    for way in ["query", "one", "sql", "async"] {
        let answer = client
            .ask("POST", &format!("/{way}"), &[], "")
            .expect("an answer");
        assert_eq!(
            (answer.status, answer.text()),
            (200, "ok".to_owned()),
            "{way}"
        );
        let last = "SELECT title FROM notes ORDER BY id DESC LIMIT 1";
        assert_eq!(server.psql(&database, last), way);
    }
}
