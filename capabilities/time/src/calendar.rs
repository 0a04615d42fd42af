//! Dates in time zones: their parts, steps by the calendar, and dates as text. The zones are those of IANA, as the
//! executable has them.

use crate::http;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ZonedDateTime};
use sampan_host::{
    Args, Context, Error, Function, FunctionKind, Param, Type, Value, clock, param, refusals, row,
};

/// The longest text or format that is read, in bytes.
const TEXT_BYTES_MAX: usize = 200;

const SECONDS: Param =
    param!("seconds": Type::Number, "The time in seconds since 1970-01-01 00:00 UTC.");

const ZONE: Param = param!("options"? Type::Map,
    "`tz`: the time zone by its IANA name, such as `Europe/Berlin`; `UTC` unless given.");

pub(super) const DATE: Function = row!("date"(
        Param {
            optional: true,
            doc: "The time in seconds since 1970-01-01 00:00 UTC; now unless given.",
            ..SECONDS
        },
        ZONE,
    ) -> Type::Record(&[
        ("year", Type::Int),
        ("month", Type::Int),
        ("day", Type::Int),
        ("hour", Type::Int),
        ("minute", Type::Int),
        ("second", Type::Int),
        ("weekday", Type::Int),
        ("yearday", Type::Int),
        ("offset", Type::Int),
    ]), FunctionKind::Sync(date),
    "The date and the time of day in a time zone. `weekday` is 1 for Monday to 7 for Sunday, `yearday` begins with 1, \
     `offset` is how many seconds the zone is ahead of UTC then.");

pub(super) const ADD: Function = row!("add"(
        SECONDS,
        param!("span": Type::Map,
            "`years`, `months`, `weeks`, `days`, `hours`, `minutes`, `seconds`: whole numbers, also below zero. `tz`: \
             the time zone of the calendar; `UTC` unless given."),
    ) -> Type::Number, FunctionKind::Sync(add),
    "A later or an earlier time. A day is one of the calendar, so it keeps the time of day when the clocks change. \
     Where a month has no such day, it is its last one.");

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

fn members(value: Value) -> Vec<(String, Value)> {
    match value {
        Value::Map(members) => members,
        _ => Vec::new(),
    }
}

/// Returns a time zone by its name.
fn zone(value: &Value) -> Result<TimeZone, Error> {
    let Value::Text(name) = value else {
        return Err(Error::script(
            "tz must be the name of a time zone, such as \"Europe/Berlin\"",
        ));
    };
    TimeZone::get(name).map_err(|_| {
        let shown: String = name.chars().take(60).collect();
        Error::script(format!(
            "there is no time zone {shown:?}: write an IANA name such as \"Europe/Berlin\" or \"UTC\""
        ))
    })
}

fn zone_of(options: Vec<(String, Value)>) -> Result<TimeZone, Error> {
    let mut found = TimeZone::UTC;
    for (name, value) in options {
        match name.as_str() {
            "tz" => found = zone(&value)?,
            name => return Err(refusals::unknown_option(name, &["tz"])),
        }
    }
    Ok(found)
}

/// Returns the time of a number of seconds, and the part of a second below it.
fn timestamp(seconds: f64) -> Result<(Timestamp, f64), Error> {
    let whole = seconds.floor();
    // The conversion saturates; the years are checked next.
    let found = Timestamp::from_second(whole as i64).ok();
    let found = found.filter(|_| seconds.is_finite());
    let found = found.ok_or_else(|| {
        Error::script(format!(
            "{seconds} is not a time between the years -9999 and 9999, in seconds since 1970"
        ))
    })?;
    Ok((found, seconds - whole))
}

fn date(_: &Context, mut args: Args) -> Result<Value, Error> {
    let seconds = args.number(0);
    let seconds = seconds.unwrap_or_else(|| clock::since_1970().as_secs_f64());
    let zone = zone_of(members(args.take(1)))?;
    let (time, _) = timestamp(seconds)?;
    let offset = zone.to_offset(time);
    let date = offset.to_datetime(time);
    let parts = [
        ("year", i64::from(date.year())),
        ("month", i64::from(date.month())),
        ("day", i64::from(date.day())),
        ("hour", i64::from(date.hour())),
        ("minute", i64::from(date.minute())),
        ("second", i64::from(date.second())),
        ("weekday", i64::from(date.weekday().to_monday_one_offset())),
        ("yearday", i64::from(date.day_of_year())),
        ("offset", i64::from(offset.seconds())),
    ];
    let parts = parts.into_iter();
    let parts = parts.map(|(name, part)| (name.to_owned(), Value::Int(part)));
    Ok(Value::Map(parts.collect()))
}

fn add(_: &Context, mut args: Args) -> Result<Value, Error> {
    const NAMES: [&str; 8] = [
        "years", "months", "weeks", "days", "hours", "minutes", "seconds", "tz",
    ];
    let (time, part) = timestamp(args.number(0).unwrap_or(0.0))?;
    let (mut found, [mut months, mut days, mut seconds]) = (TimeZone::UTC, [0_i64; 3]);
    for (name, value) in members(args.take(1)) {
        if name == "tz" {
            found = zone(&value)?;
            continue;
        }
        if !NAMES.contains(&name.as_str()) {
            return Err(refusals::unknown_option(&name, &NAMES));
        }
        let count = match value {
            Value::Int(count) => Some(count),
            Value::Float(count) if count.fract() == 0.0 => Some(count as i64),
            _ => None,
        };
        let count = count
            .ok_or_else(|| Error::script(format!("time.add: {name} must be a whole number")))?;
        let (one, sum, factor) = match name.as_str() {
            "years" => (Span::new().try_years(count), &mut months, 12),
            "months" => (Span::new().try_months(count), &mut months, 1),
            "weeks" => (Span::new().try_weeks(count), &mut days, 7),
            "days" => (Span::new().try_days(count), &mut days, 1),
            "hours" => (Span::new().try_hours(count), &mut seconds, 3_600),
            "minutes" => (Span::new().try_minutes(count), &mut seconds, 60),
            _ => (Span::new().try_seconds(count), &mut seconds, 1),
        };
        // None is more than the years that there are, so the sums are far from the largest number.
        one.map_err(|_| Error::script(format!("time.add: {count} is too many {name}")))?;
        *sum += count * factor;
    }
    let later = moved(time, &found, months, days, seconds).map_err(|_| {
        Error::script("time.add: the result is not between the years -9999 and 9999")
    })?;
    Ok(Value::Float(later.as_second() as f64 + part))
}

/// Moves a time by months, then by days of the calendar in a zone, then by seconds. Each has a sign of its own, which a
/// `Span` of several units has not.
fn moved(
    time: Timestamp,
    zone: &TimeZone,
    months: i64,
    days: i64,
    seconds: i64,
) -> Result<Timestamp, jiff::Error> {
    let mut time = time;
    if (months, days) != (0, 0) {
        // On the calendar, so that a day in between that lacks the hour changes nothing.
        let date = zone.to_datetime(time);
        let date = date.checked_add(Span::new().try_months(months)?)?;
        let date = date.checked_add(Span::new().try_days(days)?)?;
        time = zone
            .to_ambiguous_zoned_datetime(date)
            .compatible()?
            .timestamp();
    }
    time.checked_add(Span::new().try_seconds(seconds)?)
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
