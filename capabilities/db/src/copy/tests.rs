//! Copies of files of SQLite on a private PostgreSQL.

use super::*;
use crate::test_folder::TestFolder;
use rusqlite::Connection;
use sampan_client::postgres::PostgresServer;
use sampan_client::wait;
use std::sync::Arc;

/// A file of SQLite and a database on the server that the tests share.
struct Rig {
    folder: TestFolder,
    server: Arc<PostgresServer>,
    database: String,
}

impl Rig {
    /// `None` where PostgreSQL is not installed.
    fn new(sql: &str) -> Option<Self> {
        let server = PostgresServer::shared()?;
        let rig = Self {
            database: server.database(),
            server,
            folder: TestFolder::new(),
        };
        rig.sqlite().execute_batch(sql).expect("the file");
        Some(rig)
    }

    fn from(&self) -> DatabaseConfig {
        DatabaseConfig::new(self.folder.path("data.db"))
    }

    fn sqlite(&self) -> Connection {
        crate::sqlite::memory::connect_for_test(self.from().path).expect("SQLite")
    }

    fn copy_with(&self, url: String, replaces: bool) -> Result<CopyReport, String> {
        self.copy_telling(url, replaces, &mut |_| {})
    }

    fn copy_telling(
        &self,
        url: String,
        replaces: bool,
        tell: &mut dyn FnMut(CopyProgress<'_>),
    ) -> Result<CopyReport, String> {
        let to = DatabaseConfig {
            url: Some(url),
            ..self.from()
        };
        let job = CopyJob {
            from: &self.from(),
            to: &to,
            migrations: &Migrations::in_folder(self.folder.path("migrations")),
            replaces,
        };
        copy(job, tell).map_err(|error| error.message().to_owned())
    }

    fn copy(&self) -> Result<CopyReport, String> {
        self.copy_with(self.server.url(&self.database), false)
    }

    fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.database, sql)
    }

    /// The columns of a table with their types.
    fn types(&self, table: &str) -> String {
        self.psql(&format!(
            "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
             FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
        ))
    }

    fn tables(&self) -> String {
        self.psql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    }
}

#[test]
fn schema_and_rows_are_those_of_the_file() {
    let Some(rig) = Rig::new(
        "CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, email TEXT COLLATE NOCASE UNIQUE,
            is_new BOOLEAN DEFAULT 1 CHECK (is_new IN (0, 1)), born DATE, seen DATETIME DEFAULT CURRENT_TIMESTAMP);
         CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, author INTEGER NOT NULL REFERENCES authors (id)
            ON DELETE CASCADE, title TEXT NOT NULL DEFAULT 'none', price REAL CHECK (price >= 0),
            cover BLOB, upper_title TEXT AS (upper(title)) STORED, part_of INTEGER REFERENCES books);
         CREATE INDEX books_title ON books (title, author DESC);
         CREATE UNIQUE INDEX books_cheap ON books (lower(title)) WHERE price < 1;
         CREATE TABLE book_tags (book INTEGER, tag TEXT, PRIMARY KEY (book, tag)) WITHOUT ROWID;
         CREATE TABLE blank (a, b BLOB, c DECIMAL(10, 2));
         INSERT INTO authors VALUES (1, 'Ann', 'Ann@x', 1, '1970-01-31', '2024-05-06 07:08:09.125'),
            (7, 'Bö' || char(9, 10, 13, 92) || 'N', NULL, 0, NULL, NULL);
         INSERT INTO books (id, author, title, price, cover, part_of) VALUES (3, 7, 'tide', 1.5, x'005cff', 4),
            (4, 1, 'Ebb', 9e999, NULL, NULL), (90, 1, 'gone', -0.0, x'', NULL);
         DELETE FROM books WHERE id = 90;
         INSERT INTO book_tags VALUES (3, 'sea'), (3, '\\.');",
    ) else {
        return;
    };
    let report = rig.copy().expect("a copy");
    assert_eq!(report.left_out, Vec::<String>::new());
    assert_eq!((report.tables, report.made, report.rows), (4, 4, 6));
    assert_eq!(
        rig.types("authors"),
        "id bigint, name text, email text, is_new boolean, born date, seen timestamp without time zone"
    );
    assert_eq!(
        rig.types("books"),
        "id bigint, author bigint, title text, price double precision, cover bytea, upper_title text, part_of bigint"
    );
    assert_eq!(rig.types("blank"), "a text, b bytea, c double precision");
    let copied = "SELECT id, to_jsonb(name), is_new, born, seen FROM authors ORDER BY id";
    assert_eq!(
        rig.psql(copied),
        "1|\"Ann\"|t|1970-01-31|2024-05-06 07:08:09.125\n7|\"Bö\\t\\n\\r\\\\N\"|f||"
    );
    assert_eq!(
        rig.psql("SELECT id, price, cover, upper_title, part_of FROM books ORDER BY id"),
        "3|1.5|\\x005cff|TIDE|4\n4|Infinity||EBB|"
    );
    // The next ids, also behind one that was deleted; defaults; what ignores case.
    let added =
        "INSERT INTO authors (name) VALUES ('Cy') RETURNING id, is_new, seen > '2024-06-01'";
    assert_eq!(rig.psql(added), "8|t|t");
    let added = "INSERT INTO books (author, price) VALUES (8, 0) RETURNING id, title";
    assert_eq!(rig.psql(added), "91|none");
    assert_eq!(
        rig.psql("SELECT name FROM authors WHERE email = 'aNN@X'"),
        "Ann"
    );
    let constraints = "SELECT string_agg(contype::text, '' ORDER BY contype) FROM pg_constraint
         WHERE conrelid IN ('authors'::regclass, 'books'::regclass) AND contype IN ('c', 'f', 'p', 'u')";
    assert_eq!(rig.psql(constraints), "cffppuu");
    assert_eq!(
        rig.psql("SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'books\\_%' AND indexname <> 'books_pkey' ORDER BY 1"),
        "CREATE INDEX books_title ON public.books USING btree (title, author DESC)\n\
         CREATE UNIQUE INDEX books_cheap ON public.books USING btree (lower(title)) WHERE (price < (1)::double precision)"
    );
    assert_eq!(
        rig.psql("SELECT count(*) FROM pg_attribute WHERE attrelid = 'books'::regclass AND attnotnull AND attnum > 0"),
        "3"
    );
}

#[test]
fn names_that_the_server_would_not_tell_apart_are_refused() {
    let long = "t".repeat(63);
    let Some(rig) = Rig::new(&format!(
        "CREATE TABLE {long}_one (a); CREATE TABLE {long}_two (b);"
    )) else {
        return;
    };
    let error = rig.copy().expect_err("refused");
    let expected = format!("the tables {long}_one and {long}_two have the same first 63 bytes");
    assert!(error.contains(&expected), "{error}");
    assert_eq!(rig.tables(), "0");
}

#[test]
fn names_are_as_the_statements_of_the_app_find_them() {
    let Some(rig) = Rig::new(
        "CREATE TABLE Orders (Id INTEGER PRIMARY KEY, createdAt TEXT, \"Total Sum\" REAL, \"order\" INT, \"user\" TEXT);
         CREATE TABLE \"Mixed\"\"Case\" (\"select\" INTEGER PRIMARY KEY, \"oid\" INT, Parent REFERENCES ORDERS(ID));
         INSERT INTO orders VALUES (1, 'now', 1.5, 2, 'ann');
         INSERT INTO \"Mixed\"\"Case\" VALUES (1, 2, 1);
         CREATE INDEX OnUser ON Orders (\"USER\");",
    ) else {
        return;
    };
    let report = rig.copy().expect("a copy");
    assert_eq!(report.left_out, Vec::<String>::new());
    assert_eq!(
        rig.psql("SELECT ID, createdAt, \"Total Sum\", \"order\", \"user\" FROM ORDERS"),
        "1|now|1.5|2|ann"
    );
    assert_eq!(
        rig.psql("SELECT \"select\", oid, parent FROM \"Mixed\"\"Case\""),
        "1|2|1"
    );
}

#[test]
fn values_of_several_types_get_one_that_takes_them() {
    let Some(rig) = Rig::new(
        "CREATE TABLE t (whole INTEGER, mixed INTEGER, big, exact NUMERIC, day DATE, made BOOLEAN, at DATETIME);
         INSERT INTO t VALUES (9223372036854775807, 1, 9007199254740993, 9007199254740993, '0000-01-01', 2,
            '2024-01-01T00:00:00Z');
         INSERT INTO t VALUES (-9223372036854775808, 'x', 1, 0.5, '2024-01-01', 1, NULL);",
    ) else {
        return;
    };
    rig.copy().expect("a copy");
    assert_eq!(
        rig.types("t"),
        "whole bigint, mixed text, big bigint, exact numeric, day text, made bigint, at text"
    );
    assert_eq!(
        rig.psql("SELECT * FROM t ORDER BY whole"),
        "-9223372036854775808|x|1|0.5|2024-01-01|1|\n\
         9223372036854775807|1|9007199254740993|9007199254740993|0000-01-01|2|2024-01-01T00:00:00Z"
    );
}

#[test]
fn what_the_server_cannot_have_is_told() {
    let Some(rig) = Rig::new(
        "PRAGMA foreign_keys=OFF;
         CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT CHECK (typeof(a) = 'text'), b INT DEFAULT (abs(random())),
            c TEXT COLLATE RTRIM, d AS (json_extract(a, '$.x')), e INT CHECK (e));
         CREATE TABLE keyed (a TEXT PRIMARY KEY, b REFERENCES t(a));
         CREATE VIEW v AS SELECT a FROM t;
         CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM t WHERE id < 0; END;
         CREATE VIRTUAL TABLE found USING fts5 (a);
         CREATE INDEX ti ON t (json_extract(a, '$.y'));
         INSERT INTO t (id, a, b, e) VALUES (1, '{\"x\": 5}', 2, 1);
         INSERT INTO keyed VALUES (NULL, NULL);
         CREATE TABLE _sampan_sessions (id TEXT);",
    ) else {
        return;
    };
    let report = rig.copy().expect("a copy");
    let told = report.left_out.join("\n");
    for part in [
        "the view v",
        "the trigger tr of t",
        "the virtual table found",
        "sessions, whose table is not on the server: people log in again",
        "that t.d is generated: PostgreSQL does not have, or means otherwise: the function json_extract",
        "a CHECK of t: typeof ( a ) = 'text': PostgreSQL does not have, or means otherwise: the function typeof",
        "a CHECK of t: e: ",
        "the DEFAULT abs(random()) of t.b: PostgreSQL does not have, or means otherwise: the function random",
        "the index ti of t: ",
        "the PRIMARY KEY of keyed, which has NULL in a column",
        "the foreign key of keyed (b) to t: ",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert_eq!(report.left_out.len(), 11, "{told}");
    assert_eq!(
        rig.psql("SELECT id, a, b, d, e FROM t"),
        "1|{\"x\": 5}|2|5|1"
    );
}

#[test]
fn a_value_that_cannot_be_kept_is_refused_with_its_place() {
    for (sql, told) in [
        (
            "CREATE TABLE t (a TEXT); INSERT INTO t(rowid, a) VALUES (1, 'x'), (5, 'a' || char(0))",
            "t.a, the row with the rowid 5: the text has the character NUL",
        ),
        (
            "CREATE TABLE t (a TEXT); INSERT INTO t(rowid, a) VALUES (3, CAST(x'ff' AS TEXT))",
            "t.a, the row with the rowid 3: the text is not UTF-8",
        ),
        (
            "CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO t VALUES (CAST(x'ff' AS TEXT))",
            "t.a, row 1: the text is not UTF-8",
        ),
        (
            "CREATE TABLE t (a); INSERT INTO t VALUES ('x'), (x'00')",
            "t.a holds 1 text, 1 BLOB: no type of PostgreSQL keeps both",
        ),
        (
            "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (p REFERENCES p); PRAGMA foreign_keys=OFF;
             INSERT INTO t (rowid, p) VALUES (9, 5)",
            "t, the row with the rowid 9, refers to a row of p that does not exist",
        ),
    ] {
        let Some(rig) = Rig::new(sql) else {
            return;
        };
        let error = rig.copy().expect_err("a refusal");
        assert!(error.contains(told), "{told}\n{error}");
        assert_eq!(rig.tables(), "0", "{sql}");
    }
}

#[test]
fn tables_that_are_there_are_used() {
    let Some(rig) = Rig::new(
        "CREATE TABLE child (id INTEGER PRIMARY KEY, up INTEGER REFERENCES child (id), parent INT, at TEXT, n INT);
         CREATE TABLE parent (id INTEGER PRIMARY KEY, body TEXT);
         INSERT INTO child VALUES (1, 2, 5, '2024-05-06 07:08:09', 7), (2, NULL, 5, NULL, 8);
         INSERT INTO parent VALUES (5, 'tide');",
    ) else {
        return;
    };
    rig.psql(
        "CREATE TABLE parent (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text,
            found tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
         CREATE TABLE child (id serial PRIMARY KEY, up integer REFERENCES child, parent integer REFERENCES parent,
            at timestamptz, n smallint, more text DEFAULT 'x');",
    );
    let report = rig.copy().expect("a copy");
    assert_eq!((report.tables, report.made, report.rows), (2, 0, 3));
    assert_eq!(
        rig.psql("SELECT c.id, up, body, found, at AT TIME ZONE 'UTC', more FROM child AS c JOIN parent AS p ON p.id = parent ORDER BY 1"),
        "1|2|tide|'tide':1|2024-05-06 07:08:09|x\n2||tide|'tide':1||x"
    );
    assert_eq!(
        rig.psql("INSERT INTO child DEFAULT VALUES RETURNING id"),
        "3"
    );
    assert_eq!(
        rig.psql("INSERT INTO parent (body) VALUES ('ebb') RETURNING id"),
        "6"
    );
    assert_eq!(
        rig.psql("SELECT count(*) FROM pg_constraint WHERE contype = 'f'"),
        "2"
    );

    // The tables of capabilities go along where the app has made them.
    rig.sqlite()
        .execute_batch(
            "CREATE TABLE _sampan_sessions (id BLOB PRIMARY KEY, data TEXT, began INT, ends INT) WITHOUT ROWID;
             CREATE TABLE _sampan_job_batches (id INTEGER PRIMARY KEY, left INT);
             INSERT INTO _sampan_sessions VALUES (x'0a', '{\"n\":1}', 1, 2)",
        )
        .expect("made");
    rig.psql("CREATE TABLE _sampan_sessions (id bytea PRIMARY KEY, data json, began bigint, ends bigint, version bigint DEFAULT 1);
        CREATE TABLE _sampan_job_batches (id bigint PRIMARY KEY, remaining bigint)");

    // Rows stay unless they are to be replaced.
    let error = rig.copy().expect_err("rows are there");
    assert!(
        error.contains("has rows already in child, parent") && error.contains("--replace"),
        "{error}"
    );
    rig.sqlite()
        .execute_batch("DELETE FROM child; UPDATE child SET n = 1; INSERT INTO child VALUES (3, NULL, 5, NULL, 40000)")
        .expect("changed");
    let url = rig.server.url(&rig.database);
    let error = rig.copy_with(url.clone(), true).expect_err("too large");
    assert!(
        error.contains(
            "child, the row with the rowid 3: value \"40000\" is out of range for type smallint"
        ),
        "{error}"
    );
    assert_eq!(rig.psql("SELECT count(*) FROM child"), "3");
    rig.sqlite()
        .execute_batch("UPDATE child SET n = 4")
        .expect("changed");
    let report = rig.copy_with(url, true).expect("replaced");
    assert_eq!(report.left_out, ["batches of jobs"]);
    assert_eq!(rig.psql("SELECT id, n FROM child"), "3|4");
    assert_eq!(
        rig.psql("SELECT * FROM _sampan_sessions"),
        "\\x0a|{\"n\":1}|1|2|1"
    );
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let Some(rig) = Rig::new("CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, x'00')")
    else {
        return;
    };
    rig.psql("CREATE TABLE t (a int, c text)");
    let error = rig.copy().expect_err("another column");
    assert!(
        error.contains("the table t is on the server already, without the columns b"),
        "{error}"
    );
    rig.psql("ALTER TABLE t ADD b text");
    let error = rig.copy().expect_err("another type");
    assert!(
        error.contains("t.b, the row with the rowid 1: a BLOB, which the column does not take"),
        "{error}"
    );
    rig.psql("DROP TABLE t; CREATE VIEW t AS SELECT 1 AS a, 2 AS b");
    let error = rig.copy().expect_err("a view");
    assert!(error.contains("t on the server is no table"), "{error}");
    // A trigger there changes what comes in.
    rig.psql(
        "DROP VIEW t; CREATE TABLE t (a int, b bytea); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN NEW.a := 2; RETURN NEW; END'; CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    );
    let error = rig.copy().expect_err("other values");
    assert!(
        error.contains("the copy differs: the sum over t.a is 1 in SQLite and 2 on the server"),
        "{error}"
    );
    assert_eq!(rig.psql("SELECT count(*) FROM t"), "0");
}

#[test]
fn changed_numbers_and_times_are_found() {
    let Some(rig) = Rig::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, price NUMERIC, exact, day DATE, at DATETIME, code INT,
            sent, data, kept);
         INSERT INTO t VALUES (1, 0.1 + 0.2, 1e300, '2024-02-29', '2024-05-06 07:08:09', '007',
              '2024-05-06T07:08:09+02:00',
              '{\"b\":[1.50,true],\"a\":\"\u{e4}\\u0001\",\"aa\":1e2,\"b\":-0.0}', ' {\"b\":1} '),
            (2, 12.5, 9007199254740993, '0999-12-31', '2024-05-06 07:08:09.250', 8,
              '2024-01-01 00:30:00.5-0330', '[1,{},\"\"]', '[]'),
            (3, '-1.005', 0.1, NULL, NULL, NULL, '2024-05-06 07:08:09', 5, 5),
            (4, NULL, NULL, NULL, '2024-05-06', NULL, '2024-05-06', 1.5, 1.5);",
    ) else {
        return;
    };
    // The server rounds prices, and writes all of these otherwise than SQLite.
    rig.psql(
        "CREATE TABLE t (id bigint, price numeric(10, 2), exact numeric, day date, at timestamp, code int,
            sent timestamptz, data jsonb, kept json)",
    );
    rig.copy().expect("a copy");
    let shown = "SELECT price, exact, day, at, code FROM t WHERE id = 2";
    assert_eq!(
        rig.psql(shown),
        "12.50|9007199254740993|0999-12-31|2024-05-06 07:08:09.25|8"
    );
    assert_eq!(
        rig.psql("SELECT price FROM t WHERE id IN (1, 3)"),
        "0.30\n-1.01"
    );
    rig.psql(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    );
    for (column, change) in [
        ("price", "price + 0.01"),
        ("exact", "exact + 0.001"),
        ("day", "day + 1"),
        ("at", "at + interval ''1 millisecond''"),
        ("sent", "sent + interval ''1 millisecond''"),
        (
            "data",
            "CASE WHEN jsonb_typeof(data) = ''number'' THEN ''6'' ELSE data END",
        ),
        (
            "kept",
            "CASE WHEN json_typeof(kept) = ''array'' THEN ''[ ]'' ELSE kept END",
        ),
    ] {
        rig.psql(&format!(
            "DELETE FROM t; CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN NEW.{column} := (SELECT {change} FROM (SELECT NEW.{column}) AS one); RETURN NEW; END'"
        ));
        let error = rig.copy().expect_err(column);
        assert!(
            error.contains(&format!("the copy differs: the sum over t.{column} is ")),
            "{error}"
        );
        assert_eq!(rig.psql("SELECT count(*) FROM t"), "0");
    }
}

#[test]
fn servers_that_cannot_be_used_are_told() {
    let Some(rig) = Rig::new("CREATE TABLE t (a INT)") else {
        return;
    };
    let url = rig.server.url(&rig.database);
    let wrong = url.replace("over%20the%20water", "wrong");
    let error = rig.copy_with(wrong, false).expect_err("a wrong password");
    assert!(error.contains("password authentication failed"), "{error}");
    let error = rig
        .copy_with(rig.server.url("absent"), false)
        .expect_err("no database");
    assert!(
        error.contains("database \"absent\" does not exist"),
        "{error}"
    );
    std::fs::remove_file(rig.from().path).expect("removed");
    let error = rig.copy().expect_err("no file");
    assert!(
        error.contains("there is no database") && error.contains("--from"),
        "{error}"
    );
}

#[test]
fn a_copy_tells_that_it_waits_for_another_one() {
    // The lock of migrations.
    const LOCK: i64 = 2_165_521_395_339_577_073;
    const OTHERS: &str = "pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let Some(rig) = Rig::new("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
    else {
        return;
    };
    // It ends when the copy waits for it.
    let holds = format!(
        "DO $$ BEGIN PERFORM pg_advisory_xact_lock({LOCK});
         WHILE NOT EXISTS (SELECT FROM {OTHERS} AND NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$"
    );
    let (server, database) = (Arc::clone(&rig.server), rig.database.clone());
    let holder = std::thread::spawn(move || server.psql(&database, &holds));
    wait::until("the lock is held", || {
        rig.psql(&format!("SELECT count(*) FROM {OTHERS}")) != "0"
    });
    let url = rig.server.url(&rig.database);
    for (replaces, expected) in [(false, 1), (true, 0)] {
        let mut waits = 0;
        let mut tell = |progress: CopyProgress<'_>| {
            waits += usize::from(progress == CopyProgress::Waits);
        };
        let report = rig.copy_telling(url.clone(), replaces, &mut tell);
        assert_eq!(report.map(|report| report.rows), Ok(1));
        assert_eq!(waits, expected, "replaces: {replaces}");
    }
    holder.join().expect("it has ended");
}

#[test]
fn large_tables_go_in_batches() {
    let Some(rig) = Rig::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
         INSERT INTO t SELECT i, printf('%0100d', i), randomblob(20) FROM n;
         INSERT INTO t VALUES (100000, NULL, zeroblob(3000000));",
    ) else {
        return;
    };
    let to = DatabaseConfig {
        url: Some(rig.server.url(&rig.database)),
        ..rig.from()
    };
    let job = CopyJob {
        from: &rig.from(),
        to: &to,
        migrations: &Migrations::in_folder("none"),
        replaces: false,
    };
    let mut told = Vec::new();
    let report = copy(job, &mut |progress| told.push(format!("{progress:?}"))).expect("a copy");
    assert_eq!(report.rows, 30_001);
    assert_eq!(told.first().map(String::as_str), Some("Reads(\"t\")"));
    assert_eq!(told.last().map(String::as_str), Some("Checks"));
    assert!(
        told.iter().filter(|one| one.starts_with("Rows(")).count() > 3,
        "{told:?}"
    );
    assert_eq!(
        rig.psql("SELECT count(*), sum(length(b)) FROM t"),
        "30001|3600000"
    );
}
