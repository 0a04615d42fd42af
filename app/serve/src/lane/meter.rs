//! The processor time of the runs of one request.

use crate::processor_time::thread_time;
use std::time::Duration;

/// The longest run of a request so far.
#[derive(Default)]
pub(crate) struct Meter {
    longest: Duration,
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
