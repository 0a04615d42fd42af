//! Pauses after failures.

use std::time::Duration;

/// The pause after the first failure. It doubles with each further one: five attempts an hour, of which authorities
/// allow five per domain.
const FIRST_PAUSE: Duration = Duration::from_secs(2 * 60);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(6 * 3_600);
/// The time between two questions about when to renew: twice a day.
pub(crate) const SUGGESTION_PAUSE: Duration = Duration::from_secs(12 * 3_600);
/// The pause after an attempt that a start of the server cannot cut short: five attempts an hour.
pub(crate) const START_PAUSE: Duration = Duration::from_secs(12 * 60);
/// The longest pause that an authority may ask for.
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Returns the pause after this many failures in a row. `asked` is what the authority asks for (`Retry-After`).
pub(crate) fn pause(failures: u32, asked: Option<Duration>) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let pause = doubled.min(PAUSE_MAX);
    // Servers that failed together do not come back together.
    pause.max(bounded(asked)).mul_f64(1.0 + random_part() / 4.0)
}

/// Returns the pause that an authority asks for, within bounds.
pub(crate) fn bounded(asked: Option<Duration>) -> Duration {
    asked.unwrap_or_default().min(ASKED_PAUSE_MAX)
}

/// Returns a random number from 0 to 1.
pub(crate) fn random_part() -> f64 {
    // Without random bytes the middle is as good.
    getrandom::u32().map_or(0.5, |bits| f64::from(bits) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_heed_the_authority() {
        for (failures, asked, seconds) in [
            (1, None, 120),
            (2, None, 240),
            (5, None, 1_920),
            (40, None, 21_600),
            (1, Some(3_600), 3_600),
            (1, Some(u64::MAX), 604_800),
        ] {
            let found = pause(failures, asked.map(Duration::from_secs)).as_secs();
            assert!((seconds..=seconds * 5 / 4).contains(&found), "{found}");
        }
    }
}
