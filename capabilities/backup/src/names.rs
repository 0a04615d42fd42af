//! The names of objects, from which a copy is understood without reading them.
//!
//! ```text
//! owner                                                     the process that writes
//! 00000001-5f0c2a91/                                        a generation: one unbroken chain
//!   whole/0000000000000000-20261127T001500.000Z/000000      a part of a whole copy
//!   whole/0000000000000000-20261127T001500.000Z/end         the whole copy is complete
//!   log/0000000000000001-20261127T001501.004Z               pages of the commits behind it
//! ```

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The form of the times in names, in UTC.
const TIME_FORM: &str = "%Y%m%dT%H%M%S.%3fZ";
/// The name of the last object of a whole copy.
pub(crate) const END: &str = "end";

/// Returns the name of a new generation.
pub(crate) fn generation(term: u32, random: u32) -> String {
    format!("{term:08x}-{random:08x}")
}

/// Returns the place of a generation in the order of all, if this is the name of one.
pub(crate) fn term(generation: &str) -> Option<u32> {
    let (term, random) = generation.split_once('-')?;
    let is_hex = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex(term) && is_hex(random)).then(|| u32::from_str_radix(term, 16).ok())?
}

/// Returns the last part of the name of an object of the log, and of the folder of a whole copy.
pub(crate) fn stamp(sequence: u64, time: u64) -> String {
    let at = Timestamp::from_millisecond(i64::try_from(time).unwrap_or(0)).unwrap_or_default();
    format!("{sequence:016x}-{}", at.strftime(TIME_FORM))
}

/// Reads a [`stamp`]: the number and the time.
pub(crate) fn read_stamp(text: &str) -> Option<(u64, u64)> {
    let (sequence, time) = text.split_once('-')?;
    let sequence = (sequence.len() == 16).then(|| u64::from_str_radix(sequence, 16).ok())??;
    let time = DateTime::strptime(TIME_FORM, time).ok()?;
    let time = TimeZone::UTC.to_timestamp(time).ok()?.as_millisecond();
    Some((sequence, u64::try_from(time).ok()?))
}

/// Returns the name of an object of the log.
pub(crate) fn log(generation: &str, sequence: u64, time: u64) -> String {
    format!("{generation}/log/{}", stamp(sequence, time))
}

/// Returns the name of an object of a whole copy.
pub(crate) fn whole(generation: &str, sequence: u64, time: u64, part: Option<u32>) -> String {
    let folder = format!("{generation}/whole/{}", stamp(sequence, time));
    match part {
        Some(part) => format!("{folder}/{part:06}"),
        None => format!("{folder}/{END}"),
    }
}

/// Returns the name of the note that an orderly end leaves behind the object `sequence` of the log.
pub(crate) fn closed(generation: &str, sequence: u64) -> String {
    format!("{generation}/closed/{sequence:016x}")
}

/// Writes a time for people: UTC, to the millisecond.
pub(crate) fn time(millis: u64) -> String {
    let at = Timestamp::from_millisecond(i64::try_from(millis).unwrap_or(0)).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Reads a time that a user wrote, in milliseconds since 1970: with an offset, or in the zone of this machine. A time
/// without a fraction means the end of its second.
///
/// # Errors
/// The text is no time.
pub fn read_time(text: &str) -> Result<u64, String> {
    let instant: Result<Timestamp, _> = text.parse();
    let instant = instant.or_else(|_| {
        let local: DateTime = text.parse()?;
        TimeZone::system().to_timestamp(local)
    });
    let wrong = || {
        format!("{text:?} is no time: write it like 2026-11-27T14:05:00Z or 2026-11-27 14:05:00")
    };
    let instant = instant.map_err(|_| wrong())?;
    let millis = u64::try_from(instant.as_millisecond()).map_err(|_| wrong())?;
    Ok(match text.contains('.') {
        true => millis,
        false => millis + 999,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read_as_they_were_written() {
        for (sequence, time) in [
            (0, 0),
            (1, 1_795_737_600_123),
            (u64::MAX, 4_102_444_800_000),
        ] {
            assert_eq!(read_stamp(&stamp(sequence, time)), Some((sequence, time)));
        }
        for text in [
            "",
            "-",
            "owner",
            "1-20261127T001500.000Z",
            "0000000000000001-2026",
        ] {
            assert_eq!(read_stamp(text), None, "{text}");
        }
        assert_eq!(term(&generation(255, 7)), Some(255));
        assert_eq!(term("owner"), None);
    }

    #[test]
    fn times_are_read() {
        assert_eq!(read_time("1970-01-01T00:00:01Z"), Ok(1_999));
        assert_eq!(read_time("1970-01-01T00:00:01.250Z"), Ok(1_250));
        assert_eq!(read_time("1970-01-01T02:00:01+02:00"), Ok(1_999));
        assert!(read_time("2026-11-27 14:05:00").is_ok());
        assert!(read_time("yesterday").is_err());
    }
}
