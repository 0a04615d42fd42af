//! Dates and times as scripts give them: text as databases, forms and JSON have it, or seconds since 1970.

use icu_calendar::types::RataDie;
use icu_calendar::{Date, Gregorian};
use icu_datetime::input::{DateTime, Time};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sampan_host::{Error, Value};

/// The day 1970-01-01 in the count that begins with the year 1.
const UNIX_DAY: i64 = 719_163;
const DAY_SECONDS: i64 = 86_400;
/// The last second of the year 9999.
const SECONDS_MAX: i64 = 253_402_300_799;

/// A date, and the time of that day.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moment {
    pub(crate) date: Date<Gregorian>,
    time: Option<Time>,
}

impl Moment {
    /// Reads `2026-11-22`, `2026-11-22 14:05:09`, `2026-11-22T14:05:09.123Z` or seconds since 1970, in UTC. A text is
    /// shown as it stands, with any offset.
    pub(crate) fn read(value: &Value) -> Result<Self, Error> {
        let seconds = match value {
            Value::Int(seconds) => *seconds as f64,
            Value::Float(seconds) => *seconds,
            Value::Text(text) => {
                let fault = || {
                    let shown: String = text.chars().take(40).collect();
                    let text =
                        format!("{shown:?} is no date: write 2026-11-22 or 2026-11-22 14:05:09");
                    Error::script(text)
                };
                return parsed(text).ok_or_else(fault);
            }
            other => {
                let found = other.type_name();
                let text = format!(
                    "a date is a text such as 2026-11-22 or seconds since 1970, not {found}"
                );
                return Err(Error::script(text));
            }
        };
        // Before the year 1 calendars differ.
        if !(-(UNIX_DAY * DAY_SECONDS) as f64 + DAY_SECONDS as f64..=SECONDS_MAX as f64)
            .contains(&seconds)
        {
            return Err(Error::script(format!(
                "{seconds} is no time between the years 1 and 9999, in seconds since 1970"
            )));
        }
        let seconds = seconds.floor() as i64;
        let day = seconds.div_euclid(DAY_SECONDS);
        let rest = seconds.rem_euclid(DAY_SECONDS);
        let time = Time::try_new(
            (rest / 3600) as u8,
            (rest / 60 % 60) as u8,
            (rest % 60) as u8,
            0,
        );
        Ok(Self {
            date: Date::from_rata_die(RataDie::new(UNIX_DAY + day), Gregorian),
            time: time.ok(),
        })
    }

    /// Reads the same and gives the date and the time of day in a time zone. A text without an offset is in UTC, as
    /// SQLite writes it; one without a time is shown as it stands.
    pub(crate) fn read_in(value: &Value, zone: &str) -> Result<Self, Error> {
        let read = Self::read(value)?;
        let shown: String = zone.chars().take(60).collect();
        let zone = TimeZone::get(zone).map_err(|_| {
            Error::script(format!(
                "there is no time zone {shown:?}: write an IANA name such as \"Europe/Berlin\" or \"UTC\""
            ))
        })?;
        let Some(time) = read.time else {
            return Ok(read);
        };
        let offset = match value {
            Value::Text(text) => offset_seconds(text),
            _ => 0,
        };
        let day = read.date.to_rata_die().to_i64_date() - UNIX_DAY;
        let clock = i64::from(time.hour.number()) * 3600
            + i64::from(time.minute.number()) * 60
            + i64::from(time.second.number());
        let seconds = day * DAY_SECONDS + clock - offset;
        let ahead = match Timestamp::from_second(seconds) {
            Ok(time) => i64::from(zone.to_offset(time).seconds()),
            Err(_) => 0,
        };
        Self::read(&Value::Int(seconds + ahead))
    }

    /// Both; midnight where there is no time.
    pub(crate) fn with_time(&self) -> DateTime<Gregorian> {
        let time = self.time.unwrap_or(Time::start_of_day());
        DateTime {
            date: self.date,
            time,
        }
    }
}

/// Returns how many seconds the offset of a text that was read is ahead of UTC.
fn offset_seconds(text: &str) -> i64 {
    let Some((time, sign)) = text.get(11..).and_then(|time| {
        let at = time.rfind(['+', '-'])?;
        Some((
            &time[at + 1..],
            if time[at..].starts_with('-') { -1 } else { 1 },
        ))
    }) else {
        return 0;
    };
    sign * offset(time).unwrap_or(0)
}

/// Returns the seconds of an offset without its sign: `02`, `0230` or `02:30`.
fn offset(text: &str) -> Option<i64> {
    let [hours, minutes] = match text.len() {
        2 => [text, "00"],
        4 => <[&str; 2]>::from(text.split_at_checked(2)?),
        _ => <[&str; 2]>::from(text.split_once(':')?),
    };
    let ([hours], [minutes]) = (numbers(hours, ':', [2])?, numbers(minutes, ':', [2])?);
    let is_offset = hours <= 23 && minutes <= 59;
    is_offset.then(|| i64::from(hours) * 3600 + i64::from(minutes) * 60)
}

fn parsed(text: &str) -> Option<Moment> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    if year == 0 {
        return None;
    }
    let date = Date::try_new_gregorian(i32::from(year), month as u8, day as u8).ok()?;
    if rest.is_empty() {
        return Some(Moment { date, time: None });
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    // The offset, and the part of a second.
    let rest = match rest.strip_suffix(['Z', 'z']) {
        Some(rest) => rest,
        None => match rest.rfind(['+', '-']) {
            Some(at) => {
                offset(&rest[at + 1..])?;
                &rest[..at]
            }
            None => rest,
        },
    };
    let (clock, part) = rest.split_once('.').unwrap_or((rest, "0"));
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let [hour, minute, second] = match clock.len() {
        5 => {
            let [hour, minute] = numbers(clock, ':', [2, 2])?;
            [hour, minute, 0]
        }
        _ => numbers(clock, ':', [2, 2, 2])?,
    };
    let time = Time::try_new(hour as u8, minute as u8, second as u8, 0).ok()?;
    let time = Some(time);
    Some(Moment { date, time })
}

/// Numbers of so many digits with a sign between them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[u16; N]> {
    let mut parts = text.split(between);
    let mut found = [0; N];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_or_refused() {
        let date = Date::try_new_gregorian(2026, 11, 22).expect("a date");
        let at = |hour, minute, second| Time::try_new(hour, minute, second, 0).ok();
        for (text, time) in [
            ("2026-11-22", None),
            ("2026-11-22 14:05", at(14, 5, 0)),
            ("2026-11-22 14:05:09", at(14, 5, 9)),
            ("2026-11-22T14:05:09Z", at(14, 5, 9)),
            ("2026-11-22T14:05:09.123Z", at(14, 5, 9)),
            ("2026-11-22T14:05:09+02:00", at(14, 5, 9)),
            ("2026-11-22T14:05:09+02", at(14, 5, 9)),
            ("2026-11-22T14:05:09-0230", at(14, 5, 9)),
            ("2026-11-22T14:05:09+23:59", at(14, 5, 9)),
            ("2026-11-22t23:59:59.999999999-11:30", at(23, 59, 59)),
        ] {
            let read = Moment::read(&Value::from(text));
            assert_eq!(read.ok(), Some(Moment { date, time }), "{text}");
        }
        for text in [
            "",
            "x",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-02-29",
            "0000-01-01",
            "26-11-22",
            "2026-11-22T",
            "2026-11-22X14:05",
            "2026-11-22 24:00",
            "2026-11-22 14:5",
            "2026-11-22 14:05:09.",
            "2026-11-22 14:05+2",
            "2026-11-22 14:05+",
            "2026-11-22 14:05+020",
            "2026-11-22 14:05+02:0",
            "2026-11-22 14:05+02:00:00",
            "2026-11-22 14:05+24:00",
            "2026-11-22 14:05+99:99",
            "2026-11-22 14:05-00:60",
            "2026-11-22 14:05+24",
            "2026-11-22 14:05+0060",
            "2026-11-22 14:05+\u{e9}",
            "2026-11-22 14:05+0\u{e9}0",
            "2026-11-2\u{e9}",
            "+026-11-22",
            "2026-11-22 14:05:09 14:05",
            "22.11.2026",
            "2026\u{0}11-22",
        ] {
            assert!(Moment::read(&Value::from(text)).is_err(), "{text:?}");
        }
    }

    #[test]
    fn moments_move_to_a_zone() {
        let read = |text: &str, zone: &str| Moment::read_in(&Value::from(text), zone).ok();
        let iso = |text: &str| Moment::read(&Value::from(text)).ok();
        let summer = iso("2026-07-01 14:00:00");
        assert_eq!(read("2026-07-01 12:00:00", "Europe/Berlin"), summer);
        assert_eq!(read("2026-07-01T12:00:00Z", "Europe/Berlin"), summer);
        assert_eq!(read("2026-07-01T08:00:00-04:00", "Europe/Berlin"), summer);
        assert_eq!(read("2026-07-01T08:00:00-04", "Europe/Berlin"), summer);
        assert_eq!(read("2026-07-01T17:30:00+0530", "Europe/Berlin"), summer);
        assert_eq!(
            read("2026-12-31T23:30:00Z", "Asia/Tokyo"),
            iso("2027-01-01 08:30:00")
        );
        assert_eq!(read("2026-07-01", "Asia/Tokyo"), iso("2026-07-01"));
        assert_eq!(read("2026-07-01 12:00:00", "Europe/Nowhere"), None);
        let seconds = Moment::read_in(&Value::Int(0), "America/New_York").ok();
        assert_eq!(seconds, iso("1969-12-31 19:00:00"));
    }

    #[test]
    fn seconds_are_utc() {
        let read = |seconds: f64| Moment::read(&Value::Float(seconds));
        let iso = |text: &str| Moment::read(&Value::from(text)).ok();
        assert_eq!(read(0.0).ok(), iso("1970-01-01T00:00:00Z"));
        assert_eq!(read(1_795_356_309.9).ok(), iso("2026-11-22T14:05:09Z"));
        assert_eq!(read(-1.0).ok(), iso("1969-12-31T23:59:59Z"));
        assert_eq!(read(253_402_300_799.0).ok(), iso("9999-12-31T23:59:59Z"));
        for wrong in [f64::NAN, f64::INFINITY, 1e18, -1e18] {
            assert!(read(wrong).is_err());
        }
    }
}
