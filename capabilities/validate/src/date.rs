//! Dates and times as forms and JSON write them. In canonical form they compare as text.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use sampan_host::clock;

/// A date such as `2024-12-31`, of the years 1 to 9999.
pub(crate) fn is_date(text: &str) -> bool {
    date_of(text).is_some()
}

/// A date and time such as `2024-12-31T23:59`, as `datetime-local` and RFC 3339 write it, in canonical form. With a
/// zone it becomes UTC and ends in `Z`. Fractions of a second are dropped.
pub(crate) fn datetime(text: &str) -> Option<String> {
    let (date, rest) = (text.get(..10)?, text.get(11..)?);
    if !matches!(text.as_bytes()[10], b'T' | b't' | b' ') {
        return None;
    }
    let (time, offset) = split_zone(rest)?;
    let local = date_of(date)?.to_datetime(time_of(time)?);
    let offset_seconds = SignedDuration::from_secs(offset.unwrap_or(0));
    let canonical = local.checked_sub(offset_seconds).ok()?;
    let zone = if offset.is_some() { "Z" } else { "" };
    (canonical.year() >= 1).then(|| format!("{canonical}{zone}"))
}

/// The date now, in a time zone.
pub(crate) fn today(zone: &TimeZone) -> String {
    zone.to_datetime(now()).date().to_string()
}

/// Returns a date and time in canonical form as that of UTC, without `Z`, to compare it. Without an offset it is one of
/// the zone. An hour that comes twice there counts as the first.
pub(crate) fn in_utc(canonical: &str, zone: &TimeZone) -> String {
    if let Some(utc) = canonical.strip_suffix('Z') {
        return utc.to_owned();
    }
    let local = canonical.parse::<DateTime>().ok();
    let time = local.and_then(|local| zone.to_zoned_datetime(local).ok());
    // Next to the year 10000 there is no such time.
    let utc = time.map(|time| TimeZone::UTC.to_datetime(time.timestamp()));
    utc.map_or_else(|| canonical.to_owned(), |utc| utc.to_string())
}

/// The date and time now, in canonical form.
pub(crate) fn now_in_utc() -> String {
    format!("{}Z", TimeZone::UTC.to_datetime(now()))
}

fn now() -> Timestamp {
    Timestamp::from_second(clock::since_1970().as_secs() as i64).unwrap_or_default()
}

/// The time and the offset of its zone in seconds, if it has one.
fn split_zone(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, Some(0)));
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return Some((text, None));
    };
    let (time, zone) = text.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let zone = time_of(&zone[1..]).filter(|_| zone.len() == 6)?;
    let seconds = i64::from(zone.hour()) * 3600 + i64::from(zone.minute()) * 60;
    Some((time, Some(sign * seconds)))
}

/// `12:30`, `12:30:59` or `12:30:59.999`, without the fraction.
fn time_of(text: &str) -> Option<Time> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let mut second = 0;
    if let Some(rest) = parts.next() {
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
        second = digits(whole, 2)?;
        digits(fraction, fraction.len()).filter(|_| fraction.len() <= 9)?;
    }
    Time::new(hour as i8, minute as i8, second as i8, 0).ok()
}

fn date_of(text: &str) -> Option<Date> {
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4).filter(|year| *year >= 1)?;
    let (month, day) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    Date::new(year as i16, month as i8, day as i8).ok()
}

/// A number of so many digits.
fn digits(text: &str, count: usize) -> Option<i32> {
    let is_number = text.len() == count && text.bytes().all(|one| one.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for date in ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"] {
            assert!(is_date(date), "{date}");
        }
        for text in [
            "2023-02-29",
            "1900-02-29",
            "2024-04-31",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "0000-01-01",
            "2024-1-1",
            "24-01-01",
            "2024/01/01",
            "+024-01-01",
            "2024-01-01 ",
            "2024-01-01T00:00",
            "",
            "２０２４-01-01",
            "20é4-01-1",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn times_with_a_zone_become_utc() {
        for (text, canonical) in [
            ("2024-05-01T10:30", "2024-05-01T10:30:00"),
            ("2024-05-01 10:30:59.123", "2024-05-01T10:30:59"),
            ("2024-05-01T10:30:00Z", "2024-05-01T10:30:00Z"),
            ("2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z"),
            ("2024-02-28T23:30:00-00:45", "2024-02-29T00:15:00Z"),
            ("0001-01-02T00:00Z", "0001-01-02T00:00:00Z"),
        ] {
            assert_eq!(datetime(text).as_deref(), Some(canonical), "{text}");
        }
        for text in [
            "2024-05-01",
            "2024-05-01T24:00",
            "2024-05-01T10:60",
            "2024-05-01T10",
            "2024-05-01T10:30:60",
            "2024-05-01T10:30+1:00",
            "2024-05-01T10:30.5",
            "2024-05-01T10:30:00.",
            "0001-01-01T00:00+00:01",
            "9999-12-31T23:59-00:01",
            "2024-05-01X10:30",
            "2024-05-01é0:30",
        ] {
            assert_eq!(datetime(text), None, "{text}");
        }
    }

    #[test]
    fn now_is_now() {
        let today = today(&TimeZone::UTC);
        assert!(is_date(&today) && today.as_str() > "2024-01-01");
        let now = now_in_utc();
        assert_eq!(datetime(&now), Some(now));
    }

    #[test]
    fn times_of_a_zone_compare_with_those_of_others() {
        let berlin = TimeZone::get("Europe/Berlin").expect("a zone");
        for (canonical, utc) in [
            ("2026-07-01T12:00:00", "2026-07-01T10:00:00"),
            ("2026-01-01T00:30:00", "2025-12-31T23:30:00"),
            ("2026-07-01T12:00:00Z", "2026-07-01T12:00:00"),
            // The clocks change on that day.
            ("2026-03-29T02:30:00", "2026-03-29T01:30:00"),
            ("9999-12-31T23:59:59", "9999-12-31T23:59:59"),
        ] {
            assert_eq!(in_utc(canonical, &berlin), utc, "{canonical}");
        }
        let (east, west) = ("Pacific/Kiritimati", "Pacific/Niue");
        let [east, west] = [east, west].map(|name| TimeZone::get(name).expect("a zone"));
        // Of two zones that are 25 hours apart.
        assert!(today(&east) > today(&west));
    }
}
