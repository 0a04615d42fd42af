//! Dates as text: written and read.

use crate::calendar::{SECONDS, ZONE, members, out_of_range, whole, zone_of};
use crate::http;
use crate::local::{date_at, is_at_end, seconds, seconds_at_end, seconds_of};
use jiff::civil::{DateTime, Time};
use jiff::fmt::strtime::{self, BrokenDownTime, PosixCustom};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};
use sampan_host::{Args, Context, Error, Function, FunctionKind, Param, Type, Value, param, row};

/// The longest text or format that is read, in bytes.
const TEXT_BYTES_MAX: usize = 200;

pub(super) const FORMAT: Function = row!("format"(
        SECONDS,
        param!("format"? Type::Text,
            "What is written, as in C's `strftime`: `%d.%m.%Y %H:%M`. Unless given, the date as ISO 8601 writes it: \
             `2026-11-22T14:05:09Z`, or with the offset of the time zone. `%c` and `%x` are those of the locale `C`."),
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
    whole(seconds)?;
    // A number of this size has no digits below a microsecond. The second is that of `time.date`: what would round up
    // to the next one stays below it.
    let below = seconds.floor();
    let part = ((seconds - below) * 1e6).round().min(999_999.0) as i64;
    let whole = below as i64;
    let found = date_at(whole, &zone).and_then(|(date, offset)| {
        let part = SignedDuration::from_micros(part);
        Some((date.checked_add(part).ok()?, offset))
    });
    let (date, offset) = found.ok_or_else(|| out_of_range(seconds))?;
    let text = match format {
        None if zone == TimeZone::UTC => format!("{date}Z"),
        None => format!("{date}{}", shown_offset(offset)),
        Some(format) => {
            check_length("time.format", "format", &format)?;
            let mut parts = match Timestamp::new(whole, (part * 1_000) as i32) {
                Ok(time) => BrokenDownTime::from(&time.to_zoned_datetime(zone)),
                Err(_) => parts_at_end(date, offset, &zone),
            };
            // The second below: that of a time with a fraction would be the one nearer to 1970.
            parts.set_timestamp(Timestamp::from_second(whole).ok());
            let config = strtime::Config::new().custom(PosixCustom::new());
            let text = parts.to_string_with_config(&config, &format);
            text.map_err(|_| wrong_format(&format, is_at_end(date)))?
        }
    };
    Ok(Value::Text(text))
}

/// Returns the parts of a date that has no timestamp.
fn parts_at_end(date: DateTime, offset: Offset, zone: &TimeZone) -> BrokenDownTime {
    let mut parts = BrokenDownTime::from(date);
    parts.set_offset(Some(offset));
    parts.set_iana_time_zone(zone.iana_name().map(str::to_owned));
    parts
}

/// An offset as ISO 8601 writes it, with the seconds that those of the 19th century have.
fn shown_offset(offset: Offset) -> String {
    let sign = if offset.seconds() < 0 { '-' } else { '+' };
    let seconds = offset.seconds().unsigned_abs();
    let text = format!("{sign}{:02}:{:02}", seconds / 3_600, seconds / 60 % 60);
    match seconds % 60 {
        0 => text,
        rest => format!("{text}:{rest:02}"),
    }
}

#[cold]
fn wrong_format(format: &str, is_at_end: bool) -> Error {
    // What needs a timestamp.
    if is_at_end && (format.contains('s') || format.contains('Z')) {
        return Error::script(
            "time.format: %s and %Z are known until 9999-12-30T22:00:00Z: leave them out for later times",
        );
    }
    let shown: String = format.chars().take(60).collect();
    Error::script(format!(
        "time.format: {shown:?} is not a format such as \"%d.%m.%Y %H:%M\""
    ))
}

fn check_length(function: &str, name: &str, text: &str) -> Result<(), Error> {
    match text.len() {
        0..=TEXT_BYTES_MAX => Ok(()),
        bytes => Err(Error::script(format!(
            "{function}: the {name} has {bytes} bytes: at most {TEXT_BYTES_MAX} are taken"
        ))),
    }
}

fn parse(_: &Context, mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let format = match args.take(1) {
        Value::Text(format) => Some(format),
        _ => None,
    };
    let zone = zone_of(members(args.take(2)))?;
    check_length("time.parse", "text", &text)?;
    let found = match &format {
        Some(format) => {
            check_length("time.parse", "format", format)?;
            written(&text, format, &zone)
        }
        None => standard(&text, &zone),
    };
    let shown: String = text.chars().take(60).collect();
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
    Ok(Value::Float(found))
}

/// Reads a date as ISO 8601 writes it, or as HTTP does.
fn standard(text: &str, zone: &TimeZone) -> Option<f64> {
    let text = text.trim();
    if let Ok(pieces) = Pieces::parse(text) {
        let date = pieces
            .date()
            .to_datetime(pieces.time().unwrap_or(Time::midnight()));
        let is_zone_named = pieces.time_zone_annotation().is_some();
        if is_at_end(date) {
            let named = pieces.to_time_zone().ok()?;
            let written = pieces.to_numeric_offset();
            let written = written.map(|offset| (offset, is_zone_named));
            return seconds_at_end(date, written, named.as_ref().unwrap_or(zone));
        }
        // Neither of the types below reads the time zone: they would take 12:00[Europe/Berlin] for 12:00 elsewhere.
        if is_zone_named {
            return Some(seconds(text.parse::<ZonedDateTime>().ok()?.timestamp()));
        }
    }
    if let Ok(found) = text.parse::<Timestamp>() {
        return Some(seconds(found));
    }
    match text.parse() {
        Ok(date) => seconds_of(date, zone),
        Err(_) => http::parsed(text),
    }
}

fn written(text: &str, format: &str, zone: &TimeZone) -> Option<f64> {
    let parts = strtime::parse(format, text).ok()?;
    let date = parts.to_datetime();
    let date =
        date.or_else(|_| Ok::<_, jiff::Error>(parts.to_date()?.to_datetime(Time::midnight())));
    if let (Ok(date), None) = (&date, parts.timestamp())
        && is_at_end(*date)
    {
        let named = parts.iana_time_zone().map(TimeZone::get);
        let named = named.transpose().ok()?;
        let written = parts.offset().map(|offset| (offset, named.is_some()));
        return seconds_at_end(*date, written, named.as_ref().unwrap_or(zone));
    }
    if parts.iana_time_zone().is_some() {
        return Some(seconds(parts.to_zoned_datetime().ok()?.timestamp()));
    }
    match parts.to_timestamp() {
        Ok(found) => Some(seconds(found)),
        Err(_) => seconds_of(date.ok()?, zone),
    }
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
        // In no unit does it round up.
        assert_eq!(
            written(1_792_886_399.999_999_8, None, None),
            "2026-10-24T23:59:59.999999Z"
        );
        assert_eq!(written(-1e-9, Some("%F"), None), "1969-12-31");
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
            (f64::NAN, "%Y"),
            (f64::INFINITY, "%Y"),
            (1e15, "%Y"),
        ] {
            let error = formatted(seconds, Some(format), None).expect_err("no date");
            assert!(error.contains("is not a"), "{error}");
        }
        assert!(formatted(0.0, None, Some("Mars/Olympus")).is_err());
        let error = formatted(0.0, Some(&"%Y".repeat(101)), None).expect_err("too long");
        assert_eq!(
            error,
            "time.format: the format has 202 bytes: at most 200 are taken"
        );
    }

    #[test]
    fn formats_are_those_of_c() {
        let written = |seconds, format| formatted(seconds, Some(format), None).expect("a date");
        assert_eq!(
            written(1_795_356_309.0, "%c|%x|%X"),
            "Sun Nov 22 14:05:09 2026|11/22/26|14:05:09"
        );
        assert_eq!(written(-0.5, "%s %H:%M:%S%.f"), "-1 23:59:59.5");
        assert_eq!(written(0.5, "%s"), "0");
    }

    #[test]
    fn offsets_with_seconds_are_written_and_read_again() {
        let berlin = Some("Europe/Berlin");
        let before = -2_500_000_000.0;
        let text = formatted(before, None, berlin).expect("a date");
        assert!(text.ends_with("+00:53:28"), "{text}");
        assert_eq!(standard(&text, &TimeZone::UTC), Some(before), "{text}");
        let text = formatted(before, None, Some("America/New_York")).expect("a date");
        assert_eq!(standard(&text, &TimeZone::UTC), Some(before), "{text}");
    }

    #[test]
    fn the_last_day_of_9999_is_written_and_read() {
        let last = 253_402_300_799.0;
        let (berlin, york) = (Some("Europe/Berlin"), Some("America/New_York"));
        for (text, seconds, tz) in [
            ("9999-12-31T23:59:59Z", last, None),
            ("9999-12-31T23:59:59.5Z", last + 0.5, None),
            ("9999-12-31T23:59:59+01:00", last - 3_600.0, berlin),
            ("9999-12-31T23:59:59-05:00", last + 18_000.0, york),
            ("9999-12-30T00:00:00Z", last - 172_799.0, None),
            ("9999-12-30T01:00:00+01:00", last - 172_799.0, berlin),
        ] {
            assert_eq!(standard(text, &TimeZone::UTC), Some(seconds), "{text}");
            assert_eq!(formatted(seconds, None, tz), Ok(text.to_owned()));
        }
        let zone = TimeZone::get("Europe/Berlin").expect("a zone");
        let midnight = Some(253_402_210_800.0);
        assert_eq!(standard("9999-12-31", &zone), midnight);
        assert_eq!(written("31.12.9999", "%d.%m.%Y", &zone), midnight);
        assert_eq!(
            written("31.12.9999 +0100", "%d.%m.%Y %z", &TimeZone::UTC),
            midnight
        );
        let named = "9999-12-31T00:00[Europe/Berlin]";
        assert_eq!(standard(named, &TimeZone::UTC), midnight);
        let contradiction = "9999-12-31T00:00+02:00[Europe/Berlin]";
        assert_eq!(standard(contradiction, &zone), None);
        assert_eq!(
            formatted(last, Some("%A, %d.%m.%Y %H:%M %z %Q %j"), None).as_deref(),
            Ok("Friday, 31.12.9999 23:59 +0000 UTC 365")
        );
        let error = formatted(last, Some("%s"), None).expect_err("no timestamp");
        assert!(error.contains("leave them out"), "{error}");
        let error = formatted(last, None, berlin).expect_err("the year 10000");
        assert!(error.contains("is not a time between"), "{error}");
    }

    #[test]
    fn texts_are_read_in_their_zone() {
        let berlin = TimeZone::get("Europe/Berlin").expect("a zone");
        let read = |text: &str| standard(text, &berlin).map(|time| time as i64);
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
            written(text, format, &TimeZone::UTC).map(|time| time as i64)
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
