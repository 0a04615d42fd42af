//! Dates and times as text and as cells.

use sampan_host::Cell;
use sampan_host::clock::civil;
use std::fmt::Write;

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
const EPOCH_DAYS: i64 = 10_957;
const DAY_MILLIS: i64 = 24 * 3_600 * 1_000;
const DAY_MICROS: i64 = DAY_MILLIS * 1_000;

/// Returns a timestamp, in microseconds from 2000-01-01, as a time in milliseconds. `infinity` is a number.
pub(crate) fn timestamp_cell(micros: i64) -> Cell<'static> {
    match micros {
        i64::MAX => Cell::Float(f64::INFINITY),
        i64::MIN => Cell::Float(f64::NEG_INFINITY),
        _ => Cell::Date(micros.div_euclid(1_000) + EPOCH_DAYS * DAY_MILLIS),
    }
}

/// Returns a date, in days from 2000-01-01, as the time of its midnight in UTC. `infinity` is a number.
pub(crate) fn date_cell(days: i32) -> Cell<'static> {
    match days {
        i32::MAX => Cell::Float(f64::INFINITY),
        i32::MIN => Cell::Float(f64::NEG_INFINITY),
        _ => Cell::Date((i64::from(days) + EPOCH_DAYS) * DAY_MILLIS),
    }
}

/// Writes a timestamp, in microseconds from 2000-01-01.
pub(crate) fn write_timestamp(micros: i64, out: &mut String) {
    match micros {
        i64::MAX => return out.push_str("infinity"),
        i64::MIN => return out.push_str("-infinity"),
        _ => {}
    }
    let is_before_christ = write_day(micros.div_euclid(DAY_MICROS), out);
    let time = micros.rem_euclid(DAY_MICROS);
    let (seconds, fraction) = (time / 1_000_000, time % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, " {hour:02}:{minute:02}:{second:02}");
    match (fraction, fraction % 1_000) {
        (0, _) => {}
        (_, 0) => {
            let _ = write!(out, ".{:03}", fraction / 1_000);
        }
        _ => {
            let _ = write!(out, ".{fraction:06}");
        }
    }
    if is_before_christ {
        out.push_str(" BC");
    }
}

/// Writes a date, in days from 2000-01-01.
pub(crate) fn write_date(days: i32, out: &mut String) {
    match days {
        i32::MAX => out.push_str("infinity"),
        i32::MIN => out.push_str("-infinity"),
        _ => {
            if write_day(days.into(), out) {
                out.push_str(" BC");
            }
        }
    }
}

/// Writes `YYYY-MM-DD`, and reports whether the year is one before Christ.
fn write_day(days: i64, out: &mut String) -> bool {
    let (year, month, day) = civil(days + EPOCH_DAYS);
    // There is no year 0: 1 BC comes before 1.
    let (shown, is_before_christ) = if year > 0 {
        (year, false)
    } else {
        (1 - year, true)
    };
    let _ = write!(out, "{shown:04}-{month:02}-{day:02}");
    is_before_christ
}

/// The earliest year of the server's calendar, 4713 BC, where 1 BC is the year 0.
const YEAR_MIN: i32 = -4_712;

/// Returns the server's text of a time that JavaScript writes with a year outside of 1 to 9999, as in
/// `-000043-03-15T00:00:00.000Z`. `None` if the text is another.
///
/// # Errors
/// The server's calendar begins later.
pub(crate) fn far_year(text: &str) -> Result<Option<String>, String> {
    let read = || {
        let is_first = text.starts_with("0000-");
        let (year, rest) = text.split_at_checked(if is_first { 4 } else { 7 })?;
        let digits = if is_first {
            year
        } else {
            year.strip_prefix(['+', '-'])?
        };
        let has_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        let (day, time) = rest.strip_prefix('-')?.split_once('T')?;
        let time = time.strip_suffix('Z')?;
        has_digits.then_some((year.parse::<i32>().ok()?, day, time))
    };
    let Some((year, day, time)) = read() else {
        return Ok(None);
    };
    if year < YEAR_MIN {
        return Err(format!(
            "the year {} BC is before 4713 BC, where the calendar of PostgreSQL begins",
            1 - year
        ));
    }
    Ok(Some(match year {
        1.. => format!("{year:04}-{day} {time}+00"),
        _ => format!("{:04}-{day} {time}+00 BC", 1 - year),
    }))
}
