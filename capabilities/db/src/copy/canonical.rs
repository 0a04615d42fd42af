//! Values as the server writes them again, whatever they were written like: so both sides have the same hashes.

use super::profile::is_date;
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
    let parts: Vec<&str> = clock.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else {
        return None;
    };
    let is_below = |part: &str, end: u32| {
        let is_pair = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_pair && part.parse().is_ok_and(|number: u32| number < end)
    };
    let is_clock = is_below(hours, 24) && is_below(minutes, 60) && is_below(seconds, 60);
    let is_fraction = fraction.len() <= 6 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    (is_clock && is_fraction).then(|| format!("{date} {clock}.{fraction:0<6}").into())
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
            ("2024-05-06 07:08:09.1234567", None),
            ("2024-05-06 07:08:09Z", None),
            ("2023-02-29", None),
            ("today", None),
        ] {
            assert_eq!(timestamp(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(date("2024-02-29").as_deref(), Some("2024-02-29"));
        assert_eq!(date("20240229"), None);
    }
}
