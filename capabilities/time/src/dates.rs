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
        let written = pieces.to_numeric_offset();
        let named = pieces.to_time_zone().ok().flatten();
        let named_offset = named.and_then(|zone| zone.to_fixed_offset().ok());
        if !are_offsets([written, named_offset]) {
            return None;
        }
        if is_at_end(date) {
            let named = pieces.to_time_zone().ok()?;
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

/// Reports whether offsets are those of RFC 3339, section 5.6: less than a day. `jiff` reads more, up to 25:59:59.
fn are_offsets<const COUNT: usize>(offsets: [Option<Offset>; COUNT]) -> bool {
    const DAY_SECONDS: u32 = 24 * 60 * 60;
    let mut offsets = offsets.iter().flatten();
    offsets.all(|offset| offset.seconds().unsigned_abs() < DAY_SECONDS)
}

fn written(text: &str, format: &str, zone: &TimeZone) -> Option<f64> {
    let parts = strtime::parse(format, text).ok()?;
    if !are_offsets([parts.offset()]) {
        return None;
    }
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
mod tests;
