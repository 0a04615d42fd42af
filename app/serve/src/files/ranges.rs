//! The parts of a file that a request asks for (RFC 9110 section 14).

/// The most ranges that one request gets.
const RANGES_MAX: usize = 16;

/// A part of a file: from `start` up to, but not with, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The meaning of a `Range` field for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ranges {
    /// All of it: the field is none that counts.
    Whole,
    /// One part.
    One(Span),
    /// Several, in the order in which they were asked for.
    Several(Vec<Span>),
    /// The file has none of them.
    None,
}

/// Reads a `Range` field for a file of `len` bytes. What cannot be read counts for nothing, and so do more ranges than
/// anybody needs and ranges that are more than the file together: those cost a server more than the file.
pub(super) fn ranges(field: &[u8], len: u64) -> Ranges {
    let Some((unit, list)) = split_once(field, b'=') else {
        return Ranges::Whole;
    };
    if !unit.trim_ascii().eq_ignore_ascii_case(b"bytes") {
        return Ranges::Whole;
    }
    let (mut spans, mut count, mut total) = (Vec::new(), 0, 0_u64);
    for item in list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if item.is_empty() {
            // A list may have empty elements (RFC 9110 section 5.6.1.2).
            continue;
        }
        count += 1;
        let Some(asked) = Asked::read(item) else {
            return Ranges::Whole;
        };
        if count > RANGES_MAX {
            return Ranges::Whole;
        }
        if let Some(span) = asked.within(len) {
            total = total.saturating_add(span.end - span.start);
            spans.push(span);
        }
    }
    match spans[..] {
        [] if count == 0 => Ranges::Whole,
        [] => Ranges::None,
        [one] => Ranges::One(one),
        _ if total > len => Ranges::Whole,
        _ => Ranges::Several(spans),
    }
}

/// One range as it is written.
enum Asked {
    /// `5-9` and `5-`.
    From(u64, Option<u64>),
    /// `-5`.
    Last(u64),
}

impl Asked {
    fn read(item: &[u8]) -> Option<Self> {
        let (first, last) = split_once(item, b'-')?;
        let (first, last) = (first.trim_ascii(), last.trim_ascii());
        match (first.is_empty(), last.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Self::Last(number(last)?)),
            (false, true) => Some(Self::From(number(first)?, None)),
            (false, false) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }

    fn within(&self, len: u64) -> Option<Span> {
        let (start, end) = match *self {
            Self::From(first, last) => (first, last.map_or(len, |last| last.saturating_add(1))),
            Self::Last(count) => (len.saturating_sub(count), len),
        };
        let end = end.min(len);
        (start < end).then_some(Span { start, end })
    }
}

/// Digits; more than a file can have are the end of any file.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok()?;
    Some(text.parse().unwrap_or(u64::MAX))
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &str) -> Ranges {
        ranges(field.as_bytes(), 1000)
    }

    fn one(start: u64, end: u64) -> Ranges {
        Ranges::One(Span { start, end })
    }

    #[test]
    fn single_ranges() {
        for (field, expected) in [
            ("bytes=0-499", one(0, 500)),
            ("bytes=500-", one(500, 1000)),
            ("bytes=-300", one(700, 1000)),
            ("bytes=-5000", one(0, 1000)),
            ("bytes=999-99999999999999999999999999", one(999, 1000)),
            ("BYTES = 5 - 5 ", one(5, 6)),
            ("bytes=,,7-7,", one(7, 8)),
            ("bytes=0-0,2000-3000", one(0, 1)),
            ("bytes=1000-", Ranges::None),
            ("bytes=1000-2000,5000-", Ranges::None),
            ("bytes=-0", Ranges::None),
            ("bytes=99999999999999999999999999-", Ranges::None),
        ] {
            assert_eq!(read(field), expected, "{field}");
        }
    }

    #[test]
    fn what_cannot_be_read_counts_for_nothing() {
        for field in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-b",
            "bytes=5-4",
            "bytes=1-2-3",
            "bytes=0x1-5",
            "bytes=+1-5",
            "bytes=1.5-",
            "items=0-5",
            "bytes 0-5",
            "bytes=0-5;6-7",
            "bytes=--5",
            "bytes=0-1,x",
            "bytes=\u{663}-",
        ] {
            assert_eq!(read(field), Ranges::Whole, "{field:?}");
        }
    }

    #[test]
    fn several_ranges_and_too_much_of_them() {
        let spans = |list: &[(u64, u64)]| {
            Ranges::Several(
                list.iter()
                    .map(|&(start, end)| Span { start, end })
                    .collect(),
            )
        };
        assert_eq!(read("bytes=0-1, 5-6"), spans(&[(0, 2), (5, 7)]));
        assert_eq!(read("bytes=-2,0-1"), spans(&[(998, 1000), (0, 2)]));
        assert_eq!(read("bytes=0-999,0-0"), Ranges::Whole);
        assert_eq!(read("bytes=0-,0-,0-"), Ranges::Whole);
        let many = |count: usize| format!("bytes={}", vec!["1-1"; count].join(","));
        assert!(matches!(read(&many(16)), Ranges::Several(spans) if spans.len() == 16));
        assert_eq!(read(&many(17)), Ranges::Whole);
        assert_eq!(read(&many(5000)), Ranges::Whole);
        assert_eq!(ranges(b"bytes=0-", 0), Ranges::None);
    }
}
