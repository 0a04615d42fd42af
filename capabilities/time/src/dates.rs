//! Dates as text: written and read.

use crate::calendar::{SECONDS, ZONE, members, timestamp, zone_of};
use crate::http;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use sampan_host::{Args, Context, Error, Function, FunctionKind, Param, Type, Value, param, row};

/// The longest text or format that is read, in bytes.
const TEXT_BYTES_MAX: usize = 200;

pub(super) const FORMAT: Function = row!("format"(
        SECONDS,
        param!("format"? Type::Text,
            "What is written, as in C's `strftime`: `%d.%m.%Y %H:%M`. Unless given, the date as ISO 8601 writes it: \
             `2026-11-22T14:05:09Z`, or with the offset of the time zone."),
        ZONE,
    ) -> Type::Text, FunctionKind::Sync(format),
    "A date as text. Names of months and days are English: `req:format_date` writes those of other languages.");

pub(super) const PARSE: Function = row!("parse"(
        param!("text": Type::Text, "The date."),
        param!("format"? Type::Text,
            "How it is written, as in C's `strptime`: `%d.%m.%Y %H:%M`. Unless given, as in `2026-11-22`, `2026-11-22 \
             14:05` or `2026-11-22T14:05:09.5+02:00`, or as HTTP has it: `Sun, 22 Nov 2026 14:05:09 GMT`."),
        Param {
            doc: "`tz`: the time zone of a text that names neither an offset nor a time zone; `UTC` unless given.",
            ..ZONE
        },
    ) -> Type::Number, FunctionKind::Sync(parse),
    "The time of a date in seconds since 1970-01-01 00:00 UTC. A date without a time is its midnight. What is not a \
     date is an error.");

fn format(_: &Context, mut args: Args) -> Result<Value, Error> {
    let seconds = args.number(0).unwrap_or(0.0);
    let format = match args.take(1) {
        Value::Text(format) => Some(format),
        _ => None,
    };
    let zone = zone_of(members(args.take(2)))?;
    let (whole, _) = timestamp(seconds)?;
    // A number of this size has no digits below a microsecond.
    let time = Timestamp::from_microsecond((seconds * 1e6).round() as i64).unwrap_or(whole);
    let text = match format {
        None if zone == TimeZone::UTC => time.to_string(),
        None => time.display_with_offset(zone.to_offset(time)).to_string(),
        Some(format) => {
            let text = match format.len() <= TEXT_BYTES_MAX {
                true => strtime::format(&format, &time.to_zoned_datetime(zone)).ok(),
                false => None,
            };
            text.ok_or_else(|| {
                let shown: String = format.chars().take(60).collect();
                Error::script(format!(
                    "time.format: {shown:?} is not a format such as \"%d.%m.%Y %H:%M\""
                ))
            })?
        }
    };
    Ok(Value::Text(text))
}

fn parse(_: &Context, mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let format = match args.take(1) {
        Value::Text(format) => Some(format),
        _ => None,
    };
    let zone = zone_of(members(args.take(2)))?;
    let shown: String = text.chars().take(60).collect();
    let is_short = |text: &String| text.len() <= TEXT_BYTES_MAX;
    let found = match &format {
        _ if !is_short(&text) || !format.iter().all(is_short) => None,
        Some(format) => written(&text, format, &zone),
        None => standard(&text, &zone),
    };
    let found = found.ok_or_else(|| match &format {
        Some(format) => {
            let format: String = format.chars().take(60).collect();
            Error::script(format!(
                "time.parse: {shown:?} is not a date that is written as {format:?}"
            ))
        }
        None => Error::script(format!(
            "time.parse: {shown:?} is not a date: write 2026-11-22, 2026-11-22 14:05 or 2026-11-22T14:05:09Z, or give \
             its format"
        )),
    })?;
    let part = f64::from(found.subsec_nanosecond()) / 1e9;
    Ok(Value::Float(found.as_second() as f64 + part))
}

/// Reads a date as ISO 8601 writes it, or as HTTP does.
fn standard(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    // Neither of the types below reads the time zone: they would take 12:00[Europe/Berlin] for 12:00 elsewhere.
    if Pieces::parse(text).is_ok_and(|pieces| pieces.time_zone_annotation().is_some()) {
        return Some(text.parse::<ZonedDateTime>().ok()?.timestamp());
    }
    if let Ok(found) = text.parse::<Timestamp>() {
        return Some(found);
    }
    match text.parse() {
        Ok(date) => local(date, zone),
        Err(_) => http::parsed(text),
    }
}

fn written(text: &str, format: &str, zone: &TimeZone) -> Option<Timestamp> {
    let parts = strtime::parse(format, text).ok()?;
    if parts.iana_time_zone().is_some() {
        return Some(parts.to_zoned_datetime().ok()?.timestamp());
    }
    if let Ok(found) = parts.to_timestamp() {
        return Some(found);
    }
    match parts.to_datetime() {
        Ok(date) => local(date, zone),
        Err(_) => local(parts.to_date().ok()?.at(0, 0, 0, 0), zone),
    }
}

fn local(date: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    Some(zone.to_zoned_datetime(date).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(seconds: f64, format: Option<&str>, tz: Option<&str>) -> Result<String, String> {
        let text = |text: &str| Value::Text(text.to_owned());
        let options = tz.map_or(Value::Null, |tz| {
            Value::Map(vec![("tz".to_owned(), text(tz))])
        });
        let values = vec![
            Value::Float(seconds),
            format.map_or(Value::Null, text),
            options,
        ];
        let args =
            Args::check("time", &FORMAT, values).map_err(|error| error.message().to_owned())?;
        match super::format(&Context::default(), args) {
            Ok(Value::Text(text)) => Ok(text),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.message().to_owned()),
        }
    }

    #[test]
    fn dates_are_written_in_their_zone() {
        let berlin = Some("Europe/Berlin");
        let written = |seconds, format, tz| formatted(seconds, format, tz).expect("a date");
        assert_eq!(written(1_795_356_309.0, None, None), "2026-11-22T14:05:09Z");
        assert_eq!(
            written(1_795_356_309.0, None, berlin),
            "2026-11-22T15:05:09+01:00"
        );
        assert_eq!(written(-0.5, None, None), "1969-12-31T23:59:59.5Z");
        assert_eq!(
            written(1_795_356_309.123, Some("%H:%M:%S.%3f"), None),
            "14:05:09.123"
        );
        let long = "%A, %-d %B %Y, %H:%M %Z";
        assert_eq!(
            written(1_795_356_309.0, Some(long), berlin),
            "Sunday, 22 November 2026, 15:05 CET"
        );
        assert_eq!(written(0.0, Some(""), None), "");
        for (seconds, format) in [
            (0.0, "%"),
            (0.0, "%?"),
            (0.0, &*"%Y".repeat(101)),
            (f64::NAN, "%Y"),
            (f64::INFINITY, "%Y"),
            (1e15, "%Y"),
        ] {
            let error = formatted(seconds, Some(format), None).expect_err("no date");
            assert!(error.contains("is not a"), "{error}");
        }
        assert!(formatted(0.0, None, Some("Mars/Olympus")).is_err());
    }

    #[test]
    fn texts_are_read_in_their_zone() {
        let berlin = TimeZone::get("Europe/Berlin").expect("a zone");
        let read = |text: &str| standard(text, &berlin).map(|time| time.as_second());
        assert_eq!(read("2026-11-22T14:05:09Z"), Some(1_795_356_309));
        assert_eq!(read("2026-11-22T14:05:09+01:00"), Some(1_795_352_709));
        assert_eq!(read("2026-11-22 14:05:09"), Some(1_795_352_709));
        assert_eq!(read("2026-11-22"), Some(1_795_302_000));
        assert_eq!(
            read("2026-07-01T12:00:00[America/New_York]"),
            Some(1_782_921_600)
        );
        let with_offset = "2026-07-01T12:00:00-04:00[America/New_York]";
        assert_eq!(read(with_offset), Some(1_782_921_600));
        assert_eq!(read("2026-07-01[u-ca=iso8601]"), Some(1_782_856_800));
        for wrong in [
            "",
            "x",
            "2026-02-30",
            "22.11.2026",
            "2026-11-22T25:00",
            "2026-07-01T12:00:00[Mars/Olympus]",
            "2026-07-01T12:00:00+09:00[America/New_York]",
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
        let read = |text: &str, format: &str| {
            written(text, format, &TimeZone::UTC).map(|time| time.as_second())
        };
        assert_eq!(
            read("22.11.2026 14:05", "%d.%m.%Y %H:%M"),
            Some(1_795_356_300)
        );
        assert_eq!(read("22.11.2026", "%d.%m.%Y"), Some(1_795_305_600));
        assert_eq!(read("22/11", "%d.%m.%Y"), None);
        let zoned = "%Y-%m-%d %H:%M %Q";
        let noon = read("2026-07-01 12:00 Europe/Berlin", zoned);
        assert_eq!(noon, Some(1_782_900_000));
        let midnight = read("2026-07-01 Europe/Berlin", "%Y-%m-%d %Q");
        assert_eq!(midnight, Some(1_782_856_800));
        assert_eq!(read("2026-07-01 12:00 +0100", zoned), Some(1_782_903_600));
        for wrong in ["2026-07-01 12:00 Mars/Olympus", "2026-07-01 12:00"] {
            assert_eq!(read(wrong, zoned), None, "{wrong:?}");
        }
        let both = "%Y-%m-%d %H:%M %z %Q";
        let contradiction = "2026-07-01 12:00 +0900 Europe/Berlin";
        assert_eq!(read(contradiction, both), None);
    }
}
