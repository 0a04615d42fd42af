//! An app on PostgreSQL as its clients and those who operate it meet it.

use super::each_app;
use crate::commands::command::{self, fails, sampan};
use crate::support::{Process, Scratch};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::Client;
use std::process::Command;

const LUA: &str = r#"
local app = require "sampan"
local db = app.db

app.post("/notes/:title", function(req)
  return db.exec("INSERT INTO notes (title) VALUES (?)", { req.params.title })
end)
app.get("/notes", function() return db.query("SELECT id, title FROM notes ORDER BY id") end)
app.get("/read-in-batch", function()
  local ok, err = pcall(db.batch, function() db.query("SELECT 1") end)
  return { ok = ok, message = tostring(err.message or err) }
end)
app.get("/recorded", function()
  local given
  db.batch(function() given = db.exec("INSERT INTO notes (title) VALUES ('recorded')") end)
  return { nothing = given == nil }
end)
app.get("/batch-fails", function()
  local ok, err = pcall(db.batch, function()
    db.exec("INSERT INTO notes (title) VALUES ('first')")
    db.exec("INSERT INTO notes (title) VALUES (?)", { app.null })
  end)
  return { ok = ok, code = err.code }
end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";

app.post("/notes/:title", async (req) => {
  const { changes, lastId } = await db.exec("INSERT INTO notes (title) VALUES (?)", [req.params.title]);
  return { changes, last_id: lastId };
});
app.get("/notes", () => db.query("SELECT id, title FROM notes ORDER BY id"));
app.get("/read-in-batch", async () => {
  try {
    await db.batch(() => { db.query("SELECT 1"); });
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
app.get("/recorded", async () => {
  let given;
  await db.batch(() => { given = db.exec("INSERT INTO notes (title) VALUES ('recorded')"); });
  return { nothing: given === undefined || given === null };
});
app.get("/batch-fails", async () => {
  try {
    await db.batch(() => {
      db.exec("INSERT INTO notes (title) VALUES ('first')");
      db.exec("INSERT INTO notes (title) VALUES (?)", [null]);
    });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/beside-batch", async () => {
  let told;
  await db.transaction(async (tx) => {
    await tx.query("SELECT 1");
    const batch = tx.batch(() => {
      tx.exec("INSERT INTO notes (title) VALUES ('first')");
      tx.exec("INSERT INTO notes (title) VALUES (?)", [null]);
    });
    const beside = tx.exec("INSERT INTO notes (title) VALUES ('beside')");
    told = await Promise.all([batch.catch((error) => error.code), beside.then((done) => done.changes)]);
  });
  return told;
});
app.get("/forgot/map", () => db.query("SELECT 1 AS n").map((row) => row.n));
app.get("/forgot/member", () => ({ id: db.one("SELECT 1 AS id").id }));
app.get("/forgot/json", () => ({ rows: db.query("SELECT 1 AS n") }));
app.get("/forgot/loop", () => { for (const row of db.query("SELECT 1 AS n")) return row; });
app.get("/forgot/text", () => `${db.one("SELECT 1 AS n")}`);
app.get("/all", async () => (await Promise.all([db.one("SELECT 1 AS n"), db.one("SELECT 2 AS n")])).map((row) => row.n));
app.post("/forgot/exec", () => { db.exec("INSERT INTO notes (title) VALUES ('not awaited')"); return { ok: true }; });
"#;

const MIGRATIONS: [(&str, &str); 2] = [
    (
        "0001_notes.sqlite.sql",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);",
    ),
    (
        "0001_notes.postgres.sql",
        "CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL);",
    ),
];

/// A project with the migrations.
pub(super) fn project(file: &str, source: &str) -> Scratch {
    let scratch = Scratch::new(&[(file, source)]);
    std::fs::create_dir(scratch.path().join("migrations")).expect("a folder");
    for (name, text) in MIGRATIONS {
        std::fs::write(scratch.path().join("migrations").join(name), text).expect("a file");
    }
    scratch
}

pub(super) fn serve(path: &str, url: &str) -> Command {
    sampan(&[
        "run",
        path,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        "2",
        "--db",
        url,
    ])
}

fn ask(client: &mut Client, method: &str, path: &str) -> (u16, String) {
    let answer = client.ask(method, path, &[], "").expect("an answer");
    (answer.status, answer.text())
}

#[test]
fn one_app_runs_on_a_file_and_on_a_server() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let url = server.url(&server.database());
        for database in [scratch.file("data.db"), url] {
            let process = Process::start(&mut serve(&scratch.file(file), &database));
            let mut client = process.client();
            let mut post = |title: &str| ask(&mut client, "POST", &format!("/notes/{title}")).1;
            assert_eq!(
                post("a"),
                r#"{"changes":1,"last_id":1}"#,
                "{file} on {database}"
            );
            assert_eq!(post("b"), r#"{"changes":1,"last_id":2}"#);
            let (_, notes) = ask(&mut client, "GET", "/notes");
            assert_eq!(notes, r#"[{"id":1,"title":"a"},{"id":2,"title":"b"}]"#);
        }
    }
}

#[test]
fn batches_are_recorded_and_cannot_read() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let database = server.database();
        let process = Process::start(&mut serve(&scratch.file(file), &server.url(&database)));
        let mut client = process.client();
        let (_, read) = ask(&mut client, "GET", "/read-in-batch");
        assert!(
            read.contains("db.query cannot read inside of db.batch"),
            "{file}: {read}"
        );
        assert!(read.contains("use db.transaction"), "{file}: {read}");
        let (_, recorded) = ask(&mut client, "GET", "/recorded");
        assert_eq!(recorded, r#"{"nothing":true}"#, "{file}");
        let (_, failed) = ask(&mut client, "GET", "/batch-fails");
        assert!(failed.contains(r#""code":"not_null""#), "{file}: {failed}");
        assert_eq!(
            server.psql(&database, "SELECT title FROM notes"),
            "recorded",
            "{file}"
        );
    }
}

#[test]
fn a_batch_that_fails_undoes_no_statement_beside_it() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.js", JS);
    let database = server.database();
    let process = Process::start(&mut serve(&scratch.file("app.js"), &server.url(&database)));
    let mut client = process.client();
    for count in 1..=10 {
        let (_, told) = ask(&mut client, "GET", "/beside-batch");
        assert_eq!(told, r#"["not_null",1]"#);
        let kept = server.psql(&database, "SELECT count(*), max(title) FROM notes");
        assert_eq!(kept, format!("{count}|beside"));
    }
}

#[test]
fn a_missing_await_is_an_error_that_names_the_call() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.js", JS);
    let database = server.database();
    let mut process = Process::start(&mut serve(&scratch.file("app.js"), &server.url(&database)));
    let log = process.read_errors();
    let mut client = process.client();
    for (path, call) in [
        ("map", "db.query"),
        ("member", "db.one"),
        ("json", "db.query"),
        ("loop", "db.query"),
        ("text", "db.one"),
    ] {
        let (status, _) = ask(&mut client, "GET", &format!("/forgot/{path}"));
        assert_eq!(status, 500, "{path}");
        log.until(&format!("GET /forgot/{path}: "));
        let wanted = format!("{call} gives a promise here: write \"await {call}(...)\"");
        log.until(&wanted);
    }
    assert_eq!(ask(&mut client, "GET", "/all").1, "[1,2]");
    // The answer waits for a statement that the script does not await.
    assert_eq!(
        ask(&mut client, "POST", "/forgot/exec"),
        (200, r#"{"ok":true}"#.to_owned())
    );
    assert_eq!(
        server.psql(&database, "SELECT title FROM notes"),
        "not awaited"
    );
}

#[test]
fn faults_are_told_at_start() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", LUA);
    let app = scratch.file("app.lua");
    let run = |url: &str, parts: &[&str]| {
        fails(
            &["run", &app, "--listen", "127.0.0.1:0", "--db", url],
            1,
            parts,
        );
    };
    let database = server.database();
    let wrong = server.url(&database).replace("over%20the%20water", "wrong");
    run(&wrong, &["password authentication failed"]);
    run(
        &server.url("absent"),
        &["database \"absent\" does not exist"],
    );
    let absent = "postgres://nobody@127.0.0.1:1/x";
    let (status, _, told) = command::run(&["run", &app, "--listen", "127.0.0.1:0", "--db", absent]);
    let told: Vec<_> = told.lines().collect();
    assert_eq!((status, told.len()), (1, 2), "{told:?}");
    assert!(
        told[0].contains("WARN waiting for PostgreSQL: cannot connect to PostgreSQL at"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("sampan: cannot connect to PostgreSQL at"),
        "{told:?}"
    );
    let url = server.url(&database);
    let shown = format!("postgres://sampan@127.0.0.1:{}/{database}", server.port);
    let to = scratch.file("copy.db");
    fails(
        &["backup", &to, &app, "--db", &url],
        1,
        &[&shown, "pg_dump"],
    );
    fails(
        &["db", &app, "SELECT 1", "--db", &url],
        1,
        &[&shown, "psql"],
    );
}

#[test]
fn a_check_finds_calls_without_await() {
    let scratch = project("app.js", JS);
    let app = scratch.file("app.js");
    // Nothing listens there: only the migrations would ask.
    std::fs::remove_dir_all(scratch.path().join("migrations")).expect("removed");
    let mut check = sampan(&["check", &app]);
    let checked = check
        .env("SAMPAN_DB_URL", "postgres://nobody@127.0.0.1:1/x")
        .output();
    let checked = checked.expect("the command starts");
    let said = String::from_utf8_lossy(&checked.stdout).into_owned()
        + &String::from_utf8_lossy(&checked.stderr);
    let found = said
        .matches("gives a promise on PostgreSQL, which nothing awaits")
        .count();
    assert_eq!(found, 7, "{said}");
    assert!(said.contains("write await db.query(...)"), "{said}");
}

#[test]
fn a_check_loads_the_scripts_of_an_app_on_a_server() {
    let check = |source: &str, url: &str| {
        let scratch = Scratch::new(&[("app.lua", source)]);
        let mut check = sampan(&["check", &scratch.file("app.lua")]);
        let checked = check.env("SAMPAN_DB_URL", url).output();
        let checked = checked.expect("the command starts");
        let said = [&checked.stdout[..], &checked.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (checked.status.code(), said)
    };
    let (code, said) = check(LUA, "postgres://app@127.0.0.1:1/x");
    assert!(code == Some(0) && said.contains("(5 routes)"), "{said}");
    let wrong = "local app = require \"sampan\"\napp.get(\"/\", function( return 1 end)\n";
    let (code, said) = check(wrong, "postgres://app@127.0.0.1:1/x");
    assert_eq!(code, Some(1), "{said}");
    for part in ["error: app.lua:2", "loaded with a file of SQLite"] {
        assert!(said.contains(part), "{said}");
    }
    let (code, said) = check(LUA, "mysql://app@127.0.0.1/x");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("[db] url: the URL of a database begins with postgres://"),
        "{said}"
    );
}
