//! The statements of a migration stand in its text one behind the other, with nothing but spaces, comments and `;`
//! between them, and the reader of the prompt, which needs no database, finds the same ones.

use sampan_db::console::statements::statements;
use sampan_db::migrate::try_statements;

/// Pieces of migrations.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b";", b";;", b"\n", b"--", b"-- a; b\n", b"/*", b"*/", b"/* ; */", b"'", b"''", b"';'", b"\"", b"`", b"[", b"]", b"[;]", b"SELECT 1", b"SELECT 1;",
    b"SELECT ';' AS \"a;b\"", b"CREATE TABLE t(a);", b"CREATE TABLE IF NOT EXISTS t(a);", b"INSERT INTO t VALUES (1);", b"BEGIN", b"END", b"; END;",
    b"CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END;", b"CREATE TEMP TRIGGER ", b"EXPLAIN ", b"EXPLAIN QUERY PLAN ", b"CASE 1 WHEN 1 THEN 2 END",
    b"CREATE VIEW v AS SELECT 1;", b"\xc3\xa9", b"\0", b"\x0c", b"\x0b", b"\xc2\xa0", b"\xef\xbb\xbf", b"?", b":a", b"$a", b"x'00'", b"1e", b"\\",
    b"WITH ", b"PRAGMA user_version=1;", b"ALTER TABLE t ADD b;", b"DROP TABLE t;", b"trigger", b"TEMPORARY", b"#", b"@a",
];

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let console: Vec<_> = statements(text).collect();
    let mut end = 0;
    for (at, statement) in console.iter().enumerate() {
        assert!(
            statement.at >= end && text[statement.at..].starts_with(statement.sql),
            "{statement:?}"
        );
        end = statement.at + statement.sql.len();
        assert!(
            statement.is_complete || at + 1 == console.len(),
            "{statement:?}"
        );
        assert!(
            !statement.is_complete || statement.sql.ends_with(';'),
            "{statement:?}"
        );
    }
    let Ok(found) = try_statements(text) else {
        return;
    };
    let mut end = 0;
    for (start, sql) in &found {
        assert!(
            *start >= end && text[*start..].starts_with(sql),
            "{sql:?} at {start}"
        );
        assert_eq!(
            statements(&text[end..*start]).next(),
            None,
            "between statements"
        );
        end = start + sql.len();
    }
    assert_eq!(
        statements(&text[end..]).next(),
        None,
        "behind the last statement"
    );
    // SQLite keeps what follows the last statement, such as a comment.
    let ours: Vec<_> = found.iter().map(|(start, _)| *start).collect();
    let theirs: Vec<_> = console.iter().map(|statement| statement.at).collect();
    assert_eq!(theirs, ours, "{text:?}");
}
