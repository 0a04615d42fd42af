//! The SQL allowed to scripts, and the errors for the rest.

use super::*;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::connection::testing::scratch;
use crate::sqlite::open::Role;
use sampan_host::Cell;

#[test]
fn the_first_word_stands_behind_space_and_comments() {
    let cases = [
        ("SELECT 1", "SELECT"),
        (" \n-- one\n/* two\n */;; \u{feff}vacuum", "vacuum"),
        ("", ""),
        (" ;; ", ""),
        ("-- only a comment", ""),
        ("/* never closed", ""),
        ("(1)", "("),
        ("ä", "ä"),
        ("€", "€"),
    ];
    for (sql, word) in cases {
        assert_eq!(first_word(sql), word, "{sql:?}");
    }
}

#[test]
fn pragmas_that_read_pass_and_others_do_not() {
    assert!(judge_pragma("table_info", Some("t")).is_none());
    assert!(judge_pragma("User_Version", None).is_none());
    assert!(judge_pragma("user_version", Some("5")).is_some());
    assert!(judge_pragma("table_info", None).is_some());
    assert!(judge_pragma("writable_schema", Some("1")).is_some());
    assert!(judge_pragma("optimize", None).is_some());
}

#[test]
fn what_is_refused_says_what_to_use() {
    let (_folder, config, writer) = scratch();
    writer.done("CREATE TABLE t(a)");
    writer.done("CREATE TABLE _sampan_migrations(a)");
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    let batch = "db.batch";
    let cases = [
        ("BEGIN", batch),
        ("BEGIN IMMEDIATE", batch),
        ("COMMIT", batch),
        ("END TRANSACTION", batch),
        ("ROLLBACK", batch),
        ("SAVEPOINT a", batch),
        ("RELEASE a", batch),
        ("ROLLBACK TO a", batch),
        ("/* x */ ; begin", batch),
        ("ATTACH 'other.db' AS other", "one database"),
        ("ATTACH ? AS other", "one database"),
        ("DETACH main", "nothing is attached"),
        ("DETACH ?", "not authorized"),
        ("VACUUM", "sampan backup"),
        ("-- so\n vacuum INTO 'copy.db'", "sampan backup"),
        ("PRAGMA user_version = 3", "scripts only read it"),
        ("PRAGMA journal_mode = DELETE", "[db] of sampan.toml"),
        ("PRAGMA journal_mode(DELETE)", "[db] of sampan.toml"),
        ("PRAGMA foreign_keys = OFF", "foreign keys are on"),
        ("PRAGMA query_only = OFF", "PRAGMAs that read"),
        ("PRAGMA writable_schema = ON", "PRAGMAs that read"),
        ("PRAGMA schema_version = 1", "PRAGMAs that read"),
        ("PRAGMA trusted_schema = ON", "PRAGMAs that read"),
        ("PRAGMA wal_checkpoint", "the server does this"),
        ("PRAGMA optimize", "the server does this"),
        ("DELETE FROM _Sampan_migrations", "by the server alone"),
        ("UPDATE _sampan_migrations SET a = 2", "by the server alone"),
        (
            "INSERT INTO _sampan_migrations VALUES (1)",
            "by the server alone",
        ),
        ("DROP TABLE _sampan_migrations", "by the server alone"),
        (
            "ALTER TABLE _sampan_migrations ADD b",
            "by the server alone",
        ),
        ("CREATE TEMP TABLE x(a)", "each worker has others"),
        ("CREATE TEMP TABLE x AS SELECT 1", "each worker has others"),
        ("CREATE TABLE temp.x(a)", "each worker has others"),
        ("CREATE TEMP VIEW x AS SELECT 1", "each worker has others"),
        ("CREATE VIEW TEMP.x AS SELECT 1", "each worker has others"),
        (
            "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
            "each worker has others",
        ),
        (
            "CREATE VIRTUAL TABLE temp.x USING fts5(a)",
            "each worker has others",
        ),
    ];
    for connection in [&writer, &reader] {
        for (sql, advice) in cases {
            let fault = connection.is_readonly(sql).expect_err(sql);
            let message = fault.error.message();
            assert!(
                message.starts_with("not authorized") && message.contains(advice),
                "{sql}: {message}"
            );
        }
    }
    // SQLite has been built without the function; the authorizer is there for when it is not.
    assert!(
        writer
            .refusal("SELECT load_extension('x')")
            .contains("load_extension")
    );
    // SQLite itself allows these with parameters, and calls the address that it is given.
    for sql in ["SELECT fts3_tokenizer(?1)", "SELECT FTS3_Tokenizer(?1, ?2)"] {
        let refusal = writer.refusal(sql);
        assert!(
            refusal.contains("not authorized to use function"),
            "{sql}: {refusal}"
        );
    }
}

#[test]
fn the_schema_cannot_be_written() {
    let (_folder, _, db) = scratch();
    db.done("CREATE TABLE t(a)");
    db.done("CREATE VIRTUAL TABLE f USING fts5(x)");
    let cases = [
        "UPDATE sqlite_schema SET sql = 'nonsense'",
        "DELETE FROM sqlite_master",
        "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x(a)')",
        "DROP TABLE sqlite_schema",
        // What a virtual table keeps for itself.
        "DELETE FROM f_data",
    ];
    for sql in cases {
        assert!(
            db.refusal(sql).contains("may not be"),
            "{sql}: {}",
            db.refusal(sql)
        );
    }
    assert_eq!(
        db.rows("SELECT name FROM sqlite_schema WHERE name = 't'")
            .len(),
        1
    );
}

#[test]
fn the_schema_can_be_changed_as_intended() {
    let (_folder, _, db) = scratch();
    for sql in [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT) STRICT",
        "CREATE INDEX i ON t(a)",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE TABLE log(a)",
        "CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END",
        "INSERT INTO t(a) VALUES ('x')",
        "ALTER TABLE t ADD COLUMN b INTEGER",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE u RENAME COLUMN b TO c",
        "ALTER TABLE u DROP COLUMN c",
        "ANALYZE",
        "REINDEX",
        "DROP TRIGGER tr",
        "DROP VIEW v",
        "DROP INDEX i",
        "DROP TABLE u",
    ] {
        db.done(sql);
    }
    assert_eq!(db.rows("SELECT * FROM log").len(), 1);
}

#[test]
fn full_text_search_works_behind_the_authorizer() {
    let (_folder, config, db) = scratch();
    db.control("BEGIN IMMEDIATE").unwrap();
    for sql in [
        "CREATE TABLE notes(id INTEGER PRIMARY KEY, body TEXT)",
        "CREATE VIRTUAL TABLE found USING fts5(body, content='notes', content_rowid='id')",
        "CREATE TRIGGER added AFTER INSERT ON notes BEGIN
           INSERT INTO found(rowid, body) VALUES (new.id, new.body); END",
        "CREATE TRIGGER gone AFTER DELETE ON notes BEGIN
           INSERT INTO found(found, rowid, body) VALUES ('delete', old.id, old.body); END",
        "INSERT INTO notes(body) VALUES ('three planks'), ('one river')",
        "INSERT INTO found(found) VALUES ('optimize')",
        "INSERT INTO found(found) VALUES ('integrity-check')",
    ] {
        db.done(sql);
    }
    db.control("COMMIT").unwrap();
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    let sql =
        "SELECT rowid, snippet(found, 0, '[', ']', '', 5) FROM found WHERE found MATCH 'planks'";
    assert_eq!(reader.rows(sql).cell(0, 1), Cell::Text("three [planks]"));
    db.done("DELETE FROM notes WHERE id = 1");
    assert_eq!(reader.rows(sql).len(), 0);
    db.done("DROP TABLE found");
}

#[test]
fn pragmas_that_read_work_in_both_forms() {
    let (_folder, config, db) = scratch();
    db.done("CREATE TABLE t(a REFERENCES t(a))");
    db.done("CREATE INDEX i ON t(a)");
    let reader = SqliteConnection::open(&config, Role::Reader).unwrap();
    for connection in [&db, &reader] {
        for sql in [
            "PRAGMA table_info(t)",
            "PRAGMA table_xinfo('t')",
            "PRAGMA main.index_list(t)",
            "PRAGMA index_info(i)",
            "PRAGMA foreign_key_list(t)",
            "PRAGMA user_version",
            "PRAGMA compile_options",
            "PRAGMA data_version",
            "PRAGMA integrity_check",
            "PRAGMA quick_check(1)",
            "SELECT name FROM pragma_table_info('t')",
            "SELECT * FROM pragma_user_version",
        ] {
            assert!(!connection.rows(sql).is_empty(), "{sql}");
        }
    }
}
