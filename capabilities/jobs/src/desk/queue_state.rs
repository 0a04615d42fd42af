//! The counts of one queue, and how many of its jobs can be taken.

use crate::config::QueueRule;
use crate::limits::{AHEAD, AHEAD_MAX, RATE_PARTS};
use std::collections::VecDeque;
use std::time::Instant;

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
    /// The starts of this process within the last period, if the queue has a rate. The table counts those of all, by a
    /// clock that may jump.
    starts: VecDeque<Starts>,
    /// The time until which the starts of all processes leave no room for another, if the queue has a rate.
    pub(crate) full_until: Option<Instant>,
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
            full_until: None,
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
        let Some(rate) = rule.rate else {
            return usize::MAX;
        };
        let is_over = |starts: &Starts| now.saturating_duration_since(starts.last) >= rate.period;
        while self.starts.front().is_some_and(is_over) {
            self.starts.pop_front();
        }
        let counted: usize = self.starts.iter().map(|starts| starts.count).sum();
        (rate.count as usize).saturating_sub(counted)
    }

    /// Returns the time from which on the rate of the queue lets another job start; `None` where it has none, or lets
    /// one start now.
    pub(crate) fn opens(&mut self, rule: &QueueRule, now: Instant) -> Option<Instant> {
        let rate = rule.rate?;
        let is_used_up = self.starts(rule, now) == 0;
        let first = self.starts.front().filter(|_| is_used_up);
        let own = first.map(|starts| starts.last + rate.period);
        let of_all = self.full_until.filter(|until| *until > now);
        own.max(of_all)
    }

    /// Forgets the starts: what was counted is not so any more.
    pub(crate) fn forget_starts(&mut self) {
        self.starts.clear();
        self.full_until = None;
    }

    /// Takes note of the start of a job.
    pub(crate) fn start(&mut self, rule: &QueueRule, now: Instant) {
        self.running += 1;
        let Some(rate) = rule.rate else {
            return;
        };
        let part = rate.period / u32::try_from(RATE_PARTS).unwrap_or(u32::MAX);
        match self.starts.back_mut() {
            Some(starts) if now.saturating_duration_since(starts.first) < part => {
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
    use crate::config::QueueRate;
    use std::time::Duration;

    #[test]
    fn no_more_start_within_a_period_than_the_rate_says() {
        let rule = QueueRule {
            concurrency: 100,
            rate: Some(QueueRate {
                count: 5,
                period: Duration::from_secs(1),
            }),
        };
        let (mut queue, begin) = (QueueState::new(), Instant::now());
        let mut started = Vec::new();
        for millis in 0..10_000 {
            let now = begin + Duration::from_millis(millis);
            let opens = queue.opens(&rule, now);
            if queue.starts(&rule, now) > 0 {
                assert_eq!(opens, None);
                queue.start(&rule, now);
                started.push(millis);
            } else {
                let opens = opens.expect("the rate is used up");
                assert!(opens > now && opens <= now + Duration::from_secs(1));
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
            rate: Some(QueueRate {
                count: 1_000_000,
                period: Duration::from_secs(3_600),
            }),
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
