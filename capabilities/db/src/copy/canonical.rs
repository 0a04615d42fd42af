//! Values as the server writes them again, whatever they were written like: so both sides have the same hashes.

use super::profile::is_date;
use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use std::borrow::Cow;

/// The largest exponent of a number whose digits are written out.
const EXPONENT_MAX: i64 = 2_000;
/// The most digits of a number that are written out. `numeric` has 16,383 behind its point.
const DIGITS_MAX: usize = 16_000;

/// Returns a decimal number as `trim_scale(...)::text` gives it, rounded half away from zero to `scale` digits behind
/// the point; `None` if it is not written as one, or is too long.
pub(super) fn number(text: &str, scale: Option<usize>) -> Option<Cow<'_, str>> {
    if matches!(text, "NaN" | "Infinity" | "-Infinity") {
        return Some(text.into());
    }
    let (is_negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
        None => (rest, 0_i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<u8> = [whole.as_bytes(), fraction.as_bytes()].concat();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !is_number || exponent.abs() > EXPONENT_MAX || digits.len() > DIGITS_MAX {
        return None;
    }
    // The digits before the point; the others are behind it.
    let mut point = i64::try_from(whole.len()).ok()? + exponent;
    if point < 0 {
        let zeros = vec![b'0'; usize::try_from(-point).ok()?];
        digits.splice(0..0, zeros);
        point = 0;
    }
    let point = usize::try_from(point).ok()?;
    if digits.len() < point {
        digits.resize(point, b'0');
    }
    let point = match scale {
        Some(scale) => rounded(&mut digits, point, scale),
        None => point,
    };
    let text = |digits: &[u8]| String::from_utf8_lossy(digits).into_owned();
    let (whole, fraction) = (text(&digits[..point]), text(&digits[point..]));
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    let sign = match is_negative && !(whole.is_empty() && fraction.is_empty()) {
        true => "-",
        false => "",
    };
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match fraction {
        "" => format!("{sign}{whole}").into(),
        _ => format!("{sign}{whole}.{fraction}").into(),
    })
}

/// Rounds digits to so many behind the point. Returns the place of the point, which moves if a digit is carried over.
fn rounded(digits: &mut Vec<u8>, point: usize, scale: usize) -> usize {
    let end = point + scale;
    if digits.len() <= end {
        return point;
    }
    let rounds_up = digits[end] >= b'5';
    digits.truncate(end);
    if !rounds_up {
        return point;
    }
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return point;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
    point + 1
}

/// Returns a date as `YYYY-MM-DD`; `None` if it is not written so.
pub(super) fn date(text: &str) -> Option<Cow<'_, str>> {
    is_date(text.as_bytes()).then_some(text.into())
}

/// Returns a time as `YYYY-MM-DD HH:MM:SS` with six digits of a fraction; `None` if it is not written with a date, and
/// with a clock of seconds or none.
pub(super) fn timestamp(text: &str) -> Option<Cow<'_, str>> {
    let (date, rest) = text.split_at_checked(10)?;
    if !is_date(date.as_bytes()) {
        return None;
    }
    if rest.is_empty() {
        return Some(format!("{date} 00:00:00.000000").into());
    }
    let rest = rest.strip_prefix([' ', 'T'])?;
    let (clock, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let time: Option<Time> = clock.parse().ok();
    let is_clock = time.is_some_and(|time| time.to_string() == clock);
    let is_fraction = fraction.len() <= 6 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    (is_clock && is_fraction).then(|| format!("{date} {clock}.{fraction:0<6}").into())
}

/// Returns a time with a zone as [`timestamp`] does, in UTC. One without a zone is in UTC, as for our connections.
/// `None` if it is not written so, or leaves the years from 1 to 9999.
pub(super) fn moment(text: &str) -> Option<Cow<'_, str>> {
    let Some(at) = text.get(10..)?.find(['Z', 'z', '+', '-']) else {
        return timestamp(text);
    };
    let (local, zone) = text.split_at(10 + at);
    // A date alone has no clock that could be moved.
    let local = timestamp(local).filter(|_| local.len() > 10)?;
    let local: DateTime = local.parse().ok()?;
    let offset = SignedDuration::from_mins(offset_minutes(zone)?);
    let utc = local.checked_sub(offset).ok()?;
    (utc.year() > 0).then(|| format!("{utc:.6}").replacen('T', " ", 1).into())
}

/// Reads a zone such as `Z`, `+02`, `-0330` or `+05:30`, as minutes before UTC.
fn offset_minutes(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let (sign, digits) = zone.split_at_checked(1)?;
    let digits = digits.replace(':', "");
    let is_plain =
        matches!(digits.len(), 2 | 4) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || !matches!(zone.len(), 3 | 5 | 6) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = digits.get(2..4).map_or(Some(0), |text| match text {
        "" => Some(0),
        text => text.parse().ok(),
    })?;
    let all = hours * 60 + minutes;
    (hours < 16 && minutes < 60).then_some(if sign == "-" { -all } else { all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_server_does() {
        for (text, scale, expected) in [
            ("1", None, Some("1")),
            ("+01.50", None, Some("1.5")),
            ("-0.0", None, Some("0")),
            (".5", None, Some("0.5")),
            ("5.", None, Some("5")),
            ("1e3", None, Some("1000")),
            ("1.25E+1", None, Some("12.5")),
            ("12.5e-4", None, Some("0.00125")),
            ("9223372036854775807", None, Some("9223372036854775807")),
            ("0.30000000000000004", Some(2), Some("0.3")),
            ("-9.995", Some(2), Some("-10")),
            ("0.5", Some(0), Some("1")),
            ("0.049", Some(1), Some("0")),
            ("-0.01", Some(1), Some("0")),
            ("99.95", Some(1), Some("100")),
            ("1e-9", Some(3), Some("0")),
            ("NaN", Some(2), Some("NaN")),
            ("Infinity", None, Some("Infinity")),
            ("1e9999", None, None),
            ("", None, None),
            ("-", None, None),
            (".", None, None),
            ("1_000", None, None),
            (" 1", None, None),
            ("0x1F", None, None),
        ] {
            assert_eq!(number(text, scale).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn times_are_written_in_one_way() {
        for (text, expected) in [
            ("2024-05-06 07:08:09", Some("2024-05-06 07:08:09.000000")),
            ("2024-05-06T07:08:09.5", Some("2024-05-06 07:08:09.500000")),
            ("2024-05-06", Some("2024-05-06 00:00:00.000000")),
            ("2024-05-06 07:08", None),
            ("2024-05-06 24:00:00", None),
            ("2024-05-06 23:59:60", None),
            ("2024-05-06 070809", None),
            ("2024-05-06 07:08:09.1234567", None),
            ("2024-05-06 07:08:09Z", None),
            ("2023-02-29", None),
            ("today", None),
        ] {
            assert_eq!(timestamp(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(date("2024-02-29").as_deref(), Some("2024-02-29"));
        for (text, expected) in [
            ("2024-05-06T07:08:09Z", Some("2024-05-06 07:08:09.000000")),
            ("2024-05-06 07:08:09.5", Some("2024-05-06 07:08:09.500000")),
            (
                "2024-02-28 23:30:00-03:30",
                Some("2024-02-29 03:00:00.000000"),
            ),
            (
                "2024-03-01T01:00:00.25+0200",
                Some("2024-02-29 23:00:00.250000"),
            ),
            ("2024-01-01 00:00:00+01", Some("2023-12-31 23:00:00.000000")),
            ("2023-12-31 23:00:00-01", Some("2024-01-01 00:00:00.000000")),
            ("0001-01-01 00:00:00+01", None),
            ("9999-12-31 23:59:59-01", None),
            ("2024-05-06+02", None),
            ("2024-05-06 07:08:09 Europe/Berlin", None),
            ("2024-05-06 07:08:09+02:00:00", None),
            ("now", None),
        ] {
            assert_eq!(moment(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(date("20240229"), None);
    }
}
