//! The pause before the next attempt: it doubles, and is spread so that jobs that failed together do not return
//! together.

use crate::limits::BACKOFF_MILLIS_MAX;
use std::time::Duration;

/// Returns the pause after a failed attempt, counted from 1, in milliseconds: between three quarters and five quarters
/// of `first` doubled for each attempt before. `random` decides where.
pub(crate) fn pause(first: Duration, attempt: u32, random: u32) -> i64 {
    let first = u64::try_from(first.as_millis()).unwrap_or(u64::MAX);
    let doubled = 1_u64
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(u64::MAX);
    let whole = first.saturating_mul(doubled).min(BACKOFF_MILLIS_MAX);
    let spread = u128::from(whole) * u128::from(random) / (2 * u128::from(u32::MAX));
    let millis = whole - whole / 4 + u64::try_from(spread).unwrap_or(0);
    i64::try_from(millis).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_within_a_quarter_and_ends_at_the_longest() {
        let first = Duration::from_millis(1_000);
        assert_eq!(pause(first, 1, 0), 750);
        assert_eq!(pause(first, 1, u32::MAX), 1_250);
        assert_eq!(pause(first, 4, u32::MAX / 2 + 1), 8_000);
        let longest = i64::try_from(BACKOFF_MILLIS_MAX).expect("fits");
        assert_eq!(pause(first, 90, 0), longest - longest / 4);
        assert_eq!(pause(Duration::ZERO, 90, u32::MAX), 0);
    }
}
