//! The processor time of the runs of one request. Only threads of the slow lane read this clock.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The longest run of a request so far.
#[derive(Default)]
pub(crate) struct Meter {
    longest: Duration,
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

impl Meter {
    /// Measures one run.
    pub(crate) fn run<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let begun = thread_time();
        let done = run();
        self.longest = self.longest.max(thread_time().saturating_sub(begun));
        done
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }
}
