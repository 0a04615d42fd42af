//! The counts of one queue, and how many of its jobs can be taken.

use crate::config::QueueRule;
use crate::limits::{AHEAD, AHEAD_MAX};
use std::collections::VecDeque;
use std::time::Instant;

/// The period of a rate is divided into so many parts at most: starts within one are counted together.
const RATE_PARTS: u32 = 1_000;

/// Starts that are counted together.
struct Starts {
    first: Instant,
    last: Instant,
    count: usize,
}

/// The counts of one queue.
pub(crate) struct QueueState {
    /// The jobs that were taken and have not ended.
    pub(crate) held: usize,
    pub(crate) running: usize,
    /// The jobs that ended since `since`, for an estimate of how many will end soon.
    pub(crate) ended: usize,
    since: Instant,
    pub(crate) ahead: usize,
    /// The starts within the last period, if the queue has a rate.
    starts: VecDeque<Starts>,
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
            starts: VecDeque::new(),
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
    pub(crate) fn starts(&mut self, rule: &QueueRule, now: Instant) -> usize {
        let Some((most, period)) = rule.rate else {
            return usize::MAX;
        };
        let is_over = |starts: &Starts| now.saturating_duration_since(starts.last) >= period;
        while self.starts.front().is_some_and(is_over) {
            self.starts.pop_front();
        }
        let counted: usize = self.starts.iter().map(|starts| starts.count).sum();
        (most as usize).saturating_sub(counted)
    }

    /// Takes note of the start of a job.
    pub(crate) fn start(&mut self, rule: &QueueRule, now: Instant) {
        self.running += 1;
        let Some((_, period)) = rule.rate else {
            return;
        };
        match self.starts.back_mut() {
            Some(starts) if now.saturating_duration_since(starts.first) < period / RATE_PARTS => {
                starts.last = now;
                starts.count += 1;
            }
            _ => self.starts.push_back(Starts {
                first: now,
                last: now,
                count: 1,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn no_more_start_within_a_period_than_the_rate_says() {
        let rule = QueueRule {
            concurrency: 100,
            rate: Some((5, Duration::from_secs(1))),
        };
        let (mut queue, begin) = (QueueState::new(), Instant::now());
        let mut started = Vec::new();
        for millis in 0..10_000 {
            let now = begin + Duration::from_millis(millis);
            if queue.starts(&rule, now) > 0 {
                queue.start(&rule, now);
                started.push(millis);
            }
        }
        assert!(started.len() >= 5 * 9, "{started:?}");
        assert!(
            started.windows(6).all(|six| six[5] - six[0] >= 1_000),
            "{started:?}"
        );
        assert!(queue.starts.len() <= 5);
        // Many starts are counted together.
        let rule = QueueRule {
            rate: Some((1_000_000, Duration::from_secs(3_600))),
            ..rule
        };
        let mut queue = QueueState::new();
        for micros in 0..200_000 {
            queue.start(&rule, begin + Duration::from_micros(micros * 50));
        }
        assert_eq!(queue.starts(&rule, begin), 800_000);
        assert!(queue.starts.len() <= 4, "{}", queue.starts.len());
    }
}
