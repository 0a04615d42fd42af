//! The database for people: what runs, what is refused, and what a dump brings back.

use super::*;
use crate::test_folder::TestFolder;
use sampan_client::wait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes what a text gives as one line per row.
#[derive(Default)]
struct Lines(Vec<String>);

impl Output for Lines {
    fn columns(&mut self, names: &[&str]) -> io::Result<()> {
        self.0.push(names.join("|"));
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let shown = cells.iter().map(|cell| match cell {
            Cell::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        });
        self.0.push(shown.collect::<Vec<_>>().join("|"));
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn changed(&mut self, rows: u64) -> io::Result<()> {
        self.0.push(format!("changed {rows}"));
        Ok(())
    }

    fn plan(&mut self, steps: &[PlanStep]) -> io::Result<()> {
        self.0.extend(steps.iter().map(|step| step.words.clone()));
        Ok(())
    }
}

const SCHEMA: &str = "
    CREATE TABLE user(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, photo BLOB, size REAL, long AS (length(name)));
    CREATE TABLE note(user REFERENCES user, text);
    CREATE INDEX note_user ON note(user);
    CREATE VIEW names AS SELECT name FROM user;
    CREATE TRIGGER note_gone AFTER DELETE ON user BEGIN DELETE FROM note WHERE user = old.id; END;
    CREATE VIRTUAL TABLE search USING fts5(text);
    CREATE VIRTUAL TABLE outside USING fts5(text, content='note', content_rowid='rowid');
    INSERT INTO user(name, photo, size) VALUES ('it''s; ä', X'00ff', 0.1), (NULL, NULL, 9e999), ('a' || char(0) || \
     'b', X'', -1e300);
    INSERT INTO note VALUES (1, 'first'), (3, 'second');
    INSERT INTO search(rowid, text) VALUES (7, 'needle in hay');
    INSERT INTO outside(outside) VALUES('rebuild');
    DELETE FROM user WHERE id = 2;
    PRAGMA user_version=5;";

fn console(folder: &TestFolder, name: &str, is_writer: bool) -> Console {
    Console::open(&DatabaseConfig::new(folder.path(name)), is_writer).expect("opened")
}

fn filled(folder: &TestFolder) -> Console {
    let console = console(folder, "data.db", true);
    console.run(SCHEMA, &mut Lines::default()).expect("made");
    console
}

fn lines(console: &Console, sql: &str) -> Vec<String> {
    let mut lines = Lines::default();
    console.run(sql, &mut lines).expect("valid");
    lines.0
}

fn fault_of(console: &Console, sql: &str) -> SqlFault {
    match console.run(sql, &mut Lines::default()) {
        Err(RunError::Sql(fault)) => fault,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn rows_and_changes_are_given_in_order() {
    let folder = TestFolder::new();
    let console = filled(&folder);
    assert_eq!(
        lines(
            &console,
            "SELECT id, name FROM user WHERE id = 1; DELETE FROM note; SELECT 1 WHERE 0;"
        ),
        ["id|name", "Int(1)|it's; ä", "changed 2", "1"]
    );
    assert_eq!(
        lines(&console, "EXPLAIN SELECT * FROM note WHERE user = 1"),
        ["find rows of note by the index note_user, where user = ?"]
    );
    assert_eq!(
        console.tables().expect("read"),
        ["names", "note", "outside", "search", "user"]
    );
    assert!(
        console
            .schema(Some("NOTE"))
            .expect("read")
            .join("")
            .contains("CREATE INDEX note_user")
    );
    assert!(console.schema(Some("gone")).is_err());
    assert_eq!(
        console.indexes().expect("read"),
        ["note_user on note(user)"]
    );
    assert!(console.words().contains(&"photo".to_owned()));
}

#[test]
fn rows_that_triggers_change_are_not_counted() {
    let folder = TestFolder::new();
    let console = console(&folder, "data.db", true);
    let schema = "CREATE TABLE a(x); CREATE TABLE b(x);
        CREATE TRIGGER copies AFTER INSERT ON a BEGIN
            INSERT INTO b VALUES (new.x); INSERT INTO b VALUES (new.x);
        END;";
    console.run(schema, &mut Lines::default()).expect("made");
    assert_eq!(
        lines(
            &console,
            "INSERT INTO a VALUES (1), (2); CREATE TABLE c(x);"
        ),
        ["changed 2", "changed 0"]
    );
    let sql = "INSERT INTO a VALUES (3); CREATE TABLE d(x); UPDATE a SET x = 4;";
    let loaded = console
        .load(sql, Keys::Checked, &mut |_| ())
        .expect("valid");
    assert_eq!((loaded.statements, loaded.changes), (3, 4));
}

#[test]
fn reading_only_lets_nothing_write() {
    let folder = TestFolder::new();
    drop(filled(&folder));
    let console = console(&folder, "data.db", false);
    let copy = folder.path("copy.db");
    for sql in [
        "INSERT INTO note VALUES (1, 2)",
        "DELETE FROM note",
        "UPDATE note SET text = 1",
        "CREATE TABLE x(y)",
        "CREATE TEMP TABLE x(y)",
        "DROP TABLE note",
        "PRAGMA query_only=OFF",
        "PRAGMA user_version=9",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA wal_checkpoint",
        "VACUUM",
        "REINDEX",
        "ANALYZE",
        &format!("VACUUM INTO '{}'", copy.display()),
        &format!("ATTACH '{}' AS x", copy.display()),
        "INSERT INTO outside(outside) VALUES('rebuild')",
    ] {
        let fault = fault_of(&console, sql);
        assert!(
            fault.message.ends_with("start with --write"),
            "{sql}: {}",
            fault.message
        );
    }
    assert!(!copy.exists());
    assert_eq!(
        lines(&console, "EXPLAIN DELETE FROM note; PRAGMA user_version").len(),
        3
    );
    assert_eq!(
        lines(&console, "BEGIN; SELECT count(*) FROM note; COMMIT")[2],
        "Int(2)"
    );
    assert_eq!(lines(&console, "PRAGMA table_info(note)").len(), 3);
    let missing = Console::open(&DatabaseConfig::new(folder.path("none.db")), false);
    assert!(missing.is_err_and(|error| error.to_string().contains("there is no database")));
    assert!(!folder.path("none.db").exists());
}

#[test]
fn reading_only_reads_virtual_tables_and_checks() {
    let folder = TestFolder::new();
    let made =
        "CREATE VIRTUAL TABLE box USING rtree(id, low, high); INSERT INTO box VALUES (1, 2, 3)";
    lines(&filled(&folder), made);
    let console = console(&folder, "data.db", false);
    assert_eq!(lines(&console, "SELECT high FROM box")[1], "Real(3.0)");
    for check in ["PRAGMA integrity_check", "PRAGMA quick_check"] {
        assert_eq!(lines(&console, check)[1], "ok", "{check}");
    }
    for sql in ["DELETE FROM box", "INSERT INTO box VALUES (2, 3, 4)"] {
        let fault = fault_of(&console, sql);
        assert!(fault.message.ends_with("start with --write"), "{sql}");
    }
    let large = fault_of(&console, "SELECT zeroblob(1000000000)");
    assert!(large.message.contains("too big"), "{}", large.message);
}

#[test]
fn a_fault_has_its_line_and_column() {
    let folder = TestFolder::new();
    let console = filled(&folder);
    let fault = fault_of(&console, "SELECT 1;\n-- two\nSELECT ä,\n  nam FROM user;");
    assert_eq!(
        (fault.line, fault.column, fault.text.as_str()),
        (3, 8, "SELECT ä,")
    );
    let fault = fault_of(&console, "SELECT 1;\nSELECT name,\n  gone FROM user;");
    assert_eq!(
        (fault.line, fault.column, fault.text.as_str()),
        (3, 3, "  gone FROM user;")
    );
    assert_eq!(fault.message, "no such column: gone");
    let fault = fault_of(&console, "EXPLAIN QUERY PLAN SELECT * FROM gone");
    assert_eq!(fault.message, "no such table: gone");
    assert!(fault_of(&console, "SELECT ?").message.contains("parameter"));
}

#[test]
fn what_runs_can_be_stopped_and_the_next_runs() {
    let folder = TestFolder::new();
    let console = filled(&folder);
    let interrupt = console.interrupt();
    interrupt.stop();
    let is_over = Arc::new(AtomicBool::new(false));
    let must_end = Arc::clone(&is_over);
    // Again and again, as it may not have begun.
    let stopper = std::thread::spawn(move || {
        wait::until("its end", || {
            interrupt.stop();
            must_end.load(Ordering::Relaxed)
        });
    });
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let stopped = console.run(endless, &mut Lines::default());
    assert!(matches!(stopped, Err(RunError::Interrupted)), "{stopped:?}");
    is_over.store(true, Ordering::Relaxed);
    stopper.join().expect("no panic");
    assert_eq!(lines(&console, "SELECT 1")[1], "Int(1)");
}

fn dumped(console: &Console) -> String {
    let mut bytes = Vec::new();
    console.dump(&mut bytes).expect("dumped");
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn a_dump_makes_the_same_database() {
    let folder = TestFolder::new();
    let first = filled(&folder);
    let text = dumped(&first);
    let second = console(&folder, "second.db", true);
    let report = second
        .load(&text, Keys::CheckedAtEnd, &mut |_| {})
        .expect("loaded");
    assert!(report.statements > 10 && report.changes >= 5, "{report:?}");
    assert_eq!(dumped(&second), text);
    for sql in [
        "SELECT id, hex(name), hex(photo), size, long, typeof(name) FROM user",
        "SELECT rowid, text FROM search WHERE search MATCH 'needle'",
        "SELECT rowid, text FROM outside WHERE outside MATCH 'second'",
        "SELECT * FROM sqlite_sequence",
        "PRAGMA user_version",
        "PRAGMA integrity_check",
    ] {
        assert_eq!(lines(&first, sql), lines(&second, sql), "{sql}");
    }
    assert_eq!(
        first.schema(None).expect("read"),
        second.schema(None).expect("read")
    );
}

#[test]
fn a_file_is_loaded_whole_or_not_at_all() {
    let folder = TestFolder::new();
    let console = filled(&folder);
    for (text, keys, part) in [
        (
            "DELETE FROM note; CREATE TABLE user(x);",
            Keys::CheckedAtEnd,
            "already exists: a dump makes its tables itself, so load it into a new file (--db FILE)",
        ),
        (
            "BEGIN; DELETE FROM note; ROLLBACK; SELECT 1;",
            Keys::CheckedAtEnd,
            "ended the transaction",
        ),
        (
            "DELETE FROM note; INSERT INTO note VALUES (99, 'x');",
            Keys::CheckedAtEnd,
            "refers to a row of user",
        ),
        (
            "DELETE FROM note; INSERT INTO note VALUES (99, 'x');",
            Keys::Checked,
            "FOREIGN KEY",
        ),
        (
            "DELETE FROM note;\nINSERT INTO note VALUES (?, 'x');",
            Keys::Checked,
            "parameter",
        ),
    ] {
        match console.load(text, keys, &mut |_| {}) {
            Err(RunError::Sql(fault)) => assert!(fault.message.contains(part), "{}", fault.message),
            other => panic!("{text}: {other:?}"),
        }
        assert!(!console.in_transaction());
        assert_eq!(
            lines(&console, "SELECT count(*) FROM note")[1],
            "Int(2)",
            "{text}"
        );
    }
    let late = "INSERT INTO note VALUES (50, 'early'); INSERT INTO user(id) VALUES (50);";
    console
        .load(late, Keys::CheckedAtEnd, &mut |_| {})
        .expect("checked at the end");
}

#[test]
fn an_index_without_its_texts_is_not_dumped() {
    let folder = TestFolder::new();
    let console = console(&folder, "data.db", true);
    lines(
        &console,
        "CREATE VIRTUAL TABLE bare USING fts5(text, content='')",
    );
    match console.dump(&mut Vec::new()) {
        Err(DumpError::Database(error)) => assert!(error.to_string().contains("use sampan backup")),
        other => panic!("{other:?}"),
    }
}
