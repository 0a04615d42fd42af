//! Dates in time zones: their parts, and steps by the calendar. The zones are those of IANA that the executable has.

use crate::local::{date_at, seconds_of};
use jiff::Span;
use jiff::tz::TimeZone;
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

/// Returns the whole seconds of a time.
///
/// # Errors
/// The time is not a finite number.
pub(super) fn whole(seconds: f64) -> Result<i64, Error> {
    // The conversion saturates.
    match seconds.is_finite() {
        true => Ok(seconds.floor() as i64),
        false => Err(out_of_range(seconds)),
    }
}

#[cold]
pub(super) fn out_of_range(seconds: f64) -> Error {
    Error::script(format!(
        "{seconds} is not a time between the years -9999 and 9999, in seconds since 1970"
    ))
}

fn date(_: &Context, mut args: Args) -> Result<Value, Error> {
    let seconds = args.number(0);
    let seconds = seconds.unwrap_or_else(|| clock::since_1970().as_secs_f64());
    let zone = zone_of(members(args.take(1)))?;
    let found = date_at(whole(seconds)?, &zone);
    let (date, offset) = found.ok_or_else(|| out_of_range(seconds))?;
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
    let start = args.number(0).unwrap_or(0.0);
    let time = whole(start)?;
    date_at(time, &TimeZone::UTC).ok_or_else(|| out_of_range(start))?;
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
    let later = moved(time, &found, months, days, seconds).ok_or_else(|| {
        Error::script("time.add: the result is not between the years -9999 and 9999")
    })?;
    Ok(Value::Float(later as f64 + (start - time as f64)))
}

/// Moves a time by months, then by days of the calendar in a zone, then by seconds. Each has a sign of its own, which a
/// `Span` of several units has not.
fn moved(time: i64, zone: &TimeZone, months: i64, days: i64, seconds: i64) -> Option<i64> {
    let mut time = time;
    if (months, days) != (0, 0) {
        // On the calendar, so that a day in between that lacks the hour changes nothing.
        let (date, _) = date_at(time, zone)?;
        let date = date.checked_add(Span::new().try_months(months).ok()?);
        let date = date.ok()?.checked_add(Span::new().try_days(days).ok()?);
        time = seconds_of(date.ok()?, zone)? as i64;
    }
    let later = time.checked_add(seconds)?;
    date_at(later, zone).map(|_| later)
}
