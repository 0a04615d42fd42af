//! Migrations on PostgreSQL.

use super::serving::project;
use crate::commands::command::{fails, run, sampan};
use crate::support::Scratch;
use sampan_client::postgres::PostgresServer;
use std::process::{Output, Stdio};
use std::thread;

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
fn a_function_with_a_body_of_statements_is_one_statement() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let add_function = |number: u32, first: &str| {
        let text = format!(
            "{first}CREATE FUNCTION add_{number}(title text) RETURNS text LANGUAGE sql BEGIN ATOMIC\n\
             INSERT INTO notes (title) VALUES (add_{number}.title);\n\
             SELECT CASE WHEN count(*) > 1 THEN 'more' ELSE 'one' END FROM notes;\nEND;\n\
             SELECT add_{number}('a');"
        );
        add(&scratch, &format!("000{number}_add.postgres.sql"), &text);
    };
    add_function(2, "");
    add_function(3, "-- no transaction\n");
    let (code, told, errors) = run(&["migrate", &app, "--db", &server.url(&database)]);
    assert_eq!(code, 0, "{errors}");
    assert!(told.ends_with(": 3 applied now, 0 before\n"), "{told}");
    let added = "SELECT add_2('b') || ' ' || add_3('c') || ' ' || count(*) FROM notes";
    assert_eq!(server.psql(&database, added), "more more 2");
    let text = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END; COMMIT;";
    add(&scratch, "0004_wrong.postgres.sql", text);
    fails(
        &["migrate", &app, "--db", &server.url(&database)],
        1,
        &["0004_wrong", "COMMIT would end the transaction"],
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
    let words = [("STRICT", "STRICT"), ("WITHOUT ROWID", "ROWID")];
    for ((ending, word), first) in words.into_iter().zip(["", "-- no transaction\n"]) {
        let text = format!("{first}CREATE TABLE kept_not (id bigint) {ending};");
        add(&scratch, "0002_wrong.sql", &text);
        let told = format!("{word} is a word of SQLite: leave it out, or have the migration as");
        let files = "0002_wrong.sqlite.sql and 0002_wrong.postgres.sql";
        fails(&["migrate", &app, "--db", &url], 1, &[&told, files]);
    }
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

/// The advisory lock of migrations.
const LOCK: i64 = 0x1e0d_7a3c_52b9_46f1;

/// A process that migrates, and waits shortly for locks of tables.
fn migrating(app: &str, url: &str) -> std::process::Command {
    let mut command = sampan(&["migrate", app, "--db", url]);
    command.env("SAMPAN_DB_BUSY_MILLIS_MAX", "1000");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The status of a command that has ended, and all that it has printed.
fn ended(output: &Output) -> (i32, String) {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let code = output.status.code().expect("no signal");
    (code, String::from_utf8(said).expect("UTF-8"))
}

/// Migrates by three processes at once.
fn three_at_once(app: &str, url: &str) -> Vec<(i32, String)> {
    let all: Vec<_> = (0..3)
        .map(|_| migrating(app, url).spawn().expect("it starts"))
        .collect();
    let outputs = all
        .into_iter()
        .map(|one| one.wait_with_output().expect("an end"));
    outputs.map(|output| ended(&output)).collect()
}

#[test]
fn several_processes_wait_for_a_migration_as_long_as_it_takes() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for text in [
        // It waits for the snapshots of all others.
        "-- no transaction\nSELECT pg_sleep(0.5);\nCREATE INDEX CONCURRENTLY added ON notes (title);",
        "CREATE INDEX added ON notes (title); SELECT pg_sleep(2);",
    ] {
        let scratch = project("app.lua", APP);
        let (database, app) = (server.database(), scratch.file("app.lua"));
        let url = server.url(&database);
        add(&scratch, "0002_added.postgres.sql", text);
        let all = three_at_once(&app, &url);
        assert!(all.iter().all(|(code, _)| *code == 0), "{all:?}");
        for name in ["0001_notes", "0002_added"] {
            let told = format!("applied {name}\n");
            let count = all.iter().filter(|(_, said)| said.contains(&told)).count();
            assert_eq!(count, 1, "{name}: {all:?}");
        }
        let valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'added'::regclass";
        assert_eq!(server.psql(&database, valid), "t", "{text}");
    }
}

#[test]
fn several_processes_say_that_a_migration_fails() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let halfway =
        "CREATE TABLE halfway (id bigint); SELECT pg_sleep(1.5); INSERT INTO nowhere VALUES (1);";
    add(&scratch, "0002_halfway.sql", halfway);
    for (code, said) in three_at_once(&app, &server.url(&database)) {
        assert_eq!(code, 1, "{said}");
        for part in [
            "0002_halfway.sql: ",
            "\"nowhere\" does not exist",
            "nothing of it was applied",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'halfway'";
    assert_eq!(server.psql(&database, tables), "0");
    let applied = "SELECT name FROM _sampan_migrations";
    assert_eq!(server.psql(&database, applied), "0001_notes");
}

/// Does something while another connection keeps a lock for two seconds.
fn while_locked<T>(
    server: &PostgresServer,
    database: &str,
    lock: &str,
    work: impl FnOnce() -> T,
) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            server.psql(
                database,
                &format!("BEGIN; {lock}; SELECT pg_sleep(2); COMMIT;"),
            )
        });
        let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT \
                      pg_sleep(2)%'";
        sampan_testkit::wait::until("the lock", || server.psql(database, sleeps) == "1");
        work()
    })
}

#[test]
fn a_migration_says_that_it_waits() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    let lock = format!("SELECT pg_advisory_xact_lock({LOCK})");
    let migrated = while_locked(&server, &database, &lock, || migrating(&app, &url).output());
    let (code, said) = ended(&migrated.expect("it starts"));
    assert_eq!(code, 0, "{said}");
    let waits = "0001_notes waits: another process applies migrations\n";
    assert_eq!(said.matches(waits).count(), 1, "{said}");
    assert!(said.contains("applied 0001_notes\n"), "{said}");
}

#[test]
fn statements_outside_of_a_transaction_have_limits() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    let (code, said) = ended(&migrating(&app, &url).output().expect("it starts"));
    assert_eq!(code, 0, "{said}");
    let lock = "LOCK TABLE notes IN ROW EXCLUSIVE MODE";
    let migrate = |text: &str| {
        let name = "0002_apart.postgres.sql";
        add(&scratch, name, &format!("-- no transaction\n{text}"));
        while_locked(&server, &database, lock, || {
            ended(&migrating(&app, &url).output().expect("it starts"))
        })
    };
    for (text, why) in [
        (
            "CREATE TABLE before_it (id int); ALTER TABLE notes ADD more text;",
            "due to lock timeout",
        ),
        (
            "SET statement_timeout = '100ms'; SELECT pg_sleep(5);",
            "due to statement timeout",
        ),
    ] {
        let (code, said) = migrate(text);
        assert_eq!(code, 1, "{said}");
        for part in [why, "what it did before stays"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    // It waits for others without being in their way.
    let (code, said) = migrate("CREATE INDEX CONCURRENTLY late ON notes (title);");
    assert_eq!(code, 0, "{said}");
    let text = "SET LOCAL statement_timeout = '100ms'; SELECT pg_sleep(5);";
    add(&scratch, "0003_limited.postgres.sql", text);
    let (code, said) = ended(&migrating(&app, &url).output().expect("it starts"));
    assert_eq!(code, 1, "{said}");
    for part in ["due to statement timeout", "nothing of it was applied"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Uses all for which the server has tables of its own.
const OWN_LUA: &str = r#"
local app = require "sampan"
local db = app.db
app.use("/limited", app.rate_limit{ limit = 100, per = 60, shared = true })
app.job("keep", function(args) db.exec("INSERT INTO notes (title) VALUES (?)", { args.title }) end)
app.get("/limited", function(req)
  req.session.n = (req.session.n or 0) + 1
  return app.lock("one", function()
    app.enqueue("keep", { title = "kept" })
    app.publish("told", "all")
    return tostring(req.session.n)
  end)
end)
"#;

const OWN_JS: &str = r#"
import { app, db } from "sampan";
app.use("/limited", app.rateLimit({ limit: 100, per: 60, shared: true }));
app.job("keep", async ({ title }) => { await db.exec("INSERT INTO notes (title) VALUES (?)", [title]); });
app.get("/limited", async (req) => {
  req.session.n = (req.session.n ?? 0) + 1;
  return app.lock("one", async () => {
    await app.enqueue("keep", { title: "kept" });
    app.publish("told", "all");
    return String(req.session.n);
  });
});
"#;

#[test]
fn the_role_of_an_app_need_not_make_tables() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for (at, (file, source)) in [("app.lua", OWN_LUA), ("app.js", OWN_JS)]
        .into_iter()
        .enumerate()
    {
        let scratch = project(file, source);
        let (database, app) = (server.database(), scratch.file(file));
        let (url, role) = (server.url(&database), format!("app_{at}"));
        server.psql(
            &database,
            &format!(
                "CREATE ROLE {role} LOGIN PASSWORD 'secret'; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
                 ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}"
            ),
        );
        let (code, told, errors) = run(&["db", "migrate", &app, "--db", &url]);
        assert_eq!(code, 0, "{errors}");
        let own = "made the server's own tables, whose names begin with _sampan_\n";
        assert!(told.contains(own), "{told}");
        let (_, told, _) = run(&["db", "migrate", &app, "--db", &url]);
        assert!(told.ends_with(": 0 applied now, 1 before\n") && !told.contains(own));

        let (_, place) = url.split_once('@').expect("a user");
        let url = format!("postgres://{role}:secret@{place}");
        let process = crate::support::Process::start(&mut super::serving::serve(&app, &url));
        let mut client = process.client();
        client
            .send(b"GET /limited HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        let answer = client.read(false).expect("an answer");
        assert_eq!(
            (answer.status, answer.text()),
            (200, "1".to_owned()),
            "{file}"
        );
        sampan_testkit::wait::until("the job has run", || {
            server.psql(&database, "SELECT title FROM notes") == "kept"
        });
        sampan_testkit::wait::until("the message is in the database", || {
            server.psql(&database, "SELECT count(*) FROM _sampan_messages") == "1"
        });
        let owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'";
        assert_eq!(server.psql(&database, owners), "sampan", "{file}");
        process.signal("TERM");
        let (_, errors) = process.end();
        assert!(!errors.contains("ERROR"), "{errors}");
    }
}

#[test]
fn the_right_that_a_role_lacks_is_told() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    server.psql(
        &database,
        "CREATE ROLE no_maker LOGIN PASSWORD 'secret'; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
         ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO no_maker",
    );
    let (code, _, errors) = run(&["db", "migrate", &app, "--db", &url]);
    assert_eq!(code, 0, "{errors}");
    server.psql(&database, "DROP TABLE _sampan_members");
    let (_, place) = url.split_once('@').expect("a user");
    let url = format!("postgres://no_maker:secret@{place}");
    let told = "the server's own tables: _sampan_members is missing, and the role no_maker has no right CREATE on \
                the schema public: run sampan db migrate as the owner of the schema, or let the owner run GRANT CREATE \
                ON SCHEMA public TO no_maker";
    fails(&["db", "migrate", &app, "--db", &url], 1, &[told]);
}

#[test]
fn tables_of_the_release_before_get_the_columns_that_they_lack() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", OWN_LUA);
    let (database, app) = (server.database(), scratch.file("app.lua"));
    let url = server.url(&database);
    server.psql(
        &database,
        "CREATE ROLE no_owner LOGIN PASSWORD 'secret';
         ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO no_owner",
    );
    let (code, _, errors) = run(&["db", "migrate", &app, "--db", &url]);
    assert_eq!(code, 0, "{errors}");
    let before = "ALTER TABLE _sampan_jobs DROP COLUMN trace; DROP TABLE _sampan_job_starts;
        UPDATE _sampan_job_schema SET version = 1";
    server.psql(&database, before);
    let (_, place) = url.split_once('@').expect("a user");
    let other = format!("postgres://no_owner:secret@{place}");
    let told = "the server's own tables: _sampan_jobs is of an earlier release and lacks the column trace, and only its \
                owner may add that, not the role no_owner: run sampan db migrate as its owner";
    fails(&["db", "migrate", &app, "--db", &other], 1, &[told]);
    let (code, told, errors) = run(&["db", "migrate", &app, "--db", &url]);
    assert_eq!(code, 0, "{errors}");
    let own = "made the server's own tables, whose names begin with _sampan_\n";
    assert!(told.contains(own), "{told}");
    let version =
        "SELECT version || ' ' || count(trace) || ' ' || count(at) FROM _sampan_job_schema
        LEFT JOIN _sampan_jobs ON true LEFT JOIN _sampan_job_starts ON true GROUP BY version";
    assert_eq!(server.psql(&database, version), "3 0 0");
    // A column that is there takes neither the owner nor a lock.
    let before = "DROP TABLE _sampan_job_starts; UPDATE _sampan_job_schema SET version = 2;
        GRANT CREATE ON SCHEMA public TO no_owner";
    server.psql(&database, before);
    let lock = "LOCK TABLE _sampan_jobs IN ACCESS SHARE MODE";
    let (code, _, errors) = while_locked(&server, &database, lock, || {
        run(&["db", "migrate", &app, "--db", &other])
    });
    assert_eq!(code, 0, "{errors}");
    assert_eq!(server.psql(&database, version), "3 0 0");
}

#[test]
fn keys_that_give_no_ids_are_told() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (url, app) = (server.url(&server.database()), scratch.file("app.lua"));
    add(
        &scratch,
        "0002_tags.sql",
        "CREATE TABLE kinds (id bigint PRIMARY KEY);\nCREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);",
    );
    let hint = "migrations/0002_tags.sql:2: tags.id gets no ids on PostgreSQL by INTEGER PRIMARY KEY: write id bigint \
                GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY in 0002_tags.postgres.sql, and let 0002_tags.sqlite.sql \
                have this\n";
    let (code, told, _) = run(&["check", &app, "--db", &url]);
    assert!(
        code == 0 && told.contains(&format!("warning: {hint}")),
        "{told}"
    );
    let (code, _, errors) = run(&["migrate", &app, "--db", &url]);
    assert!(
        code == 0
            && errors.starts_with("warning: ")
            && errors.ends_with(hint)
            && errors.lines().count() == 1,
        "{errors}"
    );
    // It is applied, so the file stays as it is.
    let (code, _, errors) = run(&["migrate", &app, "--db", &url]);
    assert_eq!((code, &*errors), (0, ""));
    let file = scratch.file("data.db");
    let (code, _, errors) = run(&["migrate", &app, "--db", &file]);
    assert_eq!((code, &*errors), (0, ""), "SQLite gives ids");
}
