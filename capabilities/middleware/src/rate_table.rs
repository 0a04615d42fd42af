//! The counters of rate limits: once per process, for all workers, in memory that does not grow.
//!
//! A key is a hash with a secret seed, so a client cannot aim at the place of another. Places lie in sets of eight;
//! where a set is full, the key goes that has used the least of its limit. So a flood of new keys forgets new keys, not
//! those that have reached their limit.

use crate::limits::RATE_KEYS_MAX;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The number of locks, so that workers hardly wait for each other.
const SHARDS: usize = 64;
/// The most places that a key may lie in.
const SET_PLACES: usize = 8;
const SETS: usize = RATE_KEYS_MAX / SHARDS / SET_PLACES;

/// The counts of one key: a window and the one before it.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// 0 means that the place is free.
    key: u64,
    /// Windows are numbered from the start of the process.
    window: u32,
    before: u32,
    now: u32,
    /// The second from which on they mean nothing.
    expires: u32,
    limit: u32,
}

type Shard = Vec<[Counts; SET_PLACES]>;

/// The counts of a process.
pub struct RateTable {
    hasher: RandomState,
    begun: Instant,
    /// Each is allocated when it is used first.
    shards: [Mutex<Shard>; SHARDS],
    /// The number of times that all counts were forgotten.
    clears: AtomicU64,
}

/// The allowed requests in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rate {
    pub(crate) limit: u32,
    pub(crate) seconds: u32,
}

impl Rate {
    /// Returns the length of its window, in milliseconds.
    pub(crate) fn millis(self) -> u64 {
        u64::from(self.seconds) * 1000
    }
}

/// The result for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) is_allowed: bool,
    /// The number of requests left.
    pub(crate) remaining: u32,
    /// In how many seconds there are more: the window's end, or for a refused request its next chance.
    pub(crate) reset_seconds: u32,
}

impl Default for RateTable {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            begun: Instant::now(),
            shards: std::array::from_fn(|_| Mutex::default()),
            clears: AtomicU64::new(0),
        }
    }
}

impl RateTable {
    /// Counts a request of a key, if the limit allows it.
    pub(crate) fn take(&self, rate: Rate, key: impl Hash) -> Taken {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.take_at(rate, key, millis)
    }

    /// Forgets all counts.
    pub fn clear(&self) {
        self.clears.fetch_add(1, Relaxed);
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Returns the number of times that all counts were forgotten.
    pub(crate) fn clears(&self) -> u64 {
        self.clears.load(Relaxed)
    }

    fn take_at(&self, rate: Rate, key: impl Hash, millis: u64) -> Taken {
        let key = self.hasher.hash_one(key).max(1);
        let shard = &self.shards[key as usize % SHARDS];
        // The counts are usable after a panic of another thread.
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if shard.is_empty() {
            shard.resize(SETS, Default::default());
        }
        let set = &mut shard[(key as usize / SHARDS) % SETS];
        let second = (millis / 1000) as u32;
        place(set, key, second).take(key, rate, millis)
    }
}

/// The place of a key in its set: its own, a free one, or that of the key that has used the least of its limit.
fn place(set: &mut [Counts; SET_PLACES], key: u64, second: u32) -> &mut Counts {
    let weight = |counts: &Counts| match counts.expires <= second {
        true => 0,
        false => {
            (u64::from(counts.before.saturating_add(counts.now)) << 32)
                / u64::from(counts.limit.max(1))
        }
    };
    let own = set.iter().position(|counts| counts.key == key);
    let at = own.unwrap_or_else(|| {
        let lightest = (0..SET_PLACES).min_by_key(|at| weight(&set[*at]));
        lightest.unwrap_or_default()
    });
    &mut set[at]
}

impl Counts {
    fn take(&mut self, key: u64, rate: Rate, millis: u64) -> Taken {
        let length = rate.millis();
        if self.key != key {
            *self = Self::default();
        }
        // Another worker may have read the clock later and come first.
        let millis = millis.max(u64::from(self.window) * length);
        let (window, passed) = ((millis / length) as u32, millis % length);
        match window - self.window {
            0 => {}
            1 => (self.before, self.now) = (self.now, 0),
            _ => (self.before, self.now) = (0, 0),
        }
        let left = length - passed;
        *self = Self {
            key,
            window,
            expires: ((millis + left + length).div_ceil(1000)) as u32,
            limit: rate.limit,
            ..*self
        };
        let window = Window {
            before: u64::from(self.before),
            now: u64::from(self.now),
            left,
        };
        match window.free(rate) {
            0 => window.refused(rate),
            free => {
                self.now += 1;
                window.allowed(free - 1)
            }
        }
    }
}

/// The counts of one key at one time.
pub(crate) struct Window {
    /// The requests of the window before.
    pub(crate) before: u64,
    /// Those of this window.
    pub(crate) now: u64,
    /// The time until its end, in milliseconds.
    pub(crate) left: u64,
}

impl Window {
    /// Returns the number of requests that are left.
    pub(crate) fn free(&self, rate: Rate) -> u64 {
        // Of the window before counts the part that the last `length` milliseconds still touch.
        let used = self.before * self.left / rate.millis() + self.now;
        u64::from(rate.limit).saturating_sub(used)
    }

    /// The result for a request that is allowed and leaves so many.
    pub(crate) fn allowed(&self, remaining: u64) -> Taken {
        Taken {
            is_allowed: true,
            remaining: remaining as u32,
            reset_seconds: self.left.div_ceil(1000) as u32,
        }
    }

    /// The result for a request that is refused.
    pub(crate) fn refused(&self, rate: Rate) -> Taken {
        let wait = match u64::from(rate.limit).checked_sub(self.now) {
            // The part of the window before must shrink below this.
            Some(room @ 1..) => {
                let shrunk = room * rate.millis() / self.before.max(1);
                self.left + 1 - shrunk.min(self.left)
            }
            // The next window begins with all of this one.
            _ => self.left + 1,
        };
        Taken {
            is_allowed: false,
            remaining: 0,
            reset_seconds: wait.div_ceil(1000).max(1) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate {
        limit: 10,
        seconds: 60,
    };

    fn taken(table: &RateTable, key: &str, millis: u64) -> bool {
        table.take_at(RATE, key, millis).is_allowed
    }

    #[test]
    fn the_window_slides() {
        let table = RateTable::default();
        let allowed = |from: u64| (0..20).filter(|_| taken(&table, "a", from)).count();
        assert_eq!(allowed(59_000), 10);
        // A second later nearly all of them still count, half a minute later half of them.
        assert_eq!(allowed(60_000), 0);
        assert_eq!(allowed(61_000), 1);
        assert_eq!(allowed(90_000), 4);
        assert_eq!(allowed(200_000), 10);
        assert_eq!(allowed(1_000_000), 10);
    }

    #[test]
    fn whoever_waits_as_told_gets_in() {
        for first in [0, 12_345, 59_999] {
            let table = RateTable::default();
            let mut now = first;
            for _ in 0..100 {
                let taken = table.take_at(RATE, "a", now);
                if !taken.is_allowed {
                    assert!(
                        (1..=61).contains(&taken.reset_seconds),
                        "{taken:?} at {now}"
                    );
                    now += u64::from(taken.reset_seconds) * 1000;
                    let again = table.take_at(RATE, "a", now);
                    assert!(again.is_allowed, "{again:?} at {now}");
                }
                now += 7;
            }
        }
    }

    #[test]
    fn what_remains_is_told() {
        let table = RateTable::default();
        let first = table.take_at(RATE, "a", 45_000);
        let expected = Taken {
            is_allowed: true,
            remaining: 9,
            reset_seconds: 15,
        };
        assert_eq!(first, expected);
        assert_eq!(table.take_at(RATE, "b", 45_000).remaining, 9);
        assert_eq!(table.take_at(RATE, "a", 45_001).remaining, 8);
    }

    #[test]
    fn a_worker_that_read_the_clock_earlier_forgets_nothing() {
        let table = RateTable::default();
        for _ in 0..10 {
            assert!(taken(&table, "a", 60_000));
        }
        assert!(!taken(&table, "a", 59_999));
        assert!(!taken(&table, "a", 60_001));
    }

    #[test]
    fn a_flood_against_a_high_limit_frees_nobody_of_a_low_one() {
        let table = RateTable::default();
        let high = Rate {
            limit: 1_000,
            seconds: 60,
        };
        while taken(&table, "greedy", 1) {}
        for number in 0..150_000 {
            for _ in 0..11 {
                table.take_at(high, ("key", number), 2);
            }
        }
        assert!(!taken(&table, "greedy", 3));
    }

    #[test]
    fn a_flood_of_keys_takes_no_memory_and_frees_nobody() {
        let table = RateTable::default();
        while taken(&table, "greedy", 1) {}
        for number in 0..500_000 {
            table.take_at(RATE, ("key", number), 2);
        }
        assert!(!taken(&table, "greedy", 3));
        let places = table.shards.iter().map(|shard| {
            let shard = shard.lock().expect("no thread panicked");
            shard.len() * SET_PLACES
        });
        assert_eq!(places.sum::<usize>(), RATE_KEYS_MAX);
    }

    #[test]
    fn places_that_mean_nothing_are_used_again() {
        let table = RateTable::default();
        for number in 0..200_000 {
            for _ in 0..9 {
                let _ = table.take_at(RATE, number, 0);
            }
        }
        // Two windows later they are free, with any count.
        assert_eq!(table.take_at(RATE, "new", 180_000).remaining, 9);
        assert_eq!(table.take_at(RATE, "new", 180_000).remaining, 8);
    }
}
