//! Tells a queue that is long for a moment from one that stays long: by the shortest wait of an interval, as CoDel does
//! (RFC 8289), with the rule for servers that requests above the target are refused while the queue stays long. On a
//! worker, times are its processor times: while it waits for the disk, nothing is overloaded. In the slow lane they are
//! times of the clock.

use super::settings::OverloadSettings;
use std::time::Duration;

/// The intervals after which a request is refused, however few wait, while newer ones begin before it.
const PASSED_OVER_INTERVALS_MAX: u32 = 20;
/// The least of that time.
const PASSED_OVER_MIN: Duration = Duration::from_secs(1);

/// The fewest requests with which a queue counts as long: those of one turn of a worker.
const LONG_MIN: usize = 16;

/// The waits in one queue.
#[derive(Debug)]
pub(crate) struct Delay {
    /// The end of the interval that is measured.
    interval_end: Duration,
    /// The shortest wait in it.
    shortest: Duration,
    /// True once the shortest wait of an interval was above the target, until one is below half of it.
    is_long: bool,
    /// The requests that waited when that began.
    len_when_long: usize,
}

impl Delay {
    /// Begins to measure.
    pub(crate) fn new(now: Duration, settings: &OverloadSettings) -> Self {
        Self {
            interval_end: now + settings.interval,
            shortest: Duration::MAX,
            is_long: false,
            len_when_long: 0,
        }
    }

    /// Reports whether the queue has been long for an interval.
    pub(crate) fn is_long(&self) -> bool {
        self.is_long
    }

    /// Reports whether half as many requests more wait than when the queue became long. Clients who each wait for their
    /// answer before they ask again do not make it longer, nor do those who come back at once and are served one after
    /// the other.
    pub(crate) fn has_grown(&self, len: usize) -> bool {
        self.is_long && len > self.len_when_long + self.len_when_long / 2
    }

    /// Takes note of a wait that ends now, in a queue of `len` requests. Returns true if the queue has been long for an
    /// interval, and so was this wait.
    pub(crate) fn note(
        &mut self,
        wait: Duration,
        len: usize,
        now: Duration,
        settings: &OverloadSettings,
    ) -> bool {
        if now >= self.interval_end {
            // Refusals keep waits just below the target: the queue is short only once they are well below.
            let bound = match self.is_long {
                true => settings.target / 2,
                false => settings.target,
            };
            let was_long = self.is_long;
            self.is_long = self.shortest > bound && self.shortest != Duration::MAX;
            if self.is_long && !was_long {
                self.len_when_long = len.max(LONG_MIN);
            }
            self.shortest = wait;
            self.interval_end = now + settings.interval;
        } else {
            self.shortest = self.shortest.min(wait);
        }
        self.is_long && wait > settings.target
    }
}

/// Reports whether newer requests have begun before this one for too long.
pub(super) fn is_passed_over(wait: Duration, settings: &OverloadSettings) -> bool {
    let wait_max = settings.interval * PASSED_OVER_INTERVALS_MAX;
    wait > wait_max.max(PASSED_OVER_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: OverloadSettings = OverloadSettings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        waiting_min: 0,
        wait_max: Duration::MAX,
        slow_target: Duration::from_secs(1),
    };

    /// Notes a wait every millisecond, and returns how many of them were refused.
    fn refused(waits: impl Iterator<Item = u64>) -> usize {
        let mut delay = Delay::new(Duration::ZERO, &SETTINGS);
        let noted = waits.enumerate().filter(|(at, wait)| {
            let now = Duration::from_millis(*at as u64);
            delay.note(Duration::from_millis(*wait), 1, now, &SETTINGS)
        });
        noted.count()
    }

    #[test]
    fn a_queue_that_is_long_for_less_than_an_interval_refuses_nothing() {
        let burst = (0..99).map(|_| 50).chain((0..300).map(|_| 1));
        assert_eq!(refused(burst), 0);
    }

    #[test]
    fn a_queue_that_stays_long_refuses_what_waited_longer_than_the_target() {
        assert_eq!(refused((0..300).map(|_| 50)), 200);
        let mixed = (0..300).map(|at| if at % 2 == 0 { 50 } else { 6 });
        assert_eq!(refused(mixed), 200, "6 ms are above the target too");
        let short_now_and_then = (0..300).map(|at| if at % 50 == 0 { 4 } else { 50 });
        assert_eq!(refused(short_now_and_then), 0);
    }

    #[test]
    fn it_stays_long_while_refusals_keep_waits_just_below_the_target() {
        let waits = (0..1_000).map(|at| match at {
            0..200 => 50,
            _ if at % 2 == 0 => 4,
            _ => 6,
        });
        assert_eq!(refused(waits), 100 + 400);
    }

    #[test]
    fn it_recovers_after_an_interval_with_a_short_wait() {
        let waits = (0..200)
            .map(|_| 50)
            .chain((0..100).map(|_| 1))
            .chain((0..99).map(|_| 50));
        assert_eq!(refused(waits), 100);
    }
}
