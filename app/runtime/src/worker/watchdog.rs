//! The thread that stops scripts that run too long, and gives up workers that cannot be stopped.
//!
//! It looks at each worker's [`Watch`] every few milliseconds. A run older than `script_millis_max` is told to stop,
//! again and again until it has ended. A worker that is deaf to that for [`DEAF_MILLIS`] is abandoned: its sockets are
//! shut down, so that its clients do not wait for ever, and a fresh worker takes its place. After [`ABANDONED_MAX`] of
//! them the server gives up: something is wrong that a fresh process may not have.
//!
//! A thread that gets little of a processor, on a machine that is overloaded or was asleep, is not at fault: its run
//! has up to [`STARVED_TIMES`] the limit, and it is not deaf to a stop that it cannot hear.

use super::long_runs::{CurrentRunTime, LongRuns};
use super::thread_time::ThreadTime;
use sampan_host::samples::Stack;
use sampan_host::{HandlerId, Watch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which it looks while a script runs, in milliseconds.
const BUSY_POLL_MILLIS: u64 = 5;
/// The interval at which it looks while no script runs: rarely enough to cost nothing, and far below what a limit can
/// be late.
const IDLE_POLL_MILLIS: u64 = 20;
/// The longest time that a worker may be deaf to its stop, in milliseconds.
const DEAF_MILLIS: u64 = 1_000;
/// The processor time within [`DEAF_MILLIS`] from which on a worker could have heard its stop, in milliseconds.
const HEARING_MILLIS: u64 = 200;
/// The factor by which a run may exceed its limit while its thread waits for a processor.
const STARVED_TIMES: u32 = 10;
/// The server gives up when so many workers had to be abandoned.
pub(crate) const ABANDONED_MAX: usize = 3;

/// The callback for a worker that is deaf to its stop: called once, from the watchdog's thread.
pub(crate) type Abandon = Box<dyn FnOnce(&str) + Send>;

/// The names of a worker's handlers in the log.
type HandlerNames = Vec<(HandlerId, String)>;

/// The samples of a worker.
#[derive(Debug)]
pub struct WorkerStacks {
    /// The stacks that were seen.
    pub stacks: Vec<Stack>,
    /// The names of the worker's handlers, by their ids.
    pub handlers: Vec<(HandlerId, String)>,
}

/// The workers that are watched. Clones watch the same ones.
#[derive(Clone, Default)]
pub(crate) struct Watchdog {
    inner: Arc<WatchdogState>,
}

#[derive(Default)]
struct WatchdogState {
    /// Held while the watchdog looks, and when workers come and go.
    watched: Mutex<Vec<WatchedWorker>>,
    over: Mutex<bool>,
    long_runs: OnceLock<LongRuns>,
}

/// One worker, as the watchdog knows it.
struct WatchedWorker {
    id: u64,
    watch: Arc<Watch>,
    /// Empty until the project is loaded.
    names: HandlerNames,
    abandon: Option<Abandon>,
    /// The epoch that was seen last, and since when.
    epoch: u64,
    since: Instant,
    thread: ThreadTime,
    /// The number of the worker in metrics, where it is measured.
    number: Option<usize>,
    /// The times of this epoch, where long runs are told of.
    run: CurrentRunTime,
    /// The processor time of the thread when this epoch had lasted for half of its limit.
    used_at_half: Option<Duration>,
    /// The time of the first stop of this epoch, and the processor time of the thread at that moment.
    told: Option<(Instant, Option<Duration>)>,
}

impl Watchdog {
    /// Watches a worker from now on. Called on the thread that runs its scripts.
    pub(crate) fn add(&self, id: u64, watch: Arc<Watch>, abandon: Abandon) {
        let epoch = watch.epoch();
        let since = Instant::now();
        self.lock().push(WatchedWorker {
            id,
            watch,
            names: Vec::new(),
            abandon: Some(abandon),
            epoch,
            since,
            thread: ThreadTime::of_this_thread(),
            number: None,
            run: CurrentRunTime::default(),
            used_at_half: None,
            told: None,
        });
    }

    /// Tells what the worker's handlers are called, and what is done about it from now on if it is deaf.
    pub(crate) fn loaded(&self, id: u64, names: HandlerNames, abandon: Abandon) {
        if let Some(watched) = self.lock().iter_mut().find(|watched| watched.id == id) {
            watched.names = names;
            watched.abandon = Some(abandon);
        }
    }

    /// The worker's handlers have other names from now on.
    pub(crate) fn rename(&self, id: u64, names: HandlerNames) {
        if let Some(watched) = self.lock().iter_mut().find(|watched| watched.id == id) {
            watched.names = names;
        }
    }

    /// The processor time of the worker's thread is measured under this number from now on.
    pub(crate) fn measure(&self, id: u64, number: usize) {
        if let Some(watched) = self.lock().iter_mut().find(|watched| watched.id == id) {
            watched.number = Some(number);
        }
    }

    /// Returns the processor time of the thread of each worker that is measured, by its number.
    pub(crate) fn processor_times(&self) -> BTreeMap<usize, Duration> {
        let mut times = BTreeMap::new();
        for watched in &*self.lock() {
            if let (Some(number), Some(time)) = (watched.number, watched.thread.processor_time()) {
                // The one that ends and the one that takes its place may both be watched.
                *times.entry(number).or_default() += time;
            }
        }
        times
    }

    /// Watches a worker no more.
    pub(crate) fn remove(&self, id: u64) {
        self.lock().retain(|watched| watched.id != id);
    }

    /// Has a sample taken of each worker whose script runs, see [`Watch::sample`].
    pub(crate) fn sample(&self) {
        self.lock()
            .iter()
            .for_each(|watched| watched.watch.sample());
    }

    /// Returns the samples of each worker.
    pub(crate) fn stacks(&self) -> Vec<WorkerStacks> {
        let watched = self.lock();
        let stacks = watched.iter().filter_map(|watched| {
            let samples = watched.watch.samples()?;
            Some(WorkerStacks {
                stacks: samples.stacks(),
                handlers: watched.names.clone(),
            })
        });
        stacks.collect()
    }

    /// Tells of long runs. To be called before the thread starts; the first call counts.
    pub(crate) fn report_long_runs(&self, long_runs: LongRuns) {
        let _ = self.inner.long_runs.set(long_runs);
    }

    /// Returns the interval at which it looks while a script runs.
    fn busy_poll(&self) -> Duration {
        let usual = Duration::from_millis(BUSY_POLL_MILLIS);
        let long_runs = self.inner.long_runs.get();
        long_runs.map_or(usual, |long_runs| long_runs.time_min.min(usual))
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(&self, script_time_max: Duration) -> std::io::Result<()> {
        let watchdog = self.clone();
        let busy_poll = self.busy_poll();
        let body = move || {
            while !watchdog.is_over() {
                let is_busy = watchdog.look(script_time_max);
                std::thread::sleep(match is_busy {
                    true => busy_poll,
                    false => Duration::from_millis(IDLE_POLL_MILLIS),
                });
            }
        };
        std::thread::Builder::new()
            .name("sampan-watchdog".into())
            .stack_size(256 * 1024)
            .spawn(body)
            .map(drop)
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        *self
            .inner
            .over
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn is_over(&self) -> bool {
        *self
            .inner
            .over
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WatchedWorker>> {
        self.inner
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at every worker once. True if a script runs on any.
    fn look(&self, script_time_max: Duration) -> bool {
        let now = Instant::now();
        let mut is_busy = false;
        let mut deaf = Vec::new();
        let long_runs = self.inner.long_runs.get();
        self.lock().retain_mut(|watched| {
            let age = watched.age(now, long_runs.is_some());
            is_busy |= age.is_some();
            if let (Some(age), Some(long_runs)) = (age, long_runs) {
                let of_run = (&*watched.watch, watched.epoch);
                watched.run.look(of_run, age, &watched.thread, long_runs);
            }
            if watched.watch.must_stop() {
                // Another thread has told it to stop: once may not be enough.
                watched.watch.stop(watched.epoch);
            }
            if age.is_none_or(|age| !watched.is_over(age, script_time_max)) {
                return true;
            }
            watched.watch.stop(watched.epoch);
            if !watched.is_deaf(now) {
                return true;
            }
            deaf.push((watched.name(), watched.abandon.take()));
            false
        });
        // Not under the lock: abandoning a worker starts another one, which is added here.
        for (name, abandon) in deaf {
            if let Some(abandon) = abandon {
                abandon(&name);
            }
        }
        is_busy
    }
}

impl WatchedWorker {
    /// Returns the time that the script that runs now has been seen running; `None` if none runs.
    fn age(&mut self, now: Instant, is_measured: bool) -> Option<Duration> {
        let epoch = self.watch.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.since = now;
            if is_measured && epoch & 1 == 1 {
                self.run = CurrentRunTime::begin(&self.thread);
            }
            self.used_at_half = None;
            self.told = None;
        }
        (epoch & 1 == 1).then(|| now.duration_since(self.since))
    }

    /// Reports whether the run, which has gone on for `age`, has passed its limit, and has had enough processor time
    /// for that to be its own fault.
    fn is_over(&mut self, age: Duration, time_max: Duration) -> bool {
        if self.used_at_half.is_none() && age >= time_max / 2 {
            self.used_at_half = self.thread.processor_time();
        }
        if !self.watch.is_over(age, time_max) {
            return false;
        }
        let (Some(before), Some(used)) = (self.used_at_half, self.thread.processor_time()) else {
            return true;
        };
        used.saturating_sub(before) >= time_max / 4
            || age >= time_max * STARVED_TIMES
            || !self.thread.wants_processor()
    }

    /// Reports whether the run that was told to stop has had the time to hear it, and has not ended. A thread that has
    /// got little of the processor since then is deaf only if it waits in the kernel.
    fn is_deaf(&mut self, now: Instant) -> bool {
        let (at, used) = *self
            .told
            .get_or_insert_with(|| (now, self.thread.processor_time()));
        if now.duration_since(at) < Duration::from_millis(DEAF_MILLIS) {
            return false;
        }
        let (Some(before), Some(used)) = (used, self.thread.processor_time()) else {
            return true;
        };
        used.saturating_sub(before) >= Duration::from_millis(HEARING_MILLIS)
            || !self.thread.wants_processor()
    }

    /// Returns the name of the running handler, for the log.
    fn name(&self) -> String {
        let handler = self.watch.handler();
        let known = self
            .names
            .iter()
            .find(|(id, _)| *id == handler)
            .map(|(_, name)| name.clone());
        known.unwrap_or_else(|| {
            if self.names.is_empty() {
                "the project's file".into()
            } else {
                "a handler".into()
            }
        })
    }
}

#[cfg(test)]
mod tests;
