//! Rates of queues: when another job may start, and jobs whose starts are to be counted anew.

use super::{Desk, DeskState};
use crate::config::QueueRule;
use crate::limits::{LATE_MAX, LATE_MIN, LOOK, RATE_LOOK};
use crate::table::Taken;
use std::time::{Duration, Instant};

/// Reports whether a job has waited so long for a thread that the start of its function would be another than the one
/// that was counted.
fn is_late(job: &Taken, rule: &QueueRule, now: Instant) -> bool {
    job.slot.zip(rule.rate).is_some_and(|(slot, rate)| {
        let late = (rate.period / 10).clamp(LATE_MIN, LATE_MAX);
        now.saturating_duration_since(slot.taken) >= late
    })
}

impl Desk {
    /// Takes note of how long the starts of all processes leave no room for another job of a queue. A process may give
    /// a start back meanwhile, so that is looked at again now and then.
    pub(crate) fn is_full(&self, queue: &str, millis: i64) {
        let time = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        if let Some(queue) = self.lock().queues.get_mut(queue) {
            queue.full_until = Some(Instant::now() + time.min(RATE_LOOK));
        }
    }

    /// Has all queues looked at anew whose rate was used up: the rate, or the clock, may be another now.
    pub(crate) fn open_queues(&self) {
        let mut state = self.lock();
        let queues = state.queues.values_mut();
        queues.for_each(|queue| queue.full_until = None);
    }

    /// Returns how long there is nothing to do unless something happens; `next` is when something is due.
    pub(crate) fn pause(&self, next: Option<i64>, now: i64) -> Duration {
        let due = next.map(|due| u64::try_from(due.saturating_sub(now)).unwrap_or(0));
        let due = due.map_or(LOOK, |millis| {
            Duration::from_millis(millis.saturating_add(1))
        });
        due.min(self.rate_pause()).min(LOOK)
    }

    /// Returns the time until a rate lets jobs start that it keeps from starting now.
    fn rate_pause(&self) -> Duration {
        let (mut state, now) = (self.lock(), Instant::now());
        let DeskState { config, queues, .. } = &mut *state;
        let waiting = queues.iter_mut().filter(|(_, queue)| queue.may_have_more);
        let opens = waiting.filter_map(|(name, queue)| queue.opens(&config.rule(name), now));
        opens.min().map_or(LOOK, |opens| {
            // The clock of a timer has milliseconds.
            opens.saturating_duration_since(now) + Duration::from_millis(1)
        })
    }

    /// Hands out jobs once it is on disk that they are taken: their wait for a thread begins now, because a commit may
    /// take as long as a job of a rate may wait. After a longer one their starts are too old to count.
    pub(crate) fn put_committed(&self, mut jobs: Vec<Taken>) {
        let now = Instant::now();
        for slot in jobs.iter_mut().filter_map(|job| job.slot.as_mut()) {
            if now.saturating_duration_since(slot.taken) < LATE_MAX {
                slot.taken = now;
            }
        }
        self.put(jobs);
    }

    /// Reports whether jobs are to be given back because they have waited too long for a thread.
    pub(crate) fn has_late(&self) -> bool {
        !self.lock().late.is_empty()
    }

    /// Takes away the jobs that are to be given back because they have waited too long for a thread.
    pub(crate) fn take_late(&self) -> Vec<Taken> {
        std::mem::take(&mut self.lock().late)
    }

    /// Forgets what this process has counted of rates: the table alone counts.
    pub(crate) fn forget_starts(&self) {
        let mut state = self.lock();
        let queues = state.queues.values_mut();
        queues.for_each(|queue| queue.forget_starts());
    }
}

impl DeskState {
    /// Takes the next job that may start away from those that wait. Lays those aside whose starts are to be counted
    /// anew: then there is none, because they come before all others when that is done.
    pub(super) fn next(&mut self, now: Instant) -> Option<Taken> {
        let (mut from, mut has_late) = (0, false);
        loop {
            let (config, queues) = (&self.config, &mut self.queues);
            from += self.waiting.range(from..).position(|job| {
                let Some(queue) = queues.get_mut(&job.queue) else {
                    return true;
                };
                let rule = config.rule(&job.queue);
                queue.running < rule.concurrency
                    && (queue.starts(&rule, now) > 0 || is_late(job, &rule, now))
            })?;
            let job = self.waiting.get(from)?;
            if !is_late(job, &config.rule(&job.queue), now) {
                return match has_late {
                    true => None,
                    false => self.waiting.remove(from),
                };
            }
            has_late = true;
            let job = self.waiting.remove(from)?;
            self.forget(job.id, Some(job.token));
            self.late.push(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{JobsConfig, QueueRate};
    use crate::crons::CronRules;
    use crate::table::rates::StartSlot;
    use sampan_host::jobs::JobPolicy;
    use std::collections::{BTreeMap, BTreeSet};

    /// A desk whose queue `api` has a rate of 10 in an hour.
    fn desk() -> Desk {
        let rate = QueueRate {
            count: 10,
            period: Duration::from_secs(3_600),
        };
        let rule = QueueRule {
            concurrency: 100,
            rate: Some(rate),
        };
        let config = JobsConfig {
            workers: 1,
            concurrency: 100,
            queues: BTreeMap::from([("api".to_owned(), rule)]),
            lease: Duration::from_secs(30),
            args_bytes_max: 1_024,
            keep_millis: 0,
            keep_done_millis: 0,
        };
        let policy = JobPolicy {
            queue: "api".to_owned(),
            attempts: 1,
            timeout: Duration::from_secs(1),
            backoff: Duration::ZERO,
        };
        let desk = Desk::new(config.clone());
        let policies = BTreeMap::from([("call".to_owned(), policy)]);
        desk.serve(config, (policies, BTreeSet::new()), CronRules::new());
        desk
    }

    fn job(id: i64, slot: Option<Instant>) -> Taken {
        Taken {
            id,
            name: "call".to_owned(),
            queue: if slot.is_some() { "api" } else { "default" }.to_owned(),
            args: None,
            attempt: 1,
            token: 1,
            trace: None,
            slot: slot.map(|taken| StartSlot { at: 0, taken }),
        }
    }

    fn taken(desk: &Desk) -> Option<i64> {
        desk.take().map(|handed| handed.job.id)
    }

    #[test]
    fn a_queue_whose_rate_is_used_up_anywhere_has_no_room_until_then() {
        let desk = desk();
        assert_eq!(desk.room(), [("api".to_owned(), 10)]);
        desk.is_full("api", 100_000);
        assert!(desk.room().is_empty());
        assert_eq!(desk.pause(None, 0), LOOK);
        desk.is_full("api", 100);
        assert!(desk.pause(None, 0) <= Duration::from_millis(101));
        // Another rate after a reload may leave room.
        desk.serve(
            desk.config(),
            (BTreeMap::new(), BTreeSet::new()),
            CronRules::new(),
        );
        assert_eq!(desk.rate_pause(), LOOK);
    }

    #[test]
    fn a_job_that_has_waited_too_long_goes_back_before_it_begins() {
        let (desk, now) = (desk(), Instant::now());
        desk.room();
        let early = now.checked_sub(LATE_MAX).expect("a time");
        let jobs = [
            job(1, None),
            job(2, Some(early)),
            job(3, Some(now)),
            job(4, Some(early)),
        ];
        desk.put(jobs.into());
        assert_eq!(taken(&desk), None, "the thread waits for the keeper");
        let late: Vec<i64> = desk.take_late().iter().map(|job| job.id).collect();
        assert_eq!(late, [2, 4], "at once");
        assert_eq!(taken(&desk), Some(3), "before those that are not counted");
        assert_eq!(taken(&desk), Some(1));
        assert!(!desk.held().contains_key(&2));
        desk.put(vec![job(5, Some(early)), job(6, None)]);
        assert_eq!(taken(&desk), None, "the thread waits for the keeper");
        assert!(desk.has_late());
        assert_eq!(taken(&desk), Some(6));
        // A slow commit is no wait for a thread.
        let before = now.checked_sub(LATE_MAX / 2).expect("a time");
        desk.put_committed(vec![job(7, Some(before)), job(8, Some(early))]);
        assert_eq!(taken(&desk), None);
        let late: Vec<i64> = desk.take_late().iter().map(|job| job.id).collect();
        assert_eq!(late, [5, 8]);
        assert_eq!(taken(&desk), Some(7));
    }

    #[test]
    fn jobs_whose_starts_are_counted_begin_in_the_order_in_which_they_were_taken() {
        let (desk, now) = (desk(), Instant::now());
        desk.room();
        let after = |millis| Some(now + Duration::from_millis(millis));
        desk.put(vec![job(1, None), job(2, after(1)), job(3, after(1))]);
        desk.put(vec![job(4, after(2)), job(5, None)]);
        // They were given back, and the keeper could not write that.
        desk.put(vec![job(6, after(0)), job(7, after(0))]);
        let order: Vec<i64> = std::iter::from_fn(|| taken(&desk)).collect();
        assert_eq!(order, [6, 7, 2, 3, 4, 1, 5]);
    }

    #[test]
    fn a_job_is_late_after_a_tenth_of_the_period() {
        let begun = Instant::now();
        for (period, late) in [(1, 20), (1_000, 100), (60_000, 2_000)] {
            let rule = QueueRule {
                concurrency: 1,
                rate: Some(QueueRate {
                    count: 1,
                    period: Duration::from_millis(period),
                }),
            };
            let job = job(1, Some(begun));
            let is_late = |millis| is_late(&job, &rule, begun + Duration::from_millis(millis));
            assert!(!is_late(late - 1) && is_late(late), "{period}");
        }
    }
}
