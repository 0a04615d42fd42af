//! The time of day as scripts see it: the system's, unless a test has set another. Times as dates, in UTC.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; below zero while the system's time holds.
static SET_MILLIS: AtomicI64 = AtomicI64::new(-1);

/// True if scripts that load from now on get clocks of their languages that follow this one.
static IS_SETTABLE: AtomicBool = AtomicBool::new(false);

/// The time since 1970-01-01 00:00 UTC. A clock before 1970 reads as 1970.
#[inline]
pub fn since_1970() -> Duration {
    match u64::try_from(SET_MILLIS.load(Relaxed)) {
        Ok(millis) => Duration::from_millis(millis),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    }
}

/// Returns the time that a test has set, if one has.
pub fn set_time() -> Option<Duration> {
    let millis = u64::try_from(SET_MILLIS.load(Relaxed)).ok();
    millis.map(Duration::from_millis)
}

/// Lets the time of day be set: engines give scripts that load from now on clocks of their languages that follow it.
pub fn make_settable() {
    IS_SETTABLE.store(true, Relaxed);
}

/// Reports whether [`make_settable`] was called.
pub fn is_settable() -> bool {
    IS_SETTABLE.load(Relaxed)
}

/// Sets the time of day of the process, which stands still from now on, or with `None` lets the system's hold again.
/// Only tests of applications do so.
pub fn set(time: Option<Duration>) {
    let millis = time.map_or(-1, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    });
    SET_MILLIS.store(millis, Relaxed);
}

/// Returns the year, the month and the day of a day counted from 1970-01-01. The calendar is the Gregorian one, also
/// before it was made, and its year 0 is 1 BC.
pub fn civil(days: i64) -> (i64, i64, i64) {
    /// Days in 400 years, after which the calendar repeats.
    const ERA_DAYS: i64 = 146_097;
    // Years are reckoned from March, so that the leap day is the last of its year.
    let since_march_0000 = days + 719_468;
    let era = since_march_0000.div_euclid(ERA_DAYS);
    let day_of_era = since_march_0000.rem_euclid(ERA_DAYS);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// A time in milliseconds since 1970-01-01 00:00 UTC, whose text is that of `Date.prototype.toISOString` in JavaScript:
/// `2026-01-31T12:34:56.789Z`.
#[derive(Clone, Copy, Debug)]
pub struct IsoTime(pub i64);

impl fmt::Display for IsoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY_MILLIS: i64 = 24 * 3_600 * 1_000;
        let (year, month, day) = civil(self.0.div_euclid(DAY_MILLIS));
        match year {
            0..=9_999 => write!(f, "{year:04}")?,
            _ => write!(f, "{year:+07}")?,
        }
        let time = self.0.rem_euclid(DAY_MILLIS);
        let (seconds, millis) = (time / 1_000, time % 1_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(
            f,
            "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_javascript_writes_them() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_399_007, "2000-02-28T23:59:59.007Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
            (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
            (-8_640_000_000_000_000, "-271821-04-20T00:00:00.000Z"),
        ] {
            assert_eq!(IsoTime(millis).to_string(), text);
        }
        // No time is too far away.
        assert!(IsoTime(i64::MAX).to_string().ends_with('Z'));
        assert!(IsoTime(i64::MIN).to_string().starts_with('-'));
    }
}
