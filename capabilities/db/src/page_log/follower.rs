//! The place up to which the log has been read, and what keeps a checkpoint from passing it.
//!
//! A log starts over when all of it has been copied into the database, and the next write overwrites its frames. So
//! while the log is followed, each checkpoint of this process goes through [`LogFollower::during`]: a read transaction
//! is opened, the log is read at least as far as that transaction sees, and only then is it copied. SQLite copies no
//! frame that an open read transaction does not see. What is written meanwhile stays in the log.
//!
//! Checkpoints of other processes, such as a shell, do not wait. That the log has started over before all of it was
//! read shows in its salts: [`PageSink::has_lost`] is called then.

use super::reading::{self, ReadOutcome, log_path};
use super::wal::WalFile;
use crate::config::DatabaseConfig;
use crate::group_commit::checkpoint::making::{CheckpointOutcome, KeepOut};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, classify, words};
use crate::sqlite::open::Role;
use sampan_host::page_log::{LogPosition, PageSink};
use std::cmp::Ordering;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// The longest time that a checkpoint waits for other writers.
const HOLD_WAIT: Duration = Duration::from_millis(10);
const STARTED_OVER: &str =
    "another process has copied the write-ahead log into the database before it was read";
/// Attempts to read a log that starts over meanwhile.
const ATTEMPTS: u32 = 5;

/// Follows the log of a database.
pub(crate) struct LogFollower {
    pub(super) config: DatabaseConfig,
    /// Keeps the writers of this process out for a moment.
    pub(super) keep_out: Arc<KeepOut>,
    state: Mutex<FollowerState>,
}

/// The state of a follower.
#[derive(Default)]
pub(super) struct FollowerState {
    pub(super) sink: Option<Box<dyn PageSink>>,
    pub(super) place: Option<Place>,
    connections: Option<Connections>,
    /// The time until which no checkpoint is made although there is no place: a copy that an earlier process began may
    /// need what is in the log.
    pub(super) waits_until: Option<Instant>,
}

/// The place up to which the log has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) position: LogPosition,
    /// True if all frames of the log are in the database and all have been read: it may start over.
    pub(super) is_copied: bool,
}

/// The connections of a follower.
pub(super) struct Connections {
    /// Asks for the length of the log.
    look: SqliteConnection,
    /// Holds transactions, by which others cannot pass the place.
    pub(super) pin: SqliteConnection,
}

impl Connections {
    fn open(config: &DatabaseConfig) -> Result<Self, String> {
        let open = || SqliteConnection::open(config, Role::Maintenance);
        let opened = open().and_then(|look| Ok(Self { look, pin: open()? }));
        opened.map_err(|fault| fault.error.to_string())
    }

    /// The number of frames in the log, and how many of them are in the database.
    pub(super) fn log_length(&self) -> Result<(u32, u32), String> {
        let sql = "PRAGMA wal_checkpoint(NOOP)";
        let row = self.look.sqlite().query_row(sql, (), |row| {
            Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let (log, copied) = row.map_err(|error| words(&error))?;
        let count = |count: i64| u32::try_from(count).unwrap_or(0);
        Ok((count(log), count(copied)))
    }

    /// Opens the transaction that holds the place: one that writes keeps all writers out. False if others keep the
    /// database locked for longer than `wait`.
    pub(super) fn hold(&self, writes: bool, wait: Duration) -> Result<bool, String> {
        let pin = self.pin.sqlite();
        let begun = pin.busy_timeout(wait).and_then(|()| match writes {
            true => pin.execute_batch("BEGIN IMMEDIATE"),
            false => begin_reading(pin),
        });
        let Err(error) = begun else {
            return Ok(true);
        };
        self.let_go();
        match classify(&error).1 {
            ErrorCode::Busy => Ok(false),
            _ => Err(words(&error)),
        }
    }

    pub(super) fn let_go(&self) {
        if !self.pin.sqlite().is_autocommit() {
            // Nothing was written, so nothing can fail that matters.
            let _ = self.pin.sqlite().execute_batch("ROLLBACK");
        }
    }
}

/// Opens a transaction that sees the database as it is now: from its first read on.
pub(super) fn begin_reading(sqlite: &rusqlite::Connection) -> rusqlite::Result<()> {
    sqlite.execute_batch("BEGIN")?;
    sqlite.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))
}

impl FollowerState {
    pub(super) fn connections(&mut self, config: &DatabaseConfig) -> Result<&Connections, String> {
        if self.connections.is_none() {
            self.connections = Some(Connections::open(config)?);
        }
        Ok(self.connections.as_ref().expect("opened just now"))
    }

    /// Reads all that was committed. `Ok` also where pages were lost: the sink knows.
    pub(super) fn read(&mut self, config: &DatabaseConfig) -> Result<(), String> {
        let failed = |error| format!("cannot read the write-ahead log: {error}");
        for _ in 0..ATTEMPTS {
            let Some(place) = self.place else {
                return Ok(());
            };
            // In this order: once the header of a log is in the file, SQLite tells the length of that log or of a later
            // one.
            let until = SystemTime::now();
            let wal = WalFile::open(&log_path(&config.path)).map_err(failed)?;
            let (log, _) = self.connections(config)?.log_length()?;
            match self.read_up_to(place, wal, log, until).map_err(failed)? {
                ReadOutcome::Done => return Ok(()),
                ReadOutcome::Refused => {
                    self.place = None;
                    return Ok(());
                }
                ReadOutcome::Changed => {}
            }
        }
        self.lose("the write-ahead log is not what was written to it");
        Ok(())
    }

    /// Reads the frames up to `log`, in the log of `place` or in the one that follows it.
    pub(super) fn read_up_to(
        &mut self,
        place: Place,
        wal: Option<WalFile>,
        log: u32,
        until: SystemTime,
    ) -> io::Result<ReadOutcome> {
        let position = place.position;
        let is_begun = position.salts != [0, 0];
        if log == 0 {
            // The log has started over, and nothing has been written since.
            if position.frame > 0 && !place.is_copied {
                self.lose(STARTED_OVER);
                return Ok(ReadOutcome::Refused);
            }
            return Ok(ReadOutcome::Done);
        }
        let Some(wal) = wal else {
            return Ok(ReadOutcome::Changed);
        };
        if is_begun && wal.salts == position.salts {
            return match log.cmp(&position.frame) {
                Ordering::Equal => Ok(ReadOutcome::Done),
                Ordering::Less => Ok(ReadOutcome::Changed),
                Ordering::Greater => self.pass(wal, position, log, until),
            };
        }
        // The first salt of the next log is greater by one.
        let follows = wal.salts[0] == position.salts[0].wrapping_add(1);
        if is_begun && !(place.is_copied && follows) {
            self.lose(STARTED_OVER);
            return Ok(ReadOutcome::Refused);
        }
        let start = LogPosition {
            salts: wal.salts,
            frame: 0,
            checksum: wal.checksum,
        };
        self.pass(wal, start, log, until)
    }

    fn pass(
        &mut self,
        wal: WalFile,
        mut from: LogPosition,
        to: u32,
        until: SystemTime,
    ) -> io::Result<ReadOutcome> {
        let Some(sink) = &mut self.sink else {
            return Ok(ReadOutcome::Refused);
        };
        let outcome = reading::read(wal, &mut from, to, until, &mut |batch| sink.take(batch));
        // Where nothing was read, because the log has started over just now, all before it still is in the database.
        let is_read_on = self.place.is_none_or(|place| place.position != from);
        if is_read_on {
            self.place = Some(Place {
                position: from,
                is_copied: false,
            });
        }
        outcome
    }

    /// Takes note of a checkpoint that has copied `copied` of `log` frames. False if this is not the end of what has
    /// been read. To be called before anything is read on: the next writer makes the log start over.
    fn note_copied(&mut self, log: u32, copied: u32) -> bool {
        match &mut self.place {
            Some(place) if place.position.frame == log => {
                place.is_copied |= copied == log;
                true
            }
            _ => false,
        }
    }

    pub(super) fn let_go(&self) {
        if let Some(connections) = &self.connections {
            connections.let_go();
        }
    }

    /// Reports whether checkpoints wait until it is known where the log is read on.
    fn waits(&self) -> bool {
        let until = self.waits_until.filter(|_| self.place.is_none());
        until.is_some_and(|until| Instant::now() < until)
    }

    fn lose(&mut self, why: &str) {
        if self.place.take().is_some()
            && let Some(sink) = &mut self.sink
        {
            sink.has_lost(why);
        }
    }
}

impl LogFollower {
    pub(crate) fn new(config: &DatabaseConfig) -> Arc<Self> {
        Arc::new(Self {
            config: config.clone(),
            keep_out: Arc::default(),
            state: Mutex::default(),
        })
    }

    #[cfg(test)]
    pub(super) fn is_active(&self) -> bool {
        self.lock().place.is_some()
    }

    /// Returns what keeps the writers of this process out.
    pub(crate) fn keep_out(&self) -> Arc<KeepOut> {
        Arc::clone(&self.keep_out)
    }

    fn lock(&self) -> MutexGuard<'_, FollowerState> {
        // The place moves when pages have been taken, so it is right at any time.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Works with the state. Connections that may be at fault are not kept.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut FollowerState) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut state = self.lock();
        let done = work(&mut state);
        if done.is_err() {
            state.connections = None;
        }
        done
    }

    /// Makes a checkpoint, which copies nothing that has not been read. One that `insists` keeps writers out until the
    /// log has been read to its end. `checkpoint` is told whether the log is read: then it must not be cut off.
    pub(crate) fn during(
        &self,
        insists: bool,
        checkpoint: impl FnOnce(bool) -> Result<CheckpointOutcome, String>,
    ) -> Result<CheckpointOutcome, String> {
        let mut checkpoint = Some(checkpoint);
        let mut made = None;
        let read = self.with(|state| {
            if state.waits() {
                made = Some(Ok(CheckpointOutcome::BUSY));
                return Ok(());
            }
            if state.place.is_none() {
                // Under the lock: nothing begins to follow the log meanwhile.
                made = checkpoint.take().map(|checkpoint| checkpoint(false));
                return Ok(());
            }
            if !state.connections(&self.config)?.hold(insists, HOLD_WAIT)? {
                made = Some(Ok(CheckpointOutcome::BUSY));
                return Ok(());
            }
            let read = state.read(&self.config);
            if insists {
                state.let_go();
            }
            made = checkpoint.take().map(|checkpoint| checkpoint(true));
            state.let_go();
            read?;
            let Some(Ok(outcome)) = &made else {
                return Ok(());
            };
            let (log, copied) = (outcome.log, outcome.copied);
            if !state.note_copied(log, copied) && log > 0 {
                // A writer came between the reading and the checkpoint.
                state.read(&self.config)?;
                state.note_copied(log, copied);
            }
            Ok(())
        });
        if let Err(fault) = read {
            // The log must not grow without end because it cannot be read.
            self.lock().lose(&fault);
        }
        match (made, checkpoint) {
            (None, Some(checkpoint)) => checkpoint(false),
            (made, _) => made.unwrap_or(Ok(CheckpointOutcome::BUSY)),
        }
    }
}
