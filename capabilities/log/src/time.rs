//! Moments as text.

use sampan_host::clock::{IsoTime, civil};
use std::fmt::Write;
use std::time::Duration;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Appends a moment, given since 1970, as RFC 3339 with milliseconds: `2026-11-21T05:00:00.000Z`.
pub(crate) fn rfc3339(out: &mut String, since_1970: Duration) {
    let _ = write!(out, "{}", IsoTime(since_1970.as_millis() as i64));
}

/// Appends a moment as access logs write it: `21/Nov/2026:05:00:00 +0000`.
pub(crate) fn common(out: &mut String, since_1970: Duration) {
    let (year, month, day) = civil((since_1970.as_secs() / 86_400) as i64);
    let (hour, minute, second) = clock(since_1970);
    let month = MONTHS[(month - 1) as usize];
    let _ = write!(
        out,
        "{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000"
    );
}

fn clock(since_1970: Duration) -> (u64, u64, u64) {
    let seconds = since_1970.as_secs();
    (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> String {
        let mut out = String::new();
        rfc3339(&mut out, Duration::from_millis(seconds * 1000 + 7));
        out
    }

    #[test]
    fn dates_are_right_at_the_edges_of_the_calendar() {
        assert_eq!(at(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.007Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(at(1_735_689_599), "2024-12-31T23:59:59.007Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.007Z");
        let mut out = String::new();
        common(&mut out, Duration::from_secs(951_782_399));
        assert_eq!(out, "28/Feb/2000:23:59:59 +0000");
    }
}
