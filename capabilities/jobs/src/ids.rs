//! The numbers of jobs.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the first of `count` numbers for jobs: microseconds since 1970, or one more than the last. So a number is
/// not used again when its job is gone, and later jobs have greater ones.
pub(crate) fn next_ids(count: i64) -> i64 {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_micros()).unwrap_or(0));
    let first = |last: i64| last.max(now - 1) + 1;
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        Some(first(last) + count - 1)
    });
    first(last.unwrap_or_else(|last| last))
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
}
