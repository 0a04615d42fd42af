//! Dates and times as forms and JSON write them. In canonical form they compare as text.

use sampan_host::clock;

const SECONDS_PER_DAY: i64 = 86_400;

/// A date such as `2024-12-31`, of the years 1 to 9999.
pub(crate) fn is_date(text: &str) -> bool {
    days_of(text).is_some()
}

/// A date and time such as `2024-12-31T23:59`, as `datetime-local` and RFC 3339 write it, in canonical form. With a
/// zone it becomes UTC and ends in `Z`. Fractions of a second are dropped.
pub(crate) fn datetime(text: &str) -> Option<String> {
    let (date, rest) = (text.get(..10)?, text.get(11..)?);
    if !matches!(text.as_bytes()[10], b'T' | b't' | b' ') {
        return None;
    }
    let (time, offset) = split_zone(rest)?;
    let seconds = days_of(date)? * SECONDS_PER_DAY + seconds_of(time)?;
    let canonical = text_of(seconds - offset.unwrap_or(0))?;
    Some(match offset {
        Some(_) => format!("{canonical}Z"),
        None => canonical,
    })
}

/// The date now, in UTC.
pub(crate) fn today() -> String {
    let now = now();
    now.get(..10).unwrap_or_default().to_owned()
}

/// The date and time now, in UTC, without a zone.
pub(crate) fn now() -> String {
    text_of(clock::since_1970().as_secs() as i64).unwrap_or_default()
}

/// Returns the form that compares with [`now`].
pub(crate) fn without_zone(canonical: &str) -> &str {
    canonical.trim_end_matches('Z')
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
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes) = (digits(hours, 2, 0..=23)?, digits(minutes, 2, 0..=59)?);
    Some((time, Some(sign * (hours * 3600 + minutes * 60))))
}

/// `12:30`, `12:30:59` or `12:30:59.999` in seconds.
fn seconds_of(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let hours = digits(parts.next()?, 2, 0..=23)?;
    let minutes = digits(parts.next()?, 2, 0..=59)?;
    let mut seconds = 0;
    if let Some(rest) = parts.next() {
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
        let is_fraction =
            (1..=9).contains(&fraction.len()) && fraction.bytes().all(|one| one.is_ascii_digit());
        seconds = digits(whole, 2, 0..=59).filter(|_| is_fraction)?;
    }
    Some(hours * 3600 + minutes * 60 + seconds)
}

/// The days since 1970-01-01.
fn days_of(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month) = (text.get(..4)?, text.get(5..7)?);
    let year = digits(year, 4, 1..=9999)?;
    let month = digits(month, 2, 1..=12)?;
    let day = digits(text.get(8..)?, 2, 1..=days_in(year, month))?;
    // Years are counted from March, so that the day that some lack comes last.
    let (year, month) = (year - i64::from(month <= 2), (month + 9) % 12);
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
            - 719_468,
    )
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A time in seconds since 1970 as canonical text; nothing beyond the years 1 to 9999.
fn text_of(seconds: i64) -> Option<String> {
    let (days, time) = (
        seconds.div_euclid(SECONDS_PER_DAY) + 719_468,
        seconds.rem_euclid(SECONDS_PER_DAY),
    );
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}"))
}

/// A number of so many digits within a range.
fn digits(text: &str, count: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|one| one.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten()?;
    range.contains(&number).then_some(number)
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
    fn every_day_of_four_centuries_comes_back() {
        for days in -200_000..200_000 {
            let text = text_of(days * SECONDS_PER_DAY).expect("a date");
            assert_eq!(days_of(&text[..10]), Some(days), "{text}");
        }
    }

    #[test]
    fn now_is_now() {
        assert!(is_date(&today()) && today().as_str() > "2024-01-01");
        assert_eq!(datetime(&now()), Some(now()));
    }
}
