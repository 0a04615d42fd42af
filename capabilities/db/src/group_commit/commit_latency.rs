//! The observed duration of commits, so that slow ones leave the worker's thread.

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Commits whose median takes longer than this run on a thread of their own.
const SLOW: Duration = Duration::from_micros(500);
/// The number of commits that the median is taken of.
const WINDOW: usize = 15;

/// The last commits of one worker.
#[derive(Default)]
pub(crate) struct CommitLatency {
    last: RefCell<[Duration; WINDOW]>,
    count: Cell<usize>,
    is_slow: Cell<bool>,
}

impl CommitLatency {
    /// Takes note of how long a commit took.
    pub(crate) fn note(&self, took: Duration) {
        let count = self.count.get();
        let mut last = self.last.borrow_mut();
        last[count % WINDOW] = took;
        self.count.set(count + 1);
        // The median moves slowly, so it is not worth a sort at each commit.
        if count % 4 == 3 {
            let mut sorted = *last;
            let known = WINDOW.min(count + 1);
            sorted[..known].sort_unstable();
            self.is_slow.set(sorted[known / 2] > SLOW);
        }
    }

    /// Reports whether the next commit is expected to be slow.
    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_commit_is_not_a_slow_disk() {
        let latency = CommitLatency::default();
        for _ in 0..20 {
            latency.note(Duration::from_micros(100));
        }
        latency.note(Duration::from_millis(50));
        assert!(!latency.is_slow());
        for _ in 0..20 {
            latency.note(Duration::from_millis(5));
        }
        assert!(latency.is_slow());
        for _ in 0..20 {
            latency.note(Duration::from_micros(100));
        }
        assert!(!latency.is_slow());
    }
}
