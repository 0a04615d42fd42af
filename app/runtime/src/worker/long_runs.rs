//! Runs that are long for a worker with other requests: the watchdog tells of each, and once more if it goes on for
//! much longer.

use super::thread_time::ThreadTime;
use sampan_host::Watch;
use std::time::Duration;

/// The observer of long runs.
pub(crate) struct LongRuns {
    /// The time from which on a run is long.
    pub(crate) time_min: Duration,
    /// The time from which on there is nothing more to tell of it.
    pub(crate) time_enough: Duration,
    /// Called from the watchdog's thread, with the number of the route and the processor time of the run so far.
    pub(crate) tell: Box<dyn Fn(u32, Duration) + Send + Sync>,
}

/// The run of a worker that goes on.
#[derive(Default)]
pub(super) struct CurrentRunTime {
    /// The processor time of the thread when the run was seen first.
    used_at_first: Option<Duration>,
    /// The time of which was told.
    told: Duration,
}

impl CurrentRunTime {
    /// Takes note of a run that is seen for the first time.
    pub(super) fn begin(thread: &ThreadTime) -> Self {
        Self {
            used_at_first: thread.processor_time(),
            told: Duration::ZERO,
        }
    }

    /// Tells of the run of `epoch`, which has gone on for `age`, if it is long and has had the processor for that.
    pub(super) fn look(
        &mut self,
        (watch, epoch): (&Watch, u64),
        age: Duration,
        thread: &ThreadTime,
        long_runs: &LongRuns,
    ) {
        let next = match self.told.is_zero() {
            true => long_runs.time_min,
            false => long_runs.time_enough,
        };
        if self.told >= long_runs.time_enough || age < next {
            return;
        }
        let route = watch.route();
        // The route is that of this run if the run still goes on.
        if route == 0 || watch.epoch() != epoch {
            return;
        }
        let used = self.used_at_first.zip(thread.processor_time());
        let used = used.map_or(age, |(before, now)| now.saturating_sub(before).min(age));
        if used >= next {
            self.told = used;
            (long_runs.tell)(route, used);
        }
    }
}
