//! The database as the source of a copy: the whole of it, then the pages of each commit.

use super::follower::{Connections, FollowerState, LogFollower, Place, begin_reading};
use super::reading::log_path;
use super::wal::WalFile;
use crate::backup::{self, PartialCopy};
use crate::config::DatabaseConfig;
use crate::database::Database;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::words;
use crate::sqlite::memory;
use crate::sqlite::open::Role;
use rusqlite::OpenFlags;
use sampan_host::page_log::{LogPosition, PageLog, PageSink};
use sampan_host::{Error, ErrorKind};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest time that checkpoints wait for [`PageLog::resume`].
const RESUME_WAIT: Duration = Duration::from_secs(30);
/// The longest time that a whole copy waits for other writers.
const LOCK_WAIT: Duration = Duration::from_secs(5);

impl PageLog for Database {
    fn is_open(&self) -> bool {
        self.opened().is_some()
    }

    fn follow(&self, sink: Box<dyn PageSink>) {
        let _ = self.follower.with(|state| {
            state.place = None;
            state.sink = Some(sink);
            state.waits_until = Some(Instant::now() + RESUME_WAIT);
            Ok(())
        });
    }

    fn resume(&self, from: LogPosition) -> Result<bool, Error> {
        let found = self.follower.with(|state| {
            state.waits_until = None;
            if from == LogPosition::default() {
                // All that is in the log is to be read.
                state.place = Some(Place {
                    position: from,
                    is_copied: true,
                });
                return Ok(true);
            }
            let path = log_path(&self.config.path);
            let failed = |error| format!("cannot read the write-ahead log: {error}");
            let Some(wal) = WalFile::open(&path).map_err(failed)? else {
                return Ok(false);
            };
            let (log, _) = state.connections(&self.config)?.log_length()?;
            let is_there = wal.salts == from.salts
                && from.frame <= log
                && wal.checksum_behind(from.frame).map_err(failed)? == Some(from.checksum);
            if is_there {
                state.place = Some(Place {
                    position: from,
                    is_copied: false,
                });
            }
            Ok(is_there)
        });
        found.map_err(fault)
    }

    fn read(&self) -> Result<(), Error> {
        let read = self.follower.with(|state| state.read(&self.config));
        read.map_err(fault)
    }

    fn copy_whole(&self, to: &Path) -> Result<(), Error> {
        // What an interrupted copy has left.
        let _ = fs::remove_file(to);
        let part = PartialCopy::create(to, &self.config.path)?;
        let source = self.follower.begin_whole().map_err(fault)?;
        backup::copy(source.sqlite(), &self.config.path, &part, &mut |_| ())?;
        drop(source);
        part.finish(to).map(drop)
    }

    fn leave(&self) {
        let _ = self.follower.with(|state| {
            *state = FollowerState::default();
            Ok(())
        });
    }
}

/// Keeps a database open, so that no other connection of this process is the last one, which removes the log.
pub struct HeldOpen(#[expect(dead_code, reason = "only its end matters")] SqliteConnection);

impl HeldOpen {
    /// Opens the database of `config`, if there is one.
    pub fn of(config: &DatabaseConfig) -> Option<Self> {
        let exists = config.path.is_file();
        // A fault is told when the database is opened for use.
        let open = || SqliteConnection::open(config, Role::Maintenance).ok();
        exists.then(open).flatten().map(Self)
    }
}

/// Checks a database file that no process has open.
///
/// # Errors
/// The words of SQLite about the fault.
pub fn check_file(file: &Path) -> Result<(), String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let verdict = memory::connect(backup::immutable(file), flags).and_then(|sqlite| {
        sqlite.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0))
    });
    match verdict {
        Ok(verdict) if verdict == "ok" => Ok(()),
        Ok(verdict) => Err(verdict.replace('\n', " ")),
        Err(error) => Err(words(&error)),
    }
}

impl LogFollower {
    /// Opens a connection whose transaction sees the database as it is at the place from which the log is read on.
    fn begin_whole(&self) -> Result<SqliteConnection, String> {
        let _kept_out = self.keep_out.begin();
        self.with(|state| {
            let source = SqliteConnection::open(&self.config, Role::Maintenance)
                .map_err(|fault| fault.error.to_string())?;
            if !state.connections(&self.config)?.hold(true, LOCK_WAIT)? {
                return Err("another process keeps the database locked".to_owned());
            }
            let begun = state.begin_here(&self.config.path, &source, &self.config);
            state.let_go();
            begun.map(|()| source)
        })
    }
}

impl FollowerState {
    /// Reads the rest of the log, and begins at its end. No writer gets in meanwhile.
    fn begin_here(
        &mut self,
        path: &Path,
        source: &SqliteConnection,
        config: &DatabaseConfig,
    ) -> Result<(), String> {
        self.waits_until = None;
        self.read(config)?;
        let place = match self.place {
            Some(place) => place,
            None => self.end_of_log(path, config)?,
        };
        begin_reading(source.sqlite()).map_err(|error| words(&error))?;
        let Some(sink) = &mut self.sink else {
            return Err("the log is not followed".to_owned());
        };
        sink.whole_copy_begins(place.position);
        self.place = Some(place);
        Ok(())
    }

    fn end_of_log(&mut self, path: &Path, config: &DatabaseConfig) -> Result<Place, String> {
        let failed = |error| format!("cannot read the write-ahead log: {error}");
        let (log, copied) = Connections::log_length(self.connections(config)?)?;
        let wal = WalFile::open(&log_path(path)).map_err(failed)?;
        let Some(wal) = wal.filter(|_| log > 0) else {
            return Ok(Place {
                position: LogPosition::default(),
                is_copied: true,
            });
        };
        let checksum = wal.checksum_behind(log).map_err(failed)?;
        let checksum = checksum.ok_or("the write-ahead log is not what was written to it")?;
        Ok(Place {
            position: LogPosition {
                salts: wal.salts,
                frame: log,
                checksum,
            },
            is_copied: copied == log,
        })
    }
}

fn fault(text: String) -> Error {
    Error::new(ErrorKind::Internal, text)
}
