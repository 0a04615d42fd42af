//! Migrations on PostgreSQL.

use super::serving::project;
use crate::commands::command::{fails, run, sampan};
use crate::support::Scratch;
use sampan_client::postgres::PostgresServer;

const APP: &str = "local app = require \"sampan\"\napp.get(\"/\", function() return \"ok\" end)";

fn add(scratch: &Scratch, name: &str, text: &str) {
    std::fs::write(scratch.path().join("migrations").join(name), text).expect("a file");
}

#[test]
fn migrations_are_applied_once_and_told() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    let shown = format!("postgres://sampan@127.0.0.1:{}/{database}", server.port);
    let (_, told, _) = run(&["migrate", "status", &app, "--db", &url]);
    assert_eq!(told, "0001_notes  pending\n");
    let (code, told, errors) = run(&["migrate", &app, "--db", &url]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        told.ends_with(&format!("{shown}: 1 applied now, 0 before\n")),
        "{told}"
    );
    add(
        &scratch,
        "0002_index.postgres.sql",
        "-- no transaction\nCREATE INDEX CONCURRENTLY notes_title ON notes (title);\nCREATE INDEX CONCURRENTLY notes_id ON notes (id);",
    );
    add(
        &scratch,
        "0002_index.sqlite.sql",
        "CREATE INDEX notes_title ON notes (title);",
    );
    add(
        &scratch,
        "0003_function.postgres.sql",
        "CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN n * 2; END; $$;\n\
         ALTER TABLE notes ADD extra jsonb; CREATE INDEX has_x ON notes ((extra ? 'x'));",
    );
    add(
        &scratch,
        "0003_function.sqlite.sql",
        "ALTER TABLE notes ADD extra TEXT;",
    );
    let (code, told, errors) = run(&["db", "migrate", &app, "--db", &url]);
    assert_eq!(code, 0, "{errors}");
    assert!(told.ends_with(": 2 applied now, 1 before\n"), "{told}");
    assert_eq!(
        server.psql(
            &database,
            "SELECT twice(id::integer) FROM _sampan_migrations WHERE id = 3"
        ),
        "6"
    );
    let indexes = "SELECT count(*) FROM pg_indexes WHERE indexname IN ('notes_title', 'notes_id')";
    assert_eq!(server.psql(&database, indexes), "2");
    let (_, told, _) = run(&["db", "status", &app, "--db", &url]);
    assert_eq!(told.matches(" applied 20").count(), 3, "{told}");
    // The files of the other database are the same migrations there.
    let file = scratch.file("data.db");
    let (code, told, errors) = run(&["migrate", &app, "--db", &file]);
    assert_eq!(code, 0, "{errors}");
    assert!(told.ends_with(": 3 applied now, 0 before\n"), "{told}");
    add(
        &scratch,
        "0001_notes.postgres.sql",
        "CREATE TABLE notes (id bigint);",
    );
    fails(
        &["migrate", &app, "--db", &url],
        1,
        &["0001_notes.sql was changed"],
    );
}

#[test]
fn a_migration_that_fails_leaves_nothing() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    let wrong = "CREATE TABLE kept_not (id bigint);\nINSERT INTO nowhere VALUES (1);";
    add(&scratch, "0002_wrong.sql", wrong);
    fails(
        &["migrate", &app, "--db", &url],
        1,
        &[
            "0002_wrong.sql: ",
            "relation \"nowhere\" does not exist at 2:13 (in: INSERT INTO nowhere VALUES (1);)",
            "nothing of it was applied",
        ],
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename IN ('notes', 'kept_not')";
    assert_eq!(server.psql(&database, tables), "1");
    assert_eq!(
        server.psql(&database, "SELECT name FROM _sampan_migrations"),
        "0001_notes"
    );
    add(
        &scratch,
        "0002_wrong.sql",
        "CREATE TABLE kept_not (id bigint); COMMIT; SELECT 1;",
    );
    fails(
        &["migrate", &app, "--db", &url],
        1,
        &["0002_wrong.sql: ", "COMMIT would end the transaction"],
    );
}

#[test]
fn two_processes_apply_each_file_once() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    for at in 2..8 {
        let text = format!("CREATE TABLE t{at} (id bigint); SELECT pg_sleep(0.02);");
        add(&scratch, &format!("{at:04}_t.sql"), &text);
    }
    let migrating: Vec<_> = (0..3)
        .map(|_| {
            let mut command = sampan(&["migrate", &app, "--db", &url]);
            command
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("the command starts")
        })
        .collect();
    for mut one in migrating {
        assert!(one.wait().expect("an end").success());
    }
    assert_eq!(
        server.psql(&database, "SELECT count(*) FROM _sampan_migrations"),
        "7"
    );
}
