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
        crate::sqlite::memory::connect_for_test(scene.folder.path("right.db"))
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

    /// Removes the log or its index.
    fn remove(&self, ends: &[&str]) {
        for end in ends {
            fs::remove_file(self.folder.path(format!("a.db{end}"))).expect("removed");
        }
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
    let sqlite = crate::sqlite::memory::connect_for_test(path).expect("a database");
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
        scene.remove(ends);
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
        let lost = match ends.contains(&"-wal") {
            true => "a.db-wal, the write-ahead log, was removed",
            false => "a.db-shm, the index of the write-ahead log, was removed",
        };
        assert!(lines.contains(lost), "{lines}");
        assert_eq!(lines.lines().count(), 1, "{lines}");
        let is_copied = lines.contains("were copied into the database");
        assert_eq!(is_copied, ends.contains(&"-wal"), "{lines}");
    }
}

#[test]
fn a_log_that_is_removed_from_an_idle_server_is_copied_at_its_end() {
    for ends in [&["-wal"][..], &["-wal", "-shm"]] {
        let scene = Replaced::new();
        scene.remove(ends);
        let (folder, lines) = scene.end();
        assert!(lines.contains("were copied into the database"), "{lines}");
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert_eq!(count(&folder.path("a.db"), "old"), 1);
    }
}

#[test]
fn a_log_that_is_removed_is_copied_before_a_connection_is_opened() {
    let scene = Replaced::new();
    let opened = scene.database.opened().expect("open");
    let writer = opened.writers.try_take().expect("free");
    scene.remove(&["-wal"]);
    assert!(!opened.may_open(), "a worker has the connection");
    assert_eq!(opened.writers.refused(), None);
    opened.writers.give(writer);
    for _ in 0..2 {
        assert!(opened.may_open(), "the log is in the database");
        let reader = SqliteConnection::open(&scene.database.config, Role::Reader);
        let reader = reader.map_err(|fault| fault.error).expect("opened");
        assert_eq!(reader.rows("SELECT id FROM old").len(), 1);
    }
    assert_eq!(opened.writers.refused(), Some(Refused::Gone));
    let (_folder, lines) = scene.end();
    assert!(lines.contains("were copied into the database"), "{lines}");
    assert_eq!(lines.lines().count(), 1, "{lines}");
}

/// A connection of another program that needs the state of the database as it is now.
fn reader_of_this_state(scene: &Replaced) -> rusqlite::Connection {
    let reader =
        crate::sqlite::memory::connect_for_test(scene.folder.path("a.db")).expect("opened");
    reader
        .execute_batch("BEGIN; SELECT * FROM old")
        .expect("read");
    reader
}

#[test]
fn a_log_that_a_reader_needs_is_copied_when_that_has_ended() {
    let scene = Replaced::new();
    let reader = reader_of_this_state(&scene);
    scene.write("INSERT INTO old VALUES (8)");
    scene.remove(&["-wal"]);
    scene.write("INSERT INTO old VALUES (9)");
    let told = scene.lines.lock().expect("no panic").join("\n");
    assert!(
        told.contains("are not copied into the database yet"),
        "{told}"
    );
    reader.execute_batch("COMMIT").expect("ended");
    let (folder, lines) = scene.end();
    assert!(
        lines.contains("a.db-wal were copied into the database"),
        "{lines}"
    );
    drop(reader);
    assert!(count(&folder.path("a.db"), "old") >= 2);
}

#[test]
fn a_log_is_not_copied_over_what_another_process_has_written_since() {
    let scene = Replaced::new();
    let reader = reader_of_this_state(&scene);
    scene.write("INSERT INTO old VALUES (8)");
    scene.remove(&["-wal", "-shm"]);
    scene.write("INSERT INTO old VALUES (9)");
    reader.execute_batch("COMMIT").expect("ended");
    drop(reader);
    // The file is older than its log, and another program has changed it.
    let file = fs::File::options()
        .append(true)
        .open(scene.folder.path("a.db"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    file.and_then(|file| file.set_modified(later))
        .expect("changed");
    let known = &scene.database.config;
    assert!(!known.file.is_ours(&known.path));
    let (_folder, lines) = scene.end();
    assert!(!lines.contains("were copied"), "{lines}");
}

#[test]
fn a_log_of_another_process_is_left_alone() {
    let scene = Replaced::new();
    scene.remove(&["-wal", "-shm"]);
    let log = scene.folder.path("a.db-wal");
    fs::write(&log, "another process has written this").expect("written");
    let opened = scene.database.opened().expect("open");
    assert!(!opened.may_open(), "its pages are others");
    let (_folder, lines) = scene.end();
    assert!(
        lines.contains("its last writes are missing after a restart"),
        "{lines}"
    );
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let left = fs::read_to_string(log).expect("it is still there");
    assert_eq!(left, "another process has written this");
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
