//! Sizes and times as people write them: `"10MB"`, `"512 KiB"`, `"1500ms"`; `"1.5s"` is not one of them.

/// The description of a size, for errors.
pub const A_SIZE: &str = "a size such as 10485760 or \"10MB\"";
/// The description of a time, for errors.
pub(super) const A_TIME: &str = "a time such as 1500 (milliseconds) or \"10s\"";

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

const TIMES: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Parses a number of bytes: digits, or digits and a unit, with or without a space between them.
pub fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| with_unit(text, &SIZES))
}

/// Parses a number of milliseconds: digits and a unit, with or without a space between them.
pub fn millis(text: &str) -> Option<u64> {
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
            ("5 m", Some(300_000)),
            ("10", None),
            ("5 mo", None),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }
}
