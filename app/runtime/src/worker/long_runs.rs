//! Runs that are long for a worker with other requests: the watchdog tells of each once.

use super::thread_time::ThreadTime;
use sampan_host::Watch;
use std::time::Duration;

/// The observer of long runs.
pub(crate) struct LongRuns {
    /// The time from which on a run is long.
    pub(crate) time_min: Duration,
    /// Called from the watchdog's thread, once for each long run, with the number of its route.
    pub(crate) tell: Box<dyn Fn(u32) + Send + Sync>,
}

/// The run of a worker that goes on.
#[derive(Default)]
pub(super) struct CurrentRunTime {
    /// The processor time of the thread when the run was seen first.
    used_at_first: Option<Duration>,
    is_told: bool,
}

impl CurrentRunTime {
    /// Takes note of a run that is seen for the first time.
    pub(super) fn begin(thread: &ThreadTime) -> Self {
        Self {
            used_at_first: thread.processor_time(),
            is_told: false,
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
        if self.is_told || age < long_runs.time_min {
            return;
        }
        let route = watch.route();
        // The route is that of this run if the run still goes on.
        if route == 0 || watch.epoch() != epoch {
            return;
        }
        let used = self.used_at_first.zip(thread.processor_time());
        let used = used.map(|(before, now)| now.saturating_sub(before));
        // The kernel counts by its ticks, so half of the time is enough.
        if used.is_none_or(|used| used >= long_runs.time_min / 2) {
            self.is_told = true;
            (long_runs.tell)(route);
        }
    }
}
