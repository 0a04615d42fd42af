//! Statements from their text to their result: the caches, what is counted, what is refused.

use super::testing::{all, scratch};
use super::*;
use sampan_host::{Cell, ErrorKind};

fn is_send<T: Send>() {}

#[test]
fn a_connection_may_move_between_threads() {
    is_send::<SqliteConnection>();
}

#[test]
fn results_of_one_statement_share_their_columns() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(a, b)");
    let sql = "SELECT * FROM t";
    let empty = db.rows(sql);
    assert_eq!(**empty.columns(), ["a", "b"]);
    assert_eq!(empty.len(), 0);
    db.done("INSERT INTO t VALUES (1, 2)");
    // Space around a statement makes no other statement of it.
    let one = db.rows(&format!("  {sql}\n"));
    assert!(Arc::ptr_eq(empty.columns(), one.columns()));
    // A change of the schema that leaves the names as they are.
    db.done("CREATE INDEX i ON t(a)");
    assert!(Arc::ptr_eq(empty.columns(), db.rows(sql).columns()));
}

#[test]
fn a_changed_schema_changes_the_columns_at_once() {
    let (_folder, config, db) = scratch();
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    db.done("CREATE TABLE t(a)");
    db.done("INSERT INTO t VALUES (1)");
    let sql = "SELECT * FROM t";
    assert_eq!(**reader.rows(sql).columns(), ["a"]);
    assert_eq!(**db.rows(sql).columns(), ["a"]);
    db.done("ALTER TABLE t ADD COLUMN b DEFAULT 5");
    for connection in [&reader, &db] {
        let rows = connection.rows(sql);
        assert_eq!(**rows.columns(), ["a", "b"]);
        assert_eq!(rows.cell(0, 1), Cell::Int(5));
    }
    db.done("ALTER TABLE t RENAME COLUMN b TO c");
    assert_eq!(**reader.rows(sql).columns(), ["a", "c"]);
    db.done("DROP TABLE t");
    assert!(reader.refusal(sql).starts_with("no such table: t"));
}

#[test]
fn columns_are_right_after_the_statement_left_the_cache() {
    let (_folder, mut config, db) = scratch();
    config.statements_max = 1;
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    db.done("CREATE TABLE t(a)");
    let sql = "SELECT * FROM t";
    assert_eq!(**reader.rows(sql).columns(), ["a"]);
    db.done("ALTER TABLE t RENAME COLUMN a TO b");
    // The connection learns of the change before the statement does, which then is never prepared again.
    reader.sqlite().execute_batch("SELECT * FROM t").unwrap();
    assert_eq!(**reader.rows(sql).columns(), ["b"]);
    // Another statement takes its place.
    reader.rows("SELECT 1");
    db.done("ALTER TABLE t RENAME COLUMN b TO c");
    assert_eq!(**reader.rows(sql).columns(), ["c"]);
}

#[test]
fn the_cache_keeps_no_more_than_it_should() {
    let (_folder, mut config, _db) = scratch();
    config.statements_max = 3;
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    for number in 0..100 {
        reader.rows(&format!("SELECT {number}"));
    }
    assert_eq!(reader.prepared.len(), 3);
}

#[test]
fn what_a_statement_does_is_told_apart() {
    let (_folder, _, db) = scratch();
    let cases = [
        ("SELECT 1", true),
        ("CREATE TABLE t(a)", false),
        ("EXPLAIN CREATE TABLE t(a)", true),
        ("PRAGMA table_info(x)", true),
        ("WITH x AS (SELECT 1) SELECT * FROM x", true),
        ("VALUES (1)", true),
    ];
    for (sql, readonly) in cases {
        assert_eq!(db.is_readonly(sql).unwrap(), readonly, "{sql}");
        // From the cache.
        assert_eq!(db.is_readonly(sql).unwrap(), readonly, "{sql}");
    }
    db.done("CREATE TABLE t(a)");
    assert!(
        !db.is_readonly("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x")
            .unwrap()
    );
    assert!(
        !db.is_readonly("INSERT INTO t VALUES (1) RETURNING a")
            .unwrap()
    );
}

#[test]
fn changes_and_last_id_are_those_of_the_statement() {
    let (_folder, _, db) = scratch();
    let done = |changes, last_id| Done { changes, last_id };
    assert_eq!(
        db.done("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE)"),
        done(0, 0)
    );
    assert_eq!(db.done("INSERT INTO t VALUES (7, 1), (9, 2)"), done(2, 9));
    assert_eq!(db.done("SELECT * FROM t"), done(0, 0));
    assert_eq!(db.done("CREATE TABLE u(a)"), done(0, 0));
    assert_eq!(db.done("CREATE VIRTUAL TABLE f USING fts5(x)"), done(0, 0));
    assert_eq!(db.done("PRAGMA table_info(t)"), done(0, 0));
    assert_eq!(db.done("UPDATE t SET a = a"), done(2, 0));
    assert_eq!(db.done("UPDATE t SET a = 0 WHERE id = 1000"), done(0, 0));
    assert_eq!(db.done("INSERT OR IGNORE INTO t VALUES (8, 1)"), done(0, 0));
    // An upsert that updates inserts nothing.
    assert_eq!(
        db.done("INSERT INTO t(a) VALUES (1) ON CONFLICT(a) DO UPDATE SET a = 3"),
        done(1, 0)
    );
    assert_eq!(
        db.done("WITH x AS (SELECT 4) INSERT INTO t(a) SELECT * FROM x"),
        done(1, 10)
    );
    assert_eq!(db.done("INSERT INTO f VALUES ('hi')"), done(1, 1));
    // A trigger's rows are not counted.
    db.done("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1), (2); END");
    assert_eq!(db.done("INSERT INTO t(a) VALUES (99)"), done(1, 11));
    assert_eq!(db.done("DELETE FROM u"), done(2, 0));
}

#[test]
fn returning_works_through_both() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(id INTEGER PRIMARY KEY, a)");
    let sql = "INSERT INTO t(a) VALUES (1), (2), (3) RETURNING id, a";
    assert_eq!(db.rows(sql).len(), 3);
    let first = RunLimits {
        first_only: true,
        ..all()
    };
    let row = db.query(sql, &Value::Null, &first).unwrap();
    assert_eq!((row.len(), row.cell(0, 0)), (1, Cell::Int(4)));
    assert_eq!(
        db.done(sql),
        Done {
            changes: 3,
            last_id: 9
        }
    );
    assert_eq!(db.rows("SELECT count(*) FROM t").cell(0, 0), Cell::Int(9));
    let row = db
        .query("SELECT id FROM t ORDER BY id", &Value::Null, &first)
        .unwrap();
    assert_eq!((row.len(), row.cell(0, 0)), (1, Cell::Int(1)));
    // What is only found at the end of a statement is found although one row is enough.
    db.done("CREATE TABLE child(t REFERENCES t(id))");
    let fault = db
        .query(
            "INSERT INTO child VALUES (99) RETURNING t",
            &Value::Null,
            &first,
        )
        .unwrap_err();
    assert_eq!(fault.code, ErrorCode::ForeignKey);
    assert_eq!(db.rows("SELECT * FROM child").len(), 0);
    // Nothing is open afterwards, or this would fail.
    db.done("DROP TABLE child");
    db.done("DROP TABLE t");
}

#[test]
fn a_returned_result_that_is_too_large_is_undone() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(a)");
    db.control("BEGIN").unwrap();
    db.done("INSERT INTO t VALUES (1)");
    let small = RunLimits {
        result_bytes_max: 100,
        ..all()
    };
    let sql = "INSERT INTO t VALUES (zeroblob(1000)) RETURNING a";
    for _ in 0..2 {
        let fault = db.query(sql, &Value::Null, &small).unwrap_err();
        assert!(fault.error.message().starts_with("the result is larger"));
    }
    assert_eq!(db.query(sql, &Value::Null, &all()).unwrap().len(), 1);
    // The transaction is gone with the statement, and the savepoint too.
    let sql = "INSERT OR ROLLBACK INTO u VALUES (1) RETURNING a";
    db.done("CREATE TABLE u(a UNIQUE)");
    db.control("COMMIT").unwrap();
    db.control("BEGIN").unwrap();
    assert_eq!(db.rows(sql).len(), 1);
    let fault = db.query(sql, &Value::Null, &all()).unwrap_err();
    assert_eq!(fault.code, ErrorCode::Unique);
    assert!(!db.in_transaction());
    assert_eq!(db.rows("SELECT * FROM t").len(), 2);
    assert_eq!(db.rows("SELECT * FROM u").len(), 0);
}

#[test]
fn a_full_text_index_out_of_step_is_no_damage() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(a)");
    db.done("CREATE VIRTUAL TABLE f USING fts5(a, content='t')");
    db.done("INSERT INTO t VALUES ('planks')");
    let sql = "INSERT INTO f(f, rank) VALUES ('integrity-check', 1)";
    let fault = db.exec(sql, &Value::Null, &all()).unwrap_err();
    assert_eq!(fault.code, ErrorCode::Data, "{:?}", fault.error);
}

#[test]
fn text_that_is_not_one_statement_is_refused() {
    let (_folder, _, db) = scratch();
    let two = "one statement at a time: use db.batch";
    assert!(db.refusal("SELECT 1; SELECT 2").starts_with(two));
    assert!(db.refusal("SELECT 1; SELEC 2").starts_with(two));
    assert!(db.refusal("SELECT 1; nonsense(").starts_with(two));
    for empty in ["", " \n", ";", "-- nothing", "/* nothing"] {
        assert!(
            db.refusal(empty).starts_with("there is no statement"),
            "{empty:?}"
        );
    }
    assert!(
        db.refusal("SELECT '\0'")
            .starts_with("the statement contains a NUL byte")
    );
    let long = format!("SELECT '{}'", "x".repeat(SQL_BYTES_MAX));
    assert!(
        db.refusal(&long)
            .starts_with("the statement has 1048585 bytes")
    );
    assert_eq!(db.rows("SELECT 1; -- and no more").len(), 1);
    assert_eq!(db.rows(";;\u{feff} SELECT 1;;").len(), 1);
}

#[test]
fn errors_tell_the_place_and_the_statement() {
    let (_folder, _, db) = scratch();
    assert_eq!(
        db.refusal("\n SELECT 'ä',\n  1 FORM t"),
        "near \"t\": syntax error at 3:10 (in: SELECT 'ä', 1 FORM t)"
    );
    assert_eq!(
        db.refusal("SELECT nope"),
        "no such column: nope at 1:8 (in: SELECT nope)"
    );
    // Double quotes are names, never text.
    assert!(db.refusal("SELECT \"text\"").starts_with("no such column"));
    assert!(db.refusal("SELECT (1").starts_with("incomplete input"));
    db.done("CREATE TABLE users(email UNIQUE)");
    db.done("INSERT INTO users VALUES ('a')");
    let fault = db
        .exec("INSERT INTO users VALUES ('a')", &Value::Null, &all())
        .unwrap_err();
    assert_eq!(fault.code, ErrorCode::Unique);
    assert_eq!(
        fault.error.message(),
        "UNIQUE constraint failed: users.email (in: INSERT INTO users VALUES ('a'))"
    );
}

#[test]
fn control_goes_past_the_authorizer_and_leaves_no_hole() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(a)");
    for _ in 0..2 {
        db.control("BEGIN IMMEDIATE").unwrap();
        assert!(db.in_transaction());
        db.control("SAVEPOINT s1").unwrap();
        db.done("INSERT INTO t VALUES (1)");
        db.control("ROLLBACK TO s1").unwrap();
        db.control("RELEASE s1").unwrap();
        // The very texts that stand in the cache now.
        for sql in [
            "BEGIN IMMEDIATE",
            "SAVEPOINT s1",
            "RELEASE s1",
            "ROLLBACK TO s1",
        ] {
            assert!(db.refusal(sql).starts_with("not authorized"), "{sql}");
        }
        db.control("COMMIT").unwrap();
        assert!(
            db.refusal("COMMIT")
                .contains("commits when its function ends")
        );
        assert!(!db.in_transaction());
    }
    assert_eq!(db.rows("SELECT * FROM t").len(), 0);
    let fault = db.control("COMMIT").unwrap_err();
    assert!(fault.error.message().contains("no transaction is active"));
}

#[test]
fn a_reader_cannot_write() {
    let (_folder, config, db) = scratch();
    db.done("CREATE TABLE t(a)");
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    let fault = reader
        .exec("INSERT INTO t VALUES (1)", &Value::Null, &all())
        .unwrap_err();
    assert_eq!(fault.code, ErrorCode::Denied);
    assert!(!reader.is_readonly("INSERT INTO t VALUES (1)").unwrap());
}

#[test]
fn a_lock_held_elsewhere_is_busy_at_once() {
    let (_folder, config, db) = scratch();
    let other = SqliteConnection::open(&config, Role::Maintenance).unwrap();
    other.control("BEGIN IMMEDIATE").unwrap();
    let fault = db.control("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(fault.code, ErrorCode::Busy);
    assert_eq!(fault.error.kind(), ErrorKind::Unavailable);
    other.control("ROLLBACK").unwrap();
    db.control("BEGIN IMMEDIATE").unwrap();
}
