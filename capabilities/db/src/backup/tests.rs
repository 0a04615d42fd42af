//! Backups: what they hold, that they end under load, and what is refused.

use super::*;
use crate::sqlite::open::Role;
use crate::test_folder::TestFolder;
use sampan_client::wait;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A database of about `mib` MiB, opened as a server opens it.
fn database(
    folder: &TestFolder,
    mib: usize,
) -> (DatabaseConfig, crate::sqlite::connection::SqliteConnection) {
    let config = DatabaseConfig::new(folder.path("a.db"));
    let writer =
        crate::sqlite::connection::SqliteConnection::open(&config, Role::Writer).expect("opened");
    let sql = "CREATE TABLE a(id INTEGER PRIMARY KEY, x BLOB);
        CREATE TABLE \"b \"\"quoted\"\"\"(k TEXT PRIMARY KEY) WITHOUT ROWID;
        INSERT INTO \"b \"\"quoted\"\"\" VALUES ('one'), ('two');
        CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES ('some words');
        CREATE VIEW v AS SELECT * FROM a;";
    writer.sqlite().execute_batch(sql).expect("tables");
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO a(x) SELECT \
     randomblob(1000) FROM n";
    let rows = i64::try_from(mib * 1024).expect("small");
    writer.sqlite().execute(sql, [rows]).expect("filled");
    (config, writer)
}

fn copy_to(config: &DatabaseConfig, to: &Path) -> Result<BackupReport, Error> {
    backup(config, to, false, &mut |_| {})
}

fn fails(result: Result<BackupReport, Error>, part: &str) {
    let error = result.expect_err(part).to_string();
    assert!(error.contains(part), "{error:?} does not contain {part:?}");
    assert_eq!(error.lines().count(), 1, "{error:?}");
}

/// The names of all files in the folder.
fn files(folder: &TestFolder) -> Vec<String> {
    let entries = fs::read_dir(folder.path("")).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_copy_is_one_file_with_everything_in_it() {
    let folder = TestFolder::new();
    let (config, writer) = database(&folder, 2);
    // With a name that would be something else in a URI.
    let to = folder.path("copy %41?x#y.db");
    let mut seen = Vec::new();
    let report = backup(&config, &to, false, &mut |progress| seen.push(progress)).expect("copied");
    assert_eq!(report.bytes, fs::metadata(&to).expect("a file").len());
    assert!(report.bytes > 2 << 20 && report.tables >= 7, "{report:?}");
    assert!(seen.len() > 2 && seen.is_sorted_by_key(|progress| progress.done_pages));
    let last = seen.last().expect("some");
    assert_eq!(last.done_pages, last.total_pages);
    drop(writer);
    assert_eq!(files(&folder), ["a.db", "copy %41?x#y.db"]);
    let copy = crate::sqlite::memory::connect_for_test(&to).expect("opened");
    let rows: i64 = copy
        .query_row("SELECT count(*) FROM v", (), |row| row.get(0))
        .expect("a view");
    assert_eq!(rows, 2 * 1024);
    let found: String = copy
        .query_row(
            "SELECT text FROM words WHERE words MATCH 'words'",
            (),
            |row| row.get(0),
        )
        .expect("searched");
    assert_eq!(found, "some words");
}

#[test]
fn a_stopped_database_is_copied_too_and_its_log_with_it() {
    let folder = TestFolder::new();
    let (config, writer) = database(&folder, 1);
    // As after kill -9: the log is there, and no process has the database open.
    let stopped = folder.path("stopped.db");
    fs::copy(&config.path, &stopped).expect("copied");
    fs::copy(folder.path("a.db-wal"), folder.path("stopped.db-wal")).expect("copied");
    drop(writer);
    let report = copy_to(&DatabaseConfig::new(&stopped), &folder.path("copy.db")).expect("copied");
    assert!(report.rows > 1024, "{report:?}");
}

#[test]
fn it_ends_under_load_and_writes_go_on() {
    const MIB: usize = 64;
    let folder = TestFolder::new();
    let (config, writer) = database(&folder, MIB);
    let (is_over, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (is_over, writes) = (&is_over, &writes);
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                let sql = "INSERT INTO a(x) VALUES (randomblob(100))";
                writer.sqlite().execute(sql, ()).expect("never locked");
                writes.fetch_add(1, Relaxed);
            }
        });
        wait::until("a write", || writes.load(Relaxed) > 0);
        let before = writes.load(Relaxed);
        let report = copy_to(&config, &folder.path("copy.db"));
        let meanwhile = writes.load(Relaxed) - before;
        is_over.store(true, Relaxed);
        assert!(report.expect("copied").rows >= MIB as u64 * 1024);
        assert!(meanwhile >= 2, "only {meanwhile} writes meanwhile");
    });
}

#[test]
fn what_is_in_the_way_is_named() {
    let folder = TestFolder::new();
    let (config, _writer) = database(&folder, 1);
    let to = folder.path("copy.db");
    fails(
        copy_to(&DatabaseConfig::new(folder.path("none.db")), &to),
        "there is no database",
    );
    fails(
        copy_to(&config, &folder.path("none/copy.db")),
        "there is no folder",
    );
    fails(
        copy_to(&config, &folder.path("")),
        "is a folder: name a file",
    );
    fails(copy_to(&config, &config.path), "is the database itself");
    fails(
        backup(&config, &config.path, true, &mut |_| {}),
        "is the database itself",
    );
    for ending in ["-wal", "-shm", "-journal"] {
        let mut beside = config.path.clone().into_os_string();
        beside.push(ending);
        fails(
            backup(&config, Path::new(&beside), true, &mut |_| {}),
            "belongs to the database itself",
        );
    }
    for (name, part) in [
        ("copy.db-wal", "would be taken for a part of the copy"),
        ("copy.db-journal", "would be taken for a part of the copy"),
        (
            "copy.db",
            "exists: name another file, or replace it with --force",
        ),
    ] {
        fs::write(folder.path(name), "x").expect("written");
        fails(copy_to(&config, &to), part);
        assert_eq!(fs::read(folder.path(name)).expect("still there"), b"x");
        fs::remove_file(folder.path(name)).expect("removed");
    }
    let other = PartialCopy::create(&to, &config.path).expect("created");
    fails(
        copy_to(&config, &to),
        "another backup to this file is being made",
    );
    assert!(folder.path("copy.db.part").exists());
    drop(other);
    fs::create_dir(folder.path("copy.db.part")).expect("created");
    fails(
        copy_to(&config, &to),
        "copy.db.part exists and is not a file",
    );
    fs::remove_dir(folder.path("copy.db.part")).expect("removed");
    fs::write(&to, "old").expect("written");
    backup(&config, &to, true, &mut |_| {}).expect("replaced");
    assert!(fs::metadata(&to).expect("a file").len() > 1 << 20);
    fs::write(
        folder.path("text.db"),
        "no database at all, but long enough to be taken for one: 100 bytes and some \
     more, and more",
    )
    .expect("written");
    fails(
        copy_to(
            &DatabaseConfig::new(folder.path("text.db")),
            &folder.path("b.db"),
        ),
        "text.db: file is not a database",
    );
    assert!(!folder.path("b.db.part").exists() && !folder.path("copy.db.part").exists());
}

#[test]
fn devices_stay_and_links_are_followed() {
    let folder = TestFolder::new();
    let (config, _writer) = database(&folder, 1);
    let forced = |to: &Path| backup(&config, to, true, &mut |_| {});
    // In place of a device, which only root can create.
    let (socket, to_socket) = (folder.path("socket"), folder.path("to_socket"));
    let _listener = UnixListener::bind(&socket).expect("bound");
    symlink(&socket, &to_socket).expect("a link");
    for path in [&socket, &to_socket] {
        fails(forced(path), "is not a regular file");
    }
    let kind = fs::symlink_metadata(&socket).expect("there").file_type();
    assert!(kind.is_socket());
    let (copy, to_copy) = (folder.path("copy.db"), folder.path("to_copy"));
    symlink(&copy, &to_copy).expect("a link");
    fails(forced(&to_copy), "is a link that leads nowhere");
    fs::write(&copy, "old").expect("written");
    forced(&to_copy).expect("copied");
    assert!(to_copy.is_symlink());
    assert!(fs::metadata(&copy).expect("a file").len() > 1 << 20);
}

#[test]
fn what_an_interrupted_copy_has_left_is_replaced() {
    let folder = TestFolder::new();
    let (config, writer) = database(&folder, 1);
    fs::write(folder.path("copy.db.part"), "half of a copy").expect("written");
    copy_to(&config, &folder.path("copy.db")).expect("copied");
    drop(writer);
    assert_eq!(files(&folder), ["a.db", "copy.db"]);
}

#[test]
fn a_copy_is_as_private_as_its_database() {
    let folder = TestFolder::new();
    let (config, _writer) = database(&folder, 1);
    for mode in [0o600, 0o640] {
        fs::set_permissions(&config.path, Permissions::from_mode(mode)).expect("set");
        let to = folder.path("copy.db");
        backup(&config, &to, true, &mut |_| {}).expect("copied");
        let found = fs::metadata(&to).expect("a file").permissions().mode();
        assert_eq!(found & 0o777, mode, "{found:o}");
    }
}

#[test]
fn a_copy_that_cannot_be_written_is_told() {
    let folder = TestFolder::new();
    let (config, _writer) = database(&folder, 1);
    let source = open_source(&config.path).expect("opened");
    let part = PartialCopy::create(&folder.path("copy.db"), &config.path).expect("created");
    fs::remove_file(part.path()).expect("removed");
    fs::create_dir(part.path()).expect("a folder in its place");
    let error = copy(&source, &config.path, &part, &mut |_| {}).expect_err("no file");
    assert!(error.to_string().contains("copy.db.part: "), "{error}");
}

#[test]
fn a_damaged_copy_is_not_taken() {
    let folder = TestFolder::new();
    let (config, writer) = database(&folder, 1);
    let to = folder.path("copy.db");
    copy_to(&config, &to).expect("copied");
    let source = open_source(&config.path).expect("opened");
    let counts = count_rows(&source).expect("counted");
    verify(&to, &counts).expect("as it was");
    writer
        .sqlite()
        .execute("INSERT INTO a(x) VALUES (1)", ())
        .expect("written");
    let later = count_rows(&source).expect("counted");
    let error = verify(&to, &later).expect_err("a row less").to_string();
    assert!(error.contains("table a had 1025 rows"), "{error}");
    let mut bytes = fs::read(&to).expect("read");
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xff);
    fs::write(&to, bytes).expect("written");
    assert!(verify(&to, &counts).is_err());
}
