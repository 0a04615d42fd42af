//! Times as seconds since 1970, and their dates in time zones.
//!
//! The timestamps of `jiff` end 26 hours before the year 9999 does, so that every zone has a date for each. Databases
//! have its last day as their end of time. No zone changes its offset so late, so these hours are counted here.

use jiff::civil::{DateTime, datetime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

const EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);
/// The first date that has no timestamp in some zones.
const END: DateTime = datetime(9999, 12, 30, 0, 0, 0, 0);

/// Returns the date and the time of day in a zone, and how far the zone is ahead of UTC then; nothing outside of the
/// years -9999 to 9999.
pub(super) fn date_at(seconds: i64, zone: &TimeZone) -> Option<(DateTime, Offset)> {
    if let Ok(time) = Timestamp::from_second(seconds) {
        let offset = zone.to_offset(time);
        return Some((offset.to_datetime(time), offset));
    }
    // Before the first timestamp the second sum is out of range too.
    let offset = zone.to_offset(Timestamp::MAX);
    let local = seconds.checked_add(i64::from(offset.seconds()))?;
    let date = EPOCH.checked_add(SignedDuration::from_secs(local)).ok()?;
    (date >= END).then_some((date, offset))
}

/// Returns the time of a date and a time of day in a zone.
pub(super) fn seconds_of(date: DateTime, zone: &TimeZone) -> Option<f64> {
    match is_at_end(date) {
        true => seconds_at_end(date, None, zone),
        false => Some(seconds(zone.to_zoned_datetime(date).ok()?.timestamp())),
    }
}

/// Reports whether a date may have no timestamp.
pub(super) fn is_at_end(date: DateTime) -> bool {
    date >= END
}

/// Returns the time of a date for which [`is_at_end`] holds. A written offset must be that of the zone, if the text
/// names one.
pub(super) fn seconds_at_end(
    date: DateTime,
    written: Option<(Offset, bool)>,
    zone: &TimeZone,
) -> Option<f64> {
    let of_zone = zone.to_offset(Timestamp::MAX);
    let offset = match written {
        Some((offset, true)) if offset != of_zone => return None,
        Some((offset, _)) => offset,
        None => of_zone,
    };
    let local = date.duration_since(EPOCH);
    let whole = local.as_secs() - i64::from(offset.seconds());
    Some(whole as f64 + f64::from(local.subsec_nanos()) / 1e9)
}

/// Returns a timestamp in seconds.
pub(super) fn seconds(time: Timestamp) -> f64 {
    time.as_second() as f64 + f64::from(time.subsec_nanosecond()) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last second of the year 9999 in UTC.
    const LAST: i64 = 253_402_300_799;

    #[test]
    fn the_year_9999_ends_in_each_zone() {
        for (tz, ahead) in [
            ("UTC", 0),
            ("Europe/Berlin", 3_600),
            ("America/New_York", -18_000),
            ("Pacific/Kiritimati", 50_400),
        ] {
            let zone = TimeZone::get(tz).expect("a zone");
            let last = LAST - ahead;
            let (date, offset) = date_at(last, &zone).expect("a date");
            assert_eq!(date.to_string(), "9999-12-31T23:59:59", "{tz}");
            assert_eq!(i64::from(offset.seconds()), ahead, "{tz}");
            assert_eq!(date_at(last + 1, &zone), None, "{tz}");
            // Across the last timestamp, nothing jumps.
            for back in (0..60).map(|hours| hours * 3_600) {
                let (date, _) = date_at(last - back, &zone).expect("a date");
                assert_eq!(seconds_of(date, &zone), Some((last - back) as f64), "{tz}");
            }
        }
        for outside in [i64::MIN, -400_000_000_000, i64::MAX] {
            assert_eq!(date_at(outside, &TimeZone::UTC), None, "{outside}");
        }
    }
}
