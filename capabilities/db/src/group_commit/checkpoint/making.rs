//! One checkpoint, its mode and its outcome; and what keeps writers out for it.

use crate::sqlite::error::{ErrorCode, classify};
use crate::sqlite::status::with_cause;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Asks writers to wait: SQLite's locks are not fair, and a busy writer would never let a checkpoint in.
#[derive(Default)]
pub(crate) struct KeepOut(AtomicU32);

impl KeepOut {
    /// Asks them until the returned guard is dropped.
    pub(crate) fn begin(&self) -> KeptOut<'_> {
        self.0.fetch_add(1, Relaxed);
        KeptOut(self)
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.load(Relaxed) > 0
    }
}

/// The time in which writers wait.
pub(crate) struct KeptOut<'a>(&'a KeepOut);

impl Drop for KeptOut<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// The mode of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Passive,
    Restart,
    Truncate,
}

/// The outcome of a checkpoint.
pub(crate) struct CheckpointOutcome {
    /// Another connection was in its way.
    pub(super) is_busy: bool,
    /// Pages in the log, and how many of them are in the database by now.
    pub(crate) log: u32,
    pub(crate) copied: u32,
}

impl CheckpointOutcome {
    /// Another connection was in the way from the first moment on.
    pub(crate) const BUSY: Self = Self {
        is_busy: true,
        log: 0,
        copied: 0,
    };
}

pub(super) fn run(
    sqlite: &rusqlite::Connection,
    mode: Mode,
    wait: Duration,
) -> rusqlite::Result<CheckpointOutcome> {
    let sql = match mode {
        Mode::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
        Mode::Restart => "PRAGMA wal_checkpoint(RESTART)",
        Mode::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
    };
    sqlite.busy_timeout(wait)?;
    let row = sqlite.query_row(sql, (), |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
        ))
    });
    // Below zero: not known, because a lock could not be had.
    let pages = |count: i64| u32::try_from(count).unwrap_or(0);
    match row {
        Ok((is_busy, log, copied)) => Ok(CheckpointOutcome {
            is_busy: is_busy != 0,
            log: pages(log),
            copied: pages(copied),
        }),
        Err(error) if classify(&error).1 == ErrorCode::Busy => Ok(CheckpointOutcome::BUSY),
        Err(error) => Err(with_cause(sqlite, error)),
    }
}
