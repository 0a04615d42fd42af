//! Sizes and times as people write them: `"10MB"`, `"512 KiB"`, `"1.5s"` is not one of them, `"1500ms"` is.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

/// The description of a size, for errors.
pub const A_SIZE: &str = "a size such as 10485760 or \"10MB\"";
const A_TIME: &str = "a time such as 1500 (milliseconds) or \"10s\"";

/// Decimal units as disks and networks count, binary units as memory does.
const SIZES: [(&str, u64); 9] = [
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

const TIMES: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// The bytes that a text means: digits, or digits and a unit, with or without a space between them.
pub fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| with_unit(text, &SIZES))
}

fn millis(text: &str) -> Option<u64> {
    with_unit(text, &TIMES)
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (_, factor) = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A size in a configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(u64);

/// A time in a configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Millis(u64);

impl From<Bytes> for u64 {
    fn from(Bytes(bytes): Bytes) -> u64 {
        bytes
    }
}

impl From<Bytes> for usize {
    fn from(Bytes(bytes): Bytes) -> usize {
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

impl From<Millis> for u64 {
    fn from(Millis(millis): Millis) -> u64 {
        millis
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(Quantity(A_SIZE, bytes)).map(Self)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(Quantity(A_TIME, millis)).map(Self)
    }
}

/// Takes a whole number, or a text that the function understands.
struct Quantity(&'static str, fn(&str) -> Option<u64>);

impl Visitor<'_> for Quantity {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        (self.1)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_with_units() {
        for (text, expected) in [
            ("1048576", Some(1 << 20)),
            ("0", Some(0)),
            ("10MB", Some(10_000_000)),
            ("512 KiB", Some(512 << 10)),
            ("1gib", Some(1 << 30)),
            ("2 kB", Some(2_000)),
            ("7B", Some(7)),
            ("", None),
            ("MB", None),
            ("-1", None),
            ("1.5MB", None),
            ("10 M", None),
            ("10  MB", None),
            ("10MBs", None),
            ("99999999999TB", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
        for (text, expected) in [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("5 min", Some(300_000)),
            ("1h", Some(3_600_000)),
            ("7d", Some(604_800_000)),
            ("10", None),
            ("5 m", None),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }
}
