//! Dates in time zones: their parts, and steps by the calendar. The zones are those of IANA that the executable has.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use sampan_host::{
    Args, Context, Error, Function, FunctionKind, Param, Type, Value, clock, param, refusals, row,
};

pub(super) const SECONDS: Param =
    param!("seconds": Type::Number, "The time in seconds since 1970-01-01 00:00 UTC.");

pub(super) const ZONE: Param = param!("options"? Type::Map,
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

pub(super) fn members(value: Value) -> Vec<(String, Value)> {
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

pub(super) fn zone_of(options: Vec<(String, Value)>) -> Result<TimeZone, Error> {
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
pub(super) fn timestamp(seconds: f64) -> Result<(Timestamp, f64), Error> {
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
