//! The measurements of a worker's commits.

use sampan_host::metrics::{Histogram, Registry, known};
use std::time::Duration;

/// The measurements of a worker's commits.
pub(crate) struct CommitMeters {
    seconds: Histogram,
    writes: Histogram,
}

impl CommitMeters {
    pub(crate) fn new(registry: &Registry) -> Self {
        let histogram = |metric| registry.histogram(&registry.known(metric), &[]);
        Self {
            seconds: histogram(&known::COMMIT_SECONDS),
            writes: histogram(&known::COMMIT_WRITES),
        }
    }

    /// Takes note of a commit that begins, of so many statements.
    pub(crate) fn begins(&self, writes: u32) {
        self.writes.observe(f64::from(writes));
    }

    /// Takes note of the time of a commit.
    pub(crate) fn took(&self, time: Duration) {
        self.seconds.observe_time(time);
    }
}
