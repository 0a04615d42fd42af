//! A database file that another one replaces while it is open.

use super::Database;
use crate::config::DatabaseConfig;
use crate::group_commit::writer::Refused;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::open::Role;
use crate::test_folder::TestFolder;
use sampan_host::log::Level;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// An open database with a row that is in its log only, and the lines of the operator.
struct Replaced {
    folder: TestFolder,
    database: Database,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Replaced {
    fn new() -> Self {
        let folder = TestFolder::new();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let of_report = Arc::clone(&lines);
        let report = move |_: Level, line: &str| {
            of_report.lock().expect("no panic").push(line.to_owned());
        };
        let database = Database::new(DatabaseConfig::new(folder.path("a.db")), Arc::new(report));
        database.prepare().expect("opened");
        let scene = Self {
            folder,
            database,
            lines,
        };
        scene.write("CREATE TABLE old(id); INSERT INTO old VALUES (7)");
        rusqlite::Connection::open(scene.folder.path("right.db"))
            .and_then(|right| {
                right.execute_batch("CREATE TABLE new(id); INSERT INTO new VALUES (1), (2)")
            })
            .expect("another database");
        scene
    }

    /// Writes as a worker does, if the file is still there.
    fn write(&self, sql: &str) {
        let opened = self.database.opened().expect("open");
        let writer = opened.writers.try_take().expect("free");
        writer.control("BEGIN IMMEDIATE").expect("begun");
        writer.sqlite().execute_batch(sql).expect("written");
        match writer.commit() {
            Ok(()) => self.database.committed(opened, writer),
            Err(fault) => opened.take_back(writer, &fault),
        }
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.folder.path(from), self.folder.path(to)).expect(from);
    }

    /// Ends as the server does. Returns the folder and the lines.
    fn end(self) -> (TestFolder, String) {
        self.database.shutdown();
        drop(self.database);
        let lines = self.lines.lock().expect("no panic").join("\n");
        (self.folder, lines)
    }
}

fn count(path: &Path, table: &str) -> i64 {
    let sqlite = rusqlite::Connection::open(path).expect("a database");
    let sql = format!("SELECT count(*) FROM {table}");
    sqlite
        .query_row(&sql, (), |row| row.get(0))
        .expect("a table")
}

#[test]
fn the_log_of_a_replaced_file_is_not_left_beside_the_new_one() {
    for is_noticed in [true, false] {
        let scene = Replaced::new();
        scene.rename("a.db", "moved.db");
        if is_noticed {
            scene.write("INSERT INTO old VALUES (8)");
        }
        scene.rename("right.db", "a.db");
        let (folder, lines) = scene.end();
        assert!(lines.contains("a.db.left-1-wal"), "{lines}");
        assert!(!folder.path("a.db-wal").exists() && !folder.path("a.db-shm").exists());
        assert_eq!(count(&folder.path("a.db"), "new"), 2);
        // The log has the last writes of the old file.
        let kept = folder.path("a.db.left-1-wal");
        fs::rename(kept, folder.path("moved.db-wal")).expect("kept");
        assert!(count(&folder.path("moved.db"), "old") >= 1);
    }
}

#[test]
fn a_file_that_returns_has_its_log() {
    let scene = Replaced::new();
    scene.rename("a.db", "moved.db");
    scene.write("INSERT INTO old VALUES (8)");
    assert!(scene.folder.path("a.db.left-1-wal").exists());
    scene.rename("moved.db", "a.db");
    let (folder, lines) = scene.end();
    assert!(lines.contains("was removed or replaced"), "{lines}");
    assert!(!folder.path("a.db.left-1-wal").exists());
    assert!(count(&folder.path("a.db"), "old") >= 1);
}

#[test]
fn writes_whose_log_is_removed_are_copied_into_the_database() {
    for ends in [&["-wal"][..], &["-wal", "-shm"], &["-shm"]] {
        let scene = Replaced::new();
        for end in ends {
            fs::remove_file(scene.folder.path(format!("a.db{end}"))).expect("removed");
        }
        let opened = scene.database.opened().expect("open");
        scene.write("INSERT INTO old VALUES (8)");
        assert!(opened.writers.try_take().is_none(), "{ends:?}");
        assert_eq!(opened.writers.refused(), Some(Refused::Gone), "{ends:?}");
        // As a kill would leave it.
        let copy = scene.folder.path("copy.db");
        fs::copy(scene.folder.path("a.db"), &copy).expect("copied");
        if !ends.contains(&"-wal") {
            let (log, copied) = ("a.db-wal", "copy.db-wal");
            // Its last connection may have copied it into the database, and removed it.
            let _ = fs::copy(scene.folder.path(log), scene.folder.path(copied));
        }
        assert!(count(&copy, "old") >= 1, "{ends:?}");
        let (_folder, lines) = scene.end();
        assert!(lines.contains("-wal or"), "{lines}");
        let is_copied = lines.contains("were copied into the database");
        assert_eq!(is_copied, ends.contains(&"-wal"), "{lines}");
    }
}

#[test]
fn a_database_that_is_opened_again_has_another_log() {
    let scene = Replaced::new();
    let config = scene.database.config.clone();
    let (folder, _) = scene.end();
    assert!(!folder.path("a.db-wal").exists());
    let writer = SqliteConnection::open(&config, Role::Writer);
    let writer = writer.map_err(|fault| fault.error).expect("opened");
    writer
        .control("BEGIN IMMEDIATE")
        .map_err(|fault| fault.error)
        .expect("begun");
    writer
        .commit()
        .map_err(|fault| fault.error)
        .expect("its file is there");
}
