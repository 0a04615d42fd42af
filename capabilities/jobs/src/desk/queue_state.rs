//! The counts of one queue, and how many of its jobs can be taken.

use crate::config::QueueRule;
use crate::limits::{AHEAD, AHEAD_MAX};
use std::time::Instant;

/// The counts of one queue.
pub(crate) struct QueueState {
    /// The jobs that were taken and have not ended.
    pub(crate) held: usize,
    pub(crate) running: usize,
    /// The jobs that ended since `since`, for an estimate of how many will end soon.
    pub(crate) ended: usize,
    since: Instant,
    pub(crate) ahead: usize,
    /// The starts that are allowed now.
    pub(crate) starts: f64,
    filled: Instant,
    /// False if the table was seen to have none that can start.
    pub(crate) may_have_more: bool,
}

impl QueueState {
    pub(crate) fn new() -> Self {
        Self {
            held: 0,
            running: 0,
            ended: 0,
            since: Instant::now(),
            ahead: 0,
            starts: f64::MAX,
            filled: Instant::now(),
            may_have_more: true,
        }
    }

    /// Estimates how many jobs will end soon.
    pub(crate) fn look_ahead(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < AHEAD / 4 {
            return;
        }
        let rate = self.ended as f64 / elapsed.as_secs_f64();
        self.ahead = ((rate * AHEAD.as_secs_f64()) as usize).min(AHEAD_MAX);
        (self.ended, self.since) = (0, Instant::now());
    }

    /// Returns the number of jobs that may start now by the rate of the queue.
    pub(crate) fn starts(&mut self, rule: &QueueRule) -> usize {
        let Some((count, time)) = rule.rate else {
            return usize::MAX;
        };
        let most = f64::from(count);
        let filled = self.filled.elapsed().as_secs_f64() / time.as_secs_f64() * most;
        self.starts = (self.starts.min(most) + filled).min(most);
        self.filled = Instant::now();
        self.starts as usize
    }
}
