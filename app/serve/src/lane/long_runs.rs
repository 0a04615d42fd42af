//! The long runs of a route: when they are enough to call it slow.
//!
//! A collection of garbage, or another program that has the processor for a moment, makes a run of any route as long as
//! that of a route that is a little slow. So a run that is far too long counts at once, and others only if several come
//! within a second.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The multiple of the shortest long run from which on one is enough.
pub const ENOUGH_AT_ONCE: u32 = 5;

/// The number of other long runs that is enough.
const RUNS: usize = 3;

/// The time within which these come.
const WITHIN: Duration = Duration::from_secs(1);

/// The latest long runs of a route.
#[derive(Debug, Default)]
pub(super) struct LongRunWindow(VecDeque<Instant>);

impl LongRunWindow {
    /// Takes note of a run that had the processor for `used`, at least `long`. Returns true if its route is slow.
    pub(super) fn note(&mut self, used: Duration, long: Duration, now: Instant) -> bool {
        self.0
            .retain(|seen| now.saturating_duration_since(*seen) < WITHIN);
        self.0.push_back(now);
        let is_slow = used >= long * ENOUGH_AT_ONCE || self.0.len() >= RUNS;
        if is_slow {
            self.0.clear();
        }
        is_slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(2);

    #[test]
    fn one_that_is_far_too_long_is_enough() {
        let now = Instant::now();
        assert!(LongRunWindow::default().note(LONG * ENOUGH_AT_ONCE, LONG, now));
        assert!(!LongRunWindow::default().note(LONG * (ENOUGH_AT_ONCE - 1), LONG, now));
    }

    #[test]
    fn others_are_enough_if_they_come_together() {
        let (mut runs, begun) = (LongRunWindow::default(), Instant::now());
        let mut note = |millis| runs.note(LONG, LONG, begun + Duration::from_millis(millis));
        assert!(!note(0) && !note(600), "two");
        assert!(!note(1_200), "the first is a second ago");
        assert!(note(1_400));
        assert!(!note(1_401) && !note(1_402), "they begin anew");
        assert!(note(1_403));
    }
}
