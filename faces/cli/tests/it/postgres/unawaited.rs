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

const FAILING: &str = r#"
import { app, db } from "sampan";
app.post("/later", async () => {
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO nope VALUES (1)");
    await tx.exec("INSERT INTO notes (title) VALUES ('a')");
  });
});
app.post("/whole", () => {
  db.transaction(async (tx) => { await tx.exec("INSERT INTO nope VALUES (1)"); });
  return "ok";
});
"#;

#[test]
fn the_log_names_the_statement_that_failed() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.js", FAILING);
    let url = server.url(&server.database());
    let mut process = Process::start(&mut serve(&scratch.file("app.js"), &url));
    let log = process.read_errors();
    let mut client = process.client();
    const CAUSE: &str =
        "relation \"nope\" does not exist at 1:13 (in: INSERT INTO nope VALUES (1))";
    for (path, told) in [
        (
            "/later",
            "the transaction is over, and nothing of it is kept: ",
        ),
        ("/whole", "is await missing in front of it? ("),
    ] {
        let answer = client.ask("POST", path, &[], "").expect("an answer");
        assert_eq!(answer.status, 500, "{path}");
        log.until(&format!("{told}{CAUSE}"));
    }
}

/// Texts of 4 MB: 40 of them are more than the statements of a transaction may have that are under way, 16 are not.
const FLOOD: &str = r#"
import { app, db } from "sampan";
const text = "x".repeat(4_000_000);
const length = (tx) => tx.one("SELECT length(?::text) AS length", [text]);
app.post("/flood", () => db.transaction(async (tx) => {
  const all = [];
  for (let i = 0; i < 40; i++) all.push(length(tx));
  await Promise.all(all);
}));
app.post("/awaited", () => db.transaction(async (tx) => {
  let sum = 0;
  for (let i = 0; i < 20; i++) sum += (await length(tx)).length;
  return { sum };
}));
app.post("/together", () => db.transaction(async (tx) => {
  const all = await Promise.all(Array.from({ length: 15 }, () => length(tx)));
  return { count: all.length };
}));
"#;

#[test]
fn a_transaction_does_not_gather_statements_without_a_limit() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.js", FLOOD);
    // Texts of 80 MB take their time on a machine with other work.
    let settings = "[db]\ntransaction_millis_max = 60000\n";
    std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
    let url = server.url(&server.database());
    let mut process = Process::start(&mut serve(&scratch.file("app.js"), &url));
    let log = process.read_errors();
    let mut client = process.client();
    let mut post = |path: &str| {
        let answer = client.ask("POST", path, &[], "").expect("an answer");
        (answer.status, answer.text())
    };
    // Not 503: some of its statements were under way when the transaction was taken back.
    assert_eq!(post("/flood").0, 500);
    log.until("statements of a transaction that wait for PostgreSQL may have 67108864 bytes");
    assert_eq!(post("/awaited"), (200, r#"{"sum":80000000}"#.to_owned()));
    assert_eq!(post("/together"), (200, r#"{"count":15}"#.to_owned()));
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
