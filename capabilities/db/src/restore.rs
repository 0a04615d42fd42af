//! A database that goes back to what it was: for tests, which begin with the same rows each.

use crate::config::DatabaseConfig;
use crate::sqlite::error::words;
use crate::sqlite::memory;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use sampan_host::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time that others are waited for who write.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// A copy in memory of a database, and the connection by which it is put back.
pub struct RestorePoint {
    path: PathBuf,
    copy: Connection,
    live: Connection,
    /// SQLite's counter for `live`, which changes when others commit.
    version: i64,
}

impl RestorePoint {
    /// Copies the database of `config` as it is now. The file must exist.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn take(config: &DatabaseConfig) -> Result<Self, Error> {
        let path = config.path.clone();
        let connect = || -> rusqlite::Result<(Connection, Connection, i64)> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let live = memory::connect(&path, flags)?;
            live.busy_timeout(LOCK_WAIT)?;
            live.execute_batch("PRAGMA synchronous=OFF")?;
            let mut copy = memory::connect_in_memory()?;
            copy_all(&live, &mut copy)?;
            let version = data_version(&live)?;
            Ok((copy, live, version))
        };
        let (copy, live, version) = connect().map_err(|error| fault(&path, &error))?;
        Ok(Self {
            path,
            copy,
            live,
            version,
        })
    }

    /// Restores the database, if it was written since. All connections stay as they are: they see it as one more
    /// commit. False if there was nothing to do.
    ///
    /// # Errors
    /// Another process keeps the database locked, or it cannot be written.
    pub fn restore(&mut self) -> Result<bool, Error> {
        let restored = data_version(&self.live).and_then(|version| {
            if version == self.version {
                return Ok(false);
            }
            copy_all(&self.copy, &mut self.live)?;
            self.version = data_version(&self.live)?;
            Ok(true)
        });
        restored.map_err(|error| fault(&self.path, &error))
    }
}

fn data_version(live: &Connection) -> rusqlite::Result<i64> {
    live.query_row("PRAGMA data_version", (), |row| row.get(0))
}

/// Copies all pages in one transaction.
fn copy_all(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    let backup = Backup::new_with_names(from, MAIN_DB, to, MAIN_DB)?;
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match backup.step(-1)? {
            StepResult::Done => return Ok(()),
            StepResult::Busy | StepResult::Locked if Instant::now() >= deadline => {
                let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                return Err(rusqlite::Error::SqliteFailure(code, None));
            }
            _ => std::thread::sleep(PAUSE),
        }
    }
}

fn fault(path: &Path, error: &rusqlite::Error) -> Error {
    let text = format!("{}: {}", path.display(), words(error));
    Error::new(ErrorKind::Internal, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_gone_and_their_statements_go_on() {
        let folder = crate::test_folder::TestFolder::new();
        let config = DatabaseConfig::new(folder.path("data.db"));
        let other = crate::sqlite::memory::connect_for_test(&config.path).expect("opened");
        let schema = "PRAGMA journal_mode=WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)";
        other.execute_batch(schema).expect("made");
        let mut count = other.prepare("SELECT count(*) FROM t").expect("prepared");
        let mut point = RestorePoint::take(&config).expect("taken");
        assert!(!point.restore().expect("nothing to do"));
        for _ in 0..3 {
            let more = "INSERT INTO t VALUES (2); CREATE TABLE IF NOT EXISTS u (b)";
            other.execute_batch(more).expect("written");
            assert!(point.restore().expect("restored"));
            let rows: i64 = count.query_row((), |row| row.get(0)).expect("counted");
            assert_eq!(rows, 1);
            assert!(other.execute_batch("SELECT * FROM u").is_err());
        }
        assert!(!point.restore().expect("nothing to do"));
    }
}
