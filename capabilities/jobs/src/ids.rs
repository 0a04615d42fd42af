//! The numbers of jobs.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The start of 2026, in milliseconds since 1970.
const EPOCH_MILLIS: u64 = 1_767_225_600_000;

/// Microseconds for each number.
const MICROS: u128 = 10;

/// Returns the first of `count` numbers for jobs: the time since 2026 in units of 10 µs, or one more than the last. So
/// a number is not used again when its job is gone, and later jobs have greater ones.
///
/// Until 2057 they have at most 14 digits, which are as many as Lua shows.
pub(crate) fn next_ids(count: i64) -> i64 {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let now = number_at(SystemTime::now());
    let first = |last: i64| last.max(now - 1) + 1;
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        Some(first(last) + count - 1)
    });
    first(last.unwrap_or_else(|last| last))
}

/// Returns the least number that is given at a time.
fn number_at(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH + Duration::from_millis(EPOCH_MILLIS));
    let number = since.map_or(0, |since| since.as_micros() / MICROS);
    i64::try_from(number).unwrap_or(0)
}

/// Returns a number for a job.
pub(crate) fn next_id() -> i64 {
    next_ids(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow() {
        let ids: Vec<i64> = (0..10_000).map(|_| next_id()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn numbers_have_digits_that_lua_shows() {
        // 2057-01-01T00:00:00Z.
        let late = UNIX_EPOCH + Duration::from_secs(2_745_446_400);
        assert!((1..100_000_000_000_000).contains(&next_id()));
        assert!(number_at(late) < 100_000_000_000_000);
        assert_eq!(number_at(UNIX_EPOCH), 0);
    }
}
