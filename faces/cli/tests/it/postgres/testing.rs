//! `sampan test` on PostgreSQL: databases of its own for each file of tests.

use crate::commands::command::{fails, run, sampan};
use crate::support::Scratch;
use sampan_client::{postgres::PostgresServer, wait};
use std::process::Stdio;

const APPS: [(&str, &str); 2] = [
    (
        "app.lua",
        r#"
local app = require "sampan"
local db = app.db
db.exec("INSERT INTO notes (title) VALUES ('loaded')")
app.get("/", function() return db.query("SELECT id, title FROM notes ORDER BY id") end)
app.post("/notes/:title", function(req)
  return db.exec("INSERT INTO notes (title) VALUES (?)", { req.params.title })
end)
app.get("/hang", function() db.query("SELECT pg_sleep(3600)") end)
"#,
    ),
    (
        "app.js",
        r#"
import { app, db } from "sampan";
db.exec("INSERT INTO notes (title) VALUES ('loaded')");
app.get("/", () => db.query("SELECT id, title FROM notes ORDER BY id"));
app.post("/notes/:title", async (req) => {
  const { lastId } = await db.exec("INSERT INTO notes (title) VALUES (?)", [req.params.title]);
  return { last_id: lastId };
});
app.get("/hang", () => db.query("SELECT pg_sleep(3600)"));
"#,
    ),
];

const TESTS: [(&str, &str); 2] = [
    (
        "a.test.lua",
        r#"
local app = require "sampan"
local t, db = app.t, app.db
t.test("rows are added", function()
  t.equal(t.post("/notes/tide").json.last_id, 3)
  db.exec("CREATE TABLE more (id bigint)")
  t.equal(#t.get("/").json, 3)
end)
t.test("the database is put back", function()
  t.equal(t.get("/").json, { { id = 1, title = "migrated" }, { id = 2, title = "loaded" } })
  t.equal(db.one("SELECT to_regclass('more') AS more").more, nil)
  t.equal(t.post("/notes/ebb").json.last_id, 3)
end)
"#,
    ),
    (
        "b.test.js",
        r#"
import { db, t } from "sampan";
t.test("rows are added", async () => {
  t.equal((await t.post("/notes/tide")).status, 200);
  await db.exec("DELETE FROM notes WHERE id = 1");
});
t.test("the database is put back", async () => {
  t.equal((await db.query("SELECT id FROM notes ORDER BY id")).map((row) => row.id), [1, 2]);
});
"#,
    ),
];

const MIGRATION: &str =
    "CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL);
INSERT INTO notes (title) VALUES ('migrated');";

fn project(app: (&str, &str), tests: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new(&[app]);
    for folder in ["migrations", "tests"] {
        std::fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    let write = |name: String, text: &str| {
        std::fs::write(scratch.path().join(name), text).expect("a file");
    };
    write("migrations/0001_notes.sql".to_owned(), MIGRATION);
    for (name, text) in tests {
        write(format!("tests/{name}"), text);
    }
    scratch
}

/// The databases of tests on the server that copies of `database` are.
fn left(server: &PostgresServer, database: &str) -> String {
    let sql = "SELECT count(*) FROM pg_database AS d, pg_database AS own
         WHERE own.datname = current_database() AND d.datname LIKE 'sampan\\_test\\_' || own.oid || '\\_%'";
    server.psql(database, sql)
}

#[test]
fn each_test_begins_with_the_same_rows() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for app in APPS {
        let database = server.database();
        let scratch = project(app, &TESTS);
        let (code, told, errors) =
            run(&["test", &scratch.file(app.0), "--db", &server.url(&database)]);
        assert_eq!(code, 0, "{told}{errors}");
        assert!(told.contains("4 passed, 0 failed"), "{told}");
        assert_eq!(left(&server, &database), "0");
        assert_eq!(
            server.psql(
                &database,
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            ),
            "0"
        );
    }
}

#[test]
fn each_test_begins_without_counts_of_shared_rate_limits() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let app = r#"
local app = require "sampan"
app.use("/login", app.rate_limit{ limit = 1, per = 3600, shared = true })
app.post("/login", function() return "in" end)
"#;
    let test = r#"
local t = require("sampan").t
for number = 1, 2 do
  t.test("test " .. number, function()
    t.equal(t.post("/login").status, 200)
    t.equal(t.post("/login").status, 429)
    t.equal(t.post("/login").status, 429)
  end)
end
"#;
    let scratch = project(("app.lua", app), &[("a.test.lua", test)]);
    let url = server.url(&server.database());
    let (code, told, errors) = run(&["test", &scratch.file("app.lua"), "--db", &url]);
    assert_eq!(code, 0, "{told}{errors}");
    assert!(told.contains("2 passed, 0 failed"), "{told}");
}

#[test]
fn what_a_killed_run_has_left_is_removed_by_the_next() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let hanging = r#"
local t = require("sampan").t
t.test("it hangs", function() t.get("/hang") end)
"#;
    let database = server.database();
    let url = server.url(&database);
    let scratch = project(APPS[0], &[("a.test.lua", hanging)]);
    let mut hung = sampan(&["test", &scratch.file("app.lua"), "--db", &url])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    wait::until("the test hangs", || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname LIKE 'sampan\\_test\\_%'";
        server.psql(&database, sql) != "0"
    });
    // Another run leaves alone what one that still runs has.
    let other = project(APPS[0], &TESTS[..1]);
    let (code, told, errors) = run(&["test", &other.file("app.lua"), "--db", &url]);
    assert_eq!(code, 0, "{told}{errors}");
    assert_eq!(left(&server, &database), "3");
    hung.kill().expect("killed");
    hung.wait().expect("its end");
    // The server notices the end of the connection that holds the lock.
    wait::until("the lock is free", || {
        server.psql(
            &database,
            "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
             WHERE locktype = 'advisory' AND datname = current_database()",
        ) == "0"
    });
    let (code, told, errors) = run(&["test", &other.file("app.lua"), "--db", &url]);
    assert_eq!(code, 0, "{told}{errors}");
    assert_eq!(left(&server, &database), "0");
}

#[test]
fn a_user_who_may_not_create_databases_is_told_what_to_grant() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let database = server.database();
    let user = format!("limited_{database}");
    server.psql(&database, &format!("CREATE ROLE {user} LOGIN PASSWORD 'x'"));
    let scratch = project(APPS[0], &TESTS);
    let url = format!("postgres://{user}:x@127.0.0.1:{}/{database}", server.port);
    let app = scratch.file("app.lua");
    fails(
        &["test", &app, "--db", &url],
        1,
        &[&format!("ALTER ROLE \"{user}\" CREATEDB")],
    );
    fails(
        &["test", &app, "--db", "data.db"],
        1,
        &["name a PostgreSQL server"],
    );
    server.psql(&database, &format!("DROP ROLE {user}"));
}

#[test]
fn check_finds_a_missing_await_for_a_server() {
    let source =
        "import { app, db } from \"sampan\";\napp.get(\"/\", () => db.one(\"SELECT 1 AS n\").n);\n";
    let scratch = Scratch::new(&[("app.js", source)]);
    let app = scratch.file("app.js");
    let (code, told, _) = run(&["check", &app]);
    assert_eq!(code, 0, "{told}");
    let (_, told, _) = run(&["check", &app, "--db", "postgres://app@127.0.0.1/app"]);
    assert!(told.contains("await db.one"), "{told}");
}
