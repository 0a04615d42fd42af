//! The state that clients and director share: where servers listen, which faults are in force, what failed.

use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The failures that are kept in words; the others are counted.
const FAILURES_KEPT: usize = 20;
/// The longest text of a failure, in bytes.
const FAILURE_BYTES_MAX: usize = 1000;

/// The time for which the log may still tell of a full disk, or of a stop.
const LOG_TIME: Duration = Duration::from_secs(1);
/// The time for its sums of errors that were many, which come a second later, or when a stopped process goes on.
const SUM_TIME: Duration = Duration::from_secs(15);

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    /// The time for the load, without start and end.
    pub(crate) time: Duration,
    pub(crate) begun: Instant,
    has_ended: AtomicBool,
    counts: Counts,
    failed: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// The counts of answers.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// The right answers, messages of sockets among them.
    pub(crate) right: AtomicU64,
    /// 503 while the disk was not full: too much at once.
    pub(crate) refused: AtomicU64,
    /// The answers that a full disk explains.
    pub(crate) failed: AtomicU64,
    /// The answers that took too long because of a stop (504).
    pub(crate) late: AtomicU64,
    /// The requests that a kill cut off.
    pub(crate) cut: AtomicU64,
    /// The writes that were acknowledged and found afterwards.
    pub(crate) kept: AtomicU64,
}

impl Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(
            f,
            "{} right answers, {} refused (503), {} failed by a full disk, {} late by stops (504), {} cut by kills; \
             {} acknowledged rows found",
            get(&self.right),
            get(&self.refused),
            get(&self.failed),
            get(&self.late),
            get(&self.cut),
            get(&self.kept)
        )
    }
}

/// Adds to a count.
pub(crate) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Run {
    pub(crate) fn new(seed: u64, time: Duration) -> Arc<Self> {
        Arc::new(Self {
            seed,
            time,
            begun: Instant::now(),
            has_ended: AtomicBool::new(false),
            counts: Counts::default(),
            failed: AtomicU64::new(0),
            failures: Mutex::default(),
        })
    }

    /// Tells the clients to make their last comparisons.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Records that something did not hold.
    pub(crate) fn fail(&self, what: impl Display) {
        self.failed.fetch_add(1, Ordering::SeqCst);
        let mut text = format!("{:.1} s: {what}", self.begun.elapsed().as_secs_f64());
        text.truncate(text.floor_char_boundary(FAILURE_BYTES_MAX));
        let mut failures = lock(&self.failures);
        if failures.len() < FAILURES_KEPT {
            println!("FAILED {text}");
            failures.push(text);
        }
    }

    /// Returns the number of failures.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::SeqCst)
    }

    /// Returns the first failures, in words.
    pub(crate) fn failures(&self) -> Vec<String> {
        lock(&self.failures).clone()
    }
}

/// A state that comes and goes. The number is odd while it is on.
#[derive(Debug, Default)]
pub(crate) struct Season(AtomicU64);

impl Season {
    /// Turns it on or off.
    pub(crate) fn turn(&self, on: bool) {
        if self.is_on() != on {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Reports whether it is on.
    pub(crate) fn is_on(&self) -> bool {
        self.mark() % 2 == 1
    }

    /// Returns the moment, for [`Season::was_since`].
    pub(crate) fn mark(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Reports whether it was on at any time since a moment.
    pub(crate) fn was_since(&self, mark: u64) -> bool {
        mark % 2 == 1 || self.mark() != mark
    }
}

/// A server as its clients see it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) run: Arc<Run>,
    /// The address, and the number of the process; none while no process is to be asked.
    place: Mutex<Option<Place>>,
    /// The disk is full.
    pub(crate) full: Season,
    /// The end of the last full disk.
    emptied: Mutex<Option<Instant>>,
    /// The process is stopped, so that what runs meanwhile may take too long.
    pub(crate) stopped: Season,
    /// The end of the last stop.
    went_on: Mutex<Option<Instant>>,
}

/// The place of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    /// The number of the process among those of the site.
    pub(crate) life: u64,
}

impl Site {
    pub(crate) fn new(name: String, run: &Arc<Run>) -> Arc<Self> {
        Arc::new(Self {
            name,
            run: Arc::clone(run),
            place: Mutex::default(),
            full: Season::default(),
            emptied: Mutex::default(),
            stopped: Season::default(),
            went_on: Mutex::default(),
        })
    }

    /// Says that the disk is full, or that it was for the last time a moment ago.
    pub(crate) fn turn_full(&self, is_full: bool) {
        *lock(&self.emptied) = Some(Instant::now());
        self.full.turn(is_full);
    }

    /// Says that the process is stopped, or that it goes on.
    pub(crate) fn turn_stopped(&self, is_stopped: bool) {
        *lock(&self.went_on) = Some(Instant::now());
        self.stopped.turn(is_stopped);
    }

    /// Reports whether the log may tell of limits of time that passed in a stop.
    pub(crate) fn logs_stops(&self) -> bool {
        let went_on = *lock(&self.went_on);
        went_on.is_some_and(|at| at.elapsed() < LOG_TIME)
    }

    /// Reports whether the log may tell of a full disk, by a line or by a sum of lines.
    pub(crate) fn logs_full_disks(&self, is_sum: bool) -> bool {
        let emptied = *lock(&self.emptied);
        let time = if is_sum { SUM_TIME } else { LOG_TIME };
        self.full.is_on() || emptied.is_some_and(|at| at.elapsed() < time)
    }

    pub(crate) fn place(&self) -> Option<Place> {
        *lock(&self.place)
    }

    /// Says where the server is from now on; `None` before it is killed.
    pub(crate) fn moves_to(&self, place: Option<Place>) {
        *lock(&self.place) = place;
    }

    /// Records that something did not hold.
    pub(crate) fn fail(&self, what: impl Display) {
        self.run.fail(format!("{}: {what}", self.name));
    }
}

/// Takes a lock, also after a panic: the values are whole at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
