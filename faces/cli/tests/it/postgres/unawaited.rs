//! Statements that a script in JavaScript does not await.

use super::serving::{project, serve};
use crate::support::Process;
use sampan_client::postgres::PostgresServer;
use sampan_testkit::wait;

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

/// No error tells of these: a promise is true.
const TRUTH: &str = r#"
import { app, db } from "sampan";
const find = () => db.one("SELECT 1 AS n WHERE false");
app.get("/one", () => { const row = db.one("SELECT 1 AS n WHERE false"); return row ? "there" : "none"; });
app.get("/find", () => { if (!find()) return "none"; return "there"; });
app.get("/right", async () => (await find()) ? "there" : "none");
"#;

#[test]
fn a_server_that_starts_warns_of_them() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let warnings = |source: &str, url: Option<&str>| -> Vec<String> {
        let scratch = project("app.js", source);
        let in_file = scratch.file("data.db");
        let database = url.unwrap_or(&in_file);
        let log = scratch.path().join("log");
        let file = std::fs::File::create(&log).expect("a file");
        let mut command = serve(&scratch.file("app.js"), database);
        let mut server = command.stderr(file).spawn().expect("it starts");
        let read = || std::fs::read_to_string(&log).expect("UTF-8");
        wait::until("it listens", || read().contains("listening on "));
        server.kill().expect("killed");
        server.wait().expect("its end");
        let errors = read();
        let lines = errors.lines().filter(|line| line.contains(" WARN "));
        lines.map(str::to_owned).collect()
    };
    let url = server.url(&server.database());
    let told = warnings(TRUTH, Some(&url));
    let expected = [
        "app.js:4: db.one gives a promise on PostgreSQL, which nothing awaits: write await db.one(...)",
        "app.js:5: find gives a promise on PostgreSQL, which nothing awaits: write await find(...)",
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{told}");
    }
    let routes = (0..25).map(|at| format!("app.get('/{at}', () => {{ db.exec('SELECT 1'); }});"));
    let routes: Vec<String> = routes.collect();
    let many = format!("import {{ app, db }} from 'sampan';\n{}", routes.join("\n"));
    let told = warnings(&many, Some(&url));
    assert_eq!(told.len(), 21, "{told:?}");
    assert!(told[20].contains("5 more calls of db are not awaited: sampan check lists them"));
    let none: [String; 0] = [];
    assert_eq!(warnings(TRUTH, None), none, "on a file of SQLite");
}
