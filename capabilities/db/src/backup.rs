//! A copy of a database that is in use.
//!
//! One read transaction is open from before the first page is copied until after the last, so the copy is the database
//! as it was at one moment, and copying ends even under continuous writes. Writers go on; the write-ahead log grows
//! until the copy is done. The copy is checked before it gets its name: it is whole, and has as many rows in each table
//! as the snapshot.

mod partial;

pub use partial::PartialCopy;

use crate::config::DatabaseConfig;
use crate::sqlite::error::words;
use crate::sqlite::memory;
use crate::sqlite::open::folder_of;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use sampan_host::{Error, ErrorKind};
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pages that are copied in one step.
const STEP_PAGES: i32 = 256;
/// After so many pages the copy is synced, so that a writer's sync never waits for much of the copy.
const SYNC_PAGES: i32 = 1_024;
/// The time that a lock that another process holds is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// A copy that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The size in bytes.
    pub bytes: u64,
    /// The number of tables that were counted in it.
    pub tables: usize,
    /// The rows of all of them together.
    pub rows: u64,
}

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// Pages that have been copied.
    pub done_pages: u32,
    /// Pages in all.
    pub total_pages: u32,
}

/// Copies the database of `config` to the file `to`, whether or not a server uses it. `progress` is called after each
/// step. The file appears when it is complete and checked; where there is one already, it is replaced if `force`, and
/// else this is an error.
///
/// # Errors
/// There is no database, the file exists or cannot be written, or the copy is damaged. No file is left behind then.
pub fn backup(
    config: &DatabaseConfig,
    to: &Path,
    force: bool,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<BackupReport, Error> {
    config.check_file("use pg_dump, or the server's own backups")?;
    let source = open_source(&config.path)?;
    let to = &target_of(to)?;
    check_target(&config.path, to, force)?;
    let from_fault = |error| fault_of(&config.path, &error);
    // From the first read on, this connection sees the database as it is now.
    source.execute_batch("BEGIN").map_err(from_fault)?;
    let counts = count_rows(&source).map_err(from_fault)?;
    let part = PartialCopy::create(to, &config.path)?;
    copy(&source, &config.path, &part, progress)?;
    let source_ended = source.execute_batch("COMMIT");
    drop(source);
    source_ended.map_err(from_fault)?;
    part.sync()?;
    verify(part.path(), &counts)?;
    check_target(&config.path, to, force)?;
    let bytes = part.finish(to)?;
    Ok(BackupReport {
        bytes,
        tables: counts.len(),
        rows: counts.iter().map(|(_, rows)| rows).sum(),
    })
}

/// Opens the database as it is: nothing is created or set, so that a backup changes nothing.
fn open_source(path: &Path) -> Result<Connection, Error> {
    if !path.is_file() {
        return Err(fault(format!(
            "there is no database {}: name it with --db, or the project that it belongs to",
            path.display()
        )));
    }
    // Reading needs to write too: the index of the log in shared memory.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    memory::connect(path, flags)
        .and_then(|source| source.busy_timeout(LOCK_WAIT).map(|()| source))
        .map_err(|error| fault_of(path, &error))
}

/// Returns the path of the file that a new one takes the place of, links followed: renaming over a link or a device
/// would replace that.
///
/// # Errors
/// A device, a FIFO or a socket is there, or a link that leads nowhere.
pub fn target_of(to: &Path) -> Result<PathBuf, Error> {
    let shown = to.display();
    let irregular = |found: Metadata| !found.is_file() && !found.is_dir();
    if to.metadata().is_ok_and(irregular) {
        return Err(fault(format!(
            "{shown} is not a regular file, so it is not replaced: name another file"
        )));
    }
    if !to.is_symlink() {
        return Ok(to.to_owned());
    }
    to.canonicalize().map_err(|_| {
        fault(format!(
            "{shown} is a link that leads nowhere: name another file"
        ))
    })
}

/// Reports whether a copy may get this name.
fn check_target(source: &Path, to: &Path, force: bool) -> Result<(), Error> {
    let shown = to.display();
    let folder = folder_of(to);
    if !folder.is_dir() {
        return Err(fault(format!(
            "{shown}: there is no folder {}: create it",
            folder.display()
        )));
    }
    if to.is_dir() {
        return Err(fault(format!("{shown} is a folder: name a file in it")));
    }
    check_is_other(source, to)?;
    if to.exists() && !force {
        return Err(fault(format!(
            "{shown} exists: name another file, or replace it with --force"
        )));
    }
    for ending in ["-wal", "-journal"] {
        let beside = with_ending(to, ending);
        if beside.exists() {
            return Err(fault(format!(
                "{} exists and would be taken for a part of the copy: the database {shown} is in use, or was; name \
                 another file",
                beside.display()
            )));
        }
    }
    Ok(())
}

/// Refuses the database itself and the files that SQLite keeps beside it as a target.
///
/// # Errors
/// `to` is one of them.
pub fn check_is_other(source: &Path, to: &Path) -> Result<(), Error> {
    let shown = to.display();
    let Ok(source) = source.canonicalize() else {
        return Ok(());
    };
    if is_part_of(&source, to) {
        return Err(fault(format!(
            "{shown} belongs to the database itself: name another file"
        )));
    }
    if to.canonicalize().is_ok_and(|to| to == source) {
        return Err(fault(format!(
            "{shown} is the database itself: name another file"
        )));
    }
    Ok(())
}

/// The tables that hold rows themselves, and how many: virtual ones keep theirs in others.
fn count_rows(sqlite: &Connection) -> rusqlite::Result<Vec<(String, u64)>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    let mut statement = sqlite.prepare(sql)?;
    let names = statement.query_map((), |row| row.get::<_, String>(0))?;
    names
        .map(|name| {
            let name = name?;
            let sql = format!("SELECT count(*) FROM \"{}\"", name.replace('"', "\"\""));
            let rows: i64 = sqlite.query_row(&sql, (), |row| row.get(0))?;
            Ok((name, rows.unsigned_abs()))
        })
        .collect()
}

/// Copies all pages, as the open transaction of `source` sees them.
pub(crate) fn copy(
    source: &Connection,
    from: &Path,
    part: &PartialCopy,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<(), Error> {
    let part_fault = |error| fault_of(part.path(), &error);
    let mut target = open_target(part.path())?;
    let backup =
        Backup::new_with_names(source, MAIN_DB, &mut target, MAIN_DB).map_err(part_fault)?;
    let deadline = Instant::now() + LOCK_WAIT;
    let mut unsynced = 0;
    loop {
        let step = backup.step(STEP_PAGES).map_err(part_fault)?;
        let now = backup.progress();
        let total = u32::try_from(now.pagecount).unwrap_or(0);
        progress(BackupProgress {
            done_pages: total.saturating_sub(u32::try_from(now.remaining).unwrap_or(0)),
            total_pages: total,
        });
        match step {
            StepResult::Done => break,
            StepResult::More => {
                unsynced += STEP_PAGES;
                if unsynced >= SYNC_PAGES {
                    part.sync()?;
                    unsynced = 0;
                }
            }
            // No other connection knows the copy, and the snapshot is open, so there is no lock to wait for but
            // SQLite's short ones.
            _ if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                return Err(fault(format!(
                    "{}: the database is locked: end what keeps it, or try again",
                    from.display()
                )));
            }
        }
    }
    drop(backup);
    target
        .close()
        .map_err(|(_, error)| fault_of(part.path(), &error))
}

/// A connection that writes to the copy. The copy is thrown away if anything goes wrong, so there is nothing to undo.
fn open_target(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let settings = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-4096;";
    let result = memory::connect(path, flags).and_then(|target| {
        target.execute_batch(settings)?;
        Ok(target)
    });
    result.map_err(|error| fault_of(path, &error))
}

/// Checks the copy as it lies on the disk.
fn verify(path: &Path, counts: &[(String, u64)]) -> Result<(), Error> {
    let damaged = |why: &str| {
        fault(format!(
            "the copy is not what the database was, and was thrown away: {why}"
        ))
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || -> rusqlite::Result<(String, Vec<(String, u64)>)> {
        let copy = memory::connect(immutable(path), flags)?;
        let verdict = copy.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?;
        Ok((verdict, count_rows(&copy)?))
    };
    let (verdict, found) = read().map_err(|error| damaged(&words(&error)))?;
    if verdict != "ok" {
        let line = verdict.replace('\n', " ");
        return Err(damaged(&format!("integrity_check says: {line}")));
    }
    if found == counts {
        return Ok(());
    }
    let differs = counts.iter().find(|entry| !found.contains(entry));
    Err(damaged(&match differs {
        Some((table, rows)) => format!("table {table} had {rows} rows"),
        None => "it has more tables".to_owned(),
    }))
}

/// The name by which SQLite opens a file that does not change: without locks, and without a log beside it.
pub(crate) fn immutable(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut uri = b"file:".to_vec();
    // Two slashes at the beginning would name a host.
    if path.is_absolute() {
        uri.extend(b"//");
    }
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02X}").bytes()),
            _ => uri.push(byte),
        }
    }
    uri.extend(b"?immutable=1");
    OsString::from_vec(uri)
}

pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn fault(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Internal, message)
}

fn fault_of(path: &Path, error: &rusqlite::Error) -> Error {
    fault(format!("{}: {}", path.display(), words(error)))
}

/// Reports whether `to` is a file that SQLite keeps beside the database.
fn is_part_of(source: &Path, to: &Path) -> bool {
    let Some(folder) = to
        .parent()
        .map(|folder| {
            if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            }
        })
        .and_then(|folder| folder.canonicalize().ok())
    else {
        return false;
    };
    let to = to
        .canonicalize()
        .unwrap_or_else(|_| folder.join(to.file_name().unwrap_or_default()));
    ["-wal", "-shm", "-journal"].iter().any(|ending| {
        let mut name = source.as_os_str().to_owned();
        name.push(ending);
        to.as_os_str() == name
    })
}

#[cfg(test)]
mod tests;
