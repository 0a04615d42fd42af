//! The thread that copies the write-ahead log into the database, so that no writer and no worker has to.
//!
//! Most checkpoints are PASSIVE: they wait for no lock and block no connection. But under writers that never pause such
//! a checkpoint never sees the end of the log, which then grows on instead of starting over. So when it has become
//! twice as long as it should be, writers are asked to wait, and a RESTART checkpoint copies the last few pages.
//! Readers that still need an old state of the database (a backup, a long query) make it give up soon, and it comes
//! back less and less often.

use crate::config::{DatabaseConfig, Durability};
use crate::page_log::follower::LogFollower;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, classify, words};
use crate::sqlite::open::Role;
use making::{CheckpointOutcome, KeepOut, Mode, run};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most times `checkpoint_pages` that the log may have before writers are kept out for a moment.
const RESTART_TIMES: u32 = 2;
/// The longest time that a RESTART checkpoint waits for readers, while no writer gets in.
const RESTART_WAIT: Duration = Duration::from_millis(10);
/// The shortest pause after a checkpoint that could not do all that it was to do; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// The longest time that the last checkpoint waits for other processes.
const CLOSE_WAIT: Duration = Duration::from_secs(1);
/// The pause between two reports of faults.
const REPORT_PAUSE: Duration = Duration::from_secs(60);
/// A frame of the log is a page and this header; see section 4 of SQLite's file format.
const FRAME_HEADER_BYTES: u64 = 24;
/// The length of the log's header.
const LOG_HEADER_BYTES: u64 = 32;

/// Receives what went wrong, one line at a time, not more often than once a minute.
type OnFault = Box<dyn Fn(String) + Send>;

/// The thread, as the writers see it.
pub(crate) struct Checkpointer {
    shared: Arc<CheckpointShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct CheckpointShared {
    config: DatabaseConfig,
    /// Pages in the log after the last commit.
    pages: AtomicU32,
    /// The number of frames that have been copied.
    copied: AtomicU32,
    /// Known from when the thread has opened the database.
    page_bytes: AtomicU64,
    keep_out: Arc<KeepOut>,
    /// The reader of the log, if it is copied elsewhere.
    follower: Arc<LogFollower>,
    /// True if the thread has been woken and has not looked yet, so that a commit seldom takes the lock.
    is_asked: AtomicBool,
    state: Mutex<Ask>,
    changed: Condvar,
}

/// A request to the thread.
#[derive(Default)]
struct Ask {
    work: bool,
    end: bool,
}

impl Checkpointer {
    /// Starts the thread. It opens a connection when there is something to do.
    pub(crate) fn start(
        config: &DatabaseConfig,
        follower: &Arc<LogFollower>,
        on_fault: OnFault,
    ) -> Self {
        let shared = Arc::new(CheckpointShared {
            config: config.clone(),
            pages: AtomicU32::new(0),
            copied: AtomicU32::new(0),
            page_bytes: AtomicU64::new(4096),
            keep_out: follower.keep_out(),
            follower: Arc::clone(follower),
            is_asked: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (reports, report) = std::sync::mpsc::channel();
        let worker = CheckpointWorker {
            shared: Arc::clone(&shared),
            connection: None,
            pause: PAUSE_MIN,
            on_fault: None,
            reported: None,
        };
        let spawned = std::thread::Builder::new()
            .name("sampan-checkpoint".into())
            .spawn(move || {
                // The callback comes by a channel, because it is still needed here if there is no thread.
                let on_fault = report.recv().ok();
                CheckpointWorker { on_fault, ..worker }.run();
            });
        let thread = match spawned {
            Ok(thread) => {
                let _ = reports.send(on_fault);
                Some(thread)
            }
            Err(error) => {
                on_fault(format!("no thread for checkpoints: {error}"));
                None
            }
        };
        Self {
            shared,
            thread: Mutex::new(thread),
        }
    }

    /// A commit has left so many pages in the log.
    pub(crate) fn committed(&self, wal_pages: u32) {
        let shared = &self.shared;
        if wal_pages < shared.pages.swap(wal_pages, Relaxed) {
            // The log has started over.
            shared.copied.store(0, Relaxed);
        }
        if shared.is_due() && !shared.is_asked.swap(true, Relaxed) {
            shared.lock().work = true;
            shared.changed.notify_one();
        }
    }

    /// Returns the length of the log; 0 when it can start over, and the most there is while writers are asked to wait
    /// for a moment.
    pub(crate) fn wal_bytes(&self) -> u64 {
        if self.shared.keep_out.is_on() {
            return u64::MAX;
        }
        self.shared.wal_bytes()
    }

    /// Copies the whole log, lets the query planner look at its statistics, and ends the thread.
    pub(crate) fn shutdown(&self) {
        self.shared.lock().end = true;
        self.shared.changed.notify_one();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take();
        if let Some(thread) = thread {
            // A panic there has been told on standard error already.
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl CheckpointShared {
    fn lock(&self) -> MutexGuard<'_, Ask> {
        // Two flags are whole at any time.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_due(&self) -> bool {
        let (pages, copied) = (self.pages.load(Relaxed), self.copied.load(Relaxed));
        // More copied than there are: the log has started over since.
        let left = if copied > pages {
            pages
        } else {
            pages - copied
        };
        left >= self.config.checkpoint_pages || self.is_full()
    }

    fn wal_bytes(&self) -> u64 {
        match u64::from(self.pages.load(Relaxed)) {
            0 => 0,
            pages => {
                LOG_HEADER_BYTES + pages * (self.page_bytes.load(Relaxed) + FRAME_HEADER_BYTES)
            }
        }
    }

    /// Reports whether writers wait for the log to be copied.
    fn is_full(&self) -> bool {
        self.wal_bytes() > self.config.wal_bytes_max
    }
}

/// The thread's own side.
struct CheckpointWorker {
    shared: Arc<CheckpointShared>,
    connection: Option<SqliteConnection>,
    pause: Duration,
    on_fault: Option<OnFault>,
    reported: Option<Instant>,
}

impl CheckpointWorker {
    fn run(mut self) {
        let mut is_again = false;
        while self.wait(is_again) {
            is_again = match self.work() {
                Ok(is_done) => !is_done,
                Err(message) => {
                    self.report(&message);
                    // What it was may hold for this connection only.
                    self.connection = None;
                    true
                }
            };
            self.pause = if is_again {
                (self.pause * 2).min(PAUSE_MAX)
            } else {
                PAUSE_MIN
            };
        }
        if let Err(message) = self.close() {
            self.reported = None;
            self.report(&message);
        }
    }

    /// Waits until there is something to do, or the pause has passed. `false`: this is the end.
    fn wait(&self, is_again: bool) -> bool {
        let shared = &self.shared;
        let deadline = Instant::now() + self.pause;
        let mut ask = shared.lock();
        loop {
            if ask.end {
                return false;
            }
            if is_again {
                // Being asked once more does not shorten the pause.
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                let waited = shared.changed.wait_timeout(ask, left);
                ask = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            } else if ask.work {
                break;
            } else {
                let waited = shared.changed.wait(ask);
                ask = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
            }
        }
        ask.work = false;
        shared.is_asked.store(false, Relaxed);
        true
    }

    /// One round: `true` if nothing is left to be done before the next commit.
    fn work(&mut self) -> Result<bool, String> {
        if self.shared.config.file.has_lost_log() {
            // Another process may have written to the file since.
            return Ok(true);
        }
        let first = self.checkpoint(Mode::Passive)?;
        self.shared.copied.store(first.copied, Relaxed);
        if self.shared.is_full() {
            // Writers are waiting anyway.
            return Ok(!self.insist(Mode::Truncate)?);
        }
        let restart_pages = self
            .shared
            .config
            .checkpoint_pages
            .saturating_mul(RESTART_TIMES);
        if first.log >= restart_pages {
            return Ok(!self.insist(Mode::Restart)?);
        }
        Ok(true)
    }

    /// Makes the log start over. `true` if a reader or writer was in the way.
    fn insist(&mut self, mode: Mode) -> Result<bool, String> {
        let outcome = {
            let shared = Arc::clone(&self.shared);
            let _kept_out = shared.keep_out.begin();
            self.checkpoint(mode)?
        };
        if outcome.is_busy {
            self.shared.copied.store(outcome.copied, Relaxed);
        } else {
            self.shared.pages.store(0, Relaxed);
            self.shared.copied.store(0, Relaxed);
        }
        Ok(outcome.is_busy)
    }

    fn checkpoint(&mut self, mode: Mode) -> Result<CheckpointOutcome, String> {
        let wait = match mode {
            Mode::Passive => Duration::ZERO,
            Mode::Restart | Mode::Truncate => RESTART_WAIT,
        };
        self.make(mode, wait)
            .map_err(|error| format!("a checkpoint failed: {error}"))
    }

    /// Makes a checkpoint when the follower has read what it copies.
    fn make(&mut self, mode: Mode, wait: Duration) -> Result<CheckpointOutcome, String> {
        let follower = Arc::clone(&self.shared.follower);
        let sqlite = self.connection()?.sqlite();
        let checkpoint = |is_read: bool| {
            let mode = match mode {
                // Frames that were written at the last moment would be cut off. The next writer shortens the file.
                Mode::Truncate if is_read => Mode::Restart,
                mode => mode,
            };
            run(sqlite, mode, wait).map_err(|error| words(&error))
        };
        follower.during(mode != Mode::Passive, checkpoint)
    }

    fn connection(&mut self) -> Result<&SqliteConnection, String> {
        if self.connection.is_none() {
            let opened = SqliteConnection::open(&self.shared.config, Role::Maintenance)
                .map_err(|fault| fault.error.to_string())?;
            let bytes = opened
                .sqlite()
                .query_row("PRAGMA page_size", (), |row| row.get::<_, i64>(0));
            if let Ok(bytes) = bytes.map(i64::unsigned_abs) {
                self.shared.page_bytes.store(bytes, Relaxed);
            }
            self.connection = Some(opened);
        }
        Ok(self.connection.as_ref().expect("it was opened just now"))
    }

    fn close(&mut self) -> Result<(), String> {
        let config = &self.shared.config;
        let leaves_log = config.leaves_log || config.durability == Durability::Throwaway;
        // A log that was lost is copied by the connection that writes.
        if leaves_log || config.file.has_lost_log() {
            return Ok(());
        }
        let sqlite = self.connection()?.sqlite();
        let optimized = sqlite
            .busy_timeout(CLOSE_WAIT)
            .and_then(|()| sqlite.execute_batch("PRAGMA optimize"));
        // Without new statistics queries are as fast as they were.
        match optimized {
            Err(error) if classify(&error).1 != ErrorCode::Busy => {
                return Err(format!("PRAGMA optimize failed: {}", words(&error)));
            }
            _ => {}
        }
        // If another process is in the way, the log stays, and the next start finds it.
        self.make(Mode::Truncate, CLOSE_WAIT)
            .map_err(|error| format!("the last checkpoint failed: {error}"))?;
        Ok(())
    }

    fn report(&mut self, message: &str) {
        let is_early = self
            .reported
            .is_some_and(|reported| reported.elapsed() < REPORT_PAUSE);
        if !is_early && let Some(on_fault) = &self.on_fault {
            self.reported = Some(Instant::now());
            on_fault(message.to_owned());
        }
    }
}

pub(crate) mod making;
#[cfg(test)]
mod tests;
