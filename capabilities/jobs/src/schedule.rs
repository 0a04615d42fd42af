//! The times at which a cron runs: a pattern over the wall clock of a time zone.
//!
//! `croner` reads the pattern and finds the times. It is asked over jiff's times by [`Moment`], because it knows
//! another version of jiff.

use crate::limits::{PATTERN_BYTES_MAX, SET_BACK_MILLIS};
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds};
use croner::{CivilDate, CivilDateTime, CivilTime, Cron, CronDateTime, Resolution, Weekday};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};
use std::cmp::Ordering;

/// A schedule.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// The pattern as it was written.
    pub(crate) pattern: String,
    /// The name of the time zone as it was written.
    pub(crate) zone: String,
    cron: Cron,
    time_zone: TimeZone,
}

impl Schedule {
    /// Reads a pattern of five fields, such as `0 3 * * *`, and the name of a time zone.
    ///
    /// # Errors
    /// The fault of either, for people.
    pub(crate) fn read(pattern: &str, zone: &str) -> Result<Self, String> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(format!("a pattern has at most {PATTERN_BYTES_MAX} bytes"));
        }
        let cron = parse(pattern).map_err(|fault| {
            let fault = faulty_field(pattern).unwrap_or_else(|| fault.to_string());
            format!(
                "{pattern:?} is not a pattern such as \"0 3 * * *\" (minute, hour, day of the month, month, day of the \
                 week): {fault}"
            )
        })?;
        let time_zone = TimeZone::get(zone).map_err(|_| {
            format!(
                "there is no time zone {zone:?}: names are such as \"UTC\" or \"Europe/Berlin\""
            )
        })?;
        let schedule = Self {
            pattern: pattern.to_owned(),
            zone: zone.to_owned(),
            cron,
            time_zone,
        };
        match schedule.next(0) {
            Some(_) => Ok(schedule),
            None => Err(format!(
                "the pattern {pattern:?} has no day that ever comes"
            )),
        }
    }

    /// Returns the first time after `after`, both in milliseconds since 1970; `None` if the pattern has none.
    pub(crate) fn next(&self, after: i64) -> Option<i64> {
        let after = self.moment(after)?;
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        Some(next.0.timestamp().as_millisecond())
    }

    /// Reports whether the clock was set back since `next` was found to be the next time, and by so much that the
    /// schedule goes on by the new time. A clock that was set back by less repeats no time.
    pub(crate) fn is_set_back(&self, next: i64, now: i64) -> bool {
        let before = self.moment(next).and_then(|next| {
            let before = self.cron.find_previous_occurrence(&next, false).ok()?;
            Some(before.0.timestamp().as_millisecond())
        });
        // The clock showed at least the time before `next` then.
        before.is_some_and(|before| now < before - (next - before).min(SET_BACK_MILLIS))
    }

    fn moment(&self, millis: i64) -> Option<Moment> {
        let time = Timestamp::from_millisecond(millis).ok()?;
        Some(Moment(time.to_zoned_datetime(self.time_zone.clone())))
    }
}

fn parse(pattern: &str) -> Result<Cron, CronError> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed);
    parser.build().parse(pattern)
}

/// Returns the first faulty field of a pattern with its name and its fault, or that it does not have five fields.
fn faulty_field(pattern: &str) -> Option<String> {
    let fields: Vec<&str> = pattern.split_whitespace().collect();
    if pattern.starts_with('@') {
        return Some(format!("the names are {NAMES}"));
    }
    if fields.len() != FIELDS.len() {
        return Some(format!("fields: {}, not 5", fields.len()));
    }
    let mut faults = fields.iter().zip(FIELDS).enumerate();
    faults.find_map(|(at, (field, (name, values)))| {
        let mut alone = ["*"; FIELDS.len()];
        *alone.get_mut(at)? = field;
        parse(&alone.join(" ")).err()?;
        Some(format!("{name}: {field:?} is not in {values}"))
    })
}

/// The names of patterns that the parser knows.
const NAMES: &str = "@yearly, @annually, @monthly, @weekly, @daily and @hourly";

/// The fields of a pattern, each with its values.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of the month", "1-31"),
    ("month", "1-12 or JAN-DEC"),
    ("day of the week", "0-7 or SUN-SAT"),
];

/// A moment on the wall clock of a time zone.
#[derive(Clone, Debug)]
struct Moment(ZonedDateTime);

impl CronDateTime for Moment {
    fn to_civil(&self) -> CivilDateTime {
        let (year, month, day) = (self.0.year(), self.0.month(), self.0.day());
        let (hour, minute, second) = (self.0.hour(), self.0.minute(), self.0.second());
        let part = |part: i8| u32::from(part.unsigned_abs());
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(i32::from(year), part(month), part(day)),
            CivilTime::from_parts_unchecked(part(hour), part(minute), part(second)),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(u32::from(
            self.0.weekday().to_sunday_zero_offset().unsigned_abs(),
        ))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let part = |part: u32| i8::try_from(part).map_err(|_| CronError::InvalidTime);
        let year = i16::try_from(civil.year()).map_err(|_| CronError::InvalidDate)?;
        let (month, day) = (part(civil.month())?, part(civil.day())?);
        let (hour, minute, second) = (
            part(civil.hour())?,
            part(civil.minute())?,
            part(civil.second())?,
        );
        let civil = DateTime::new(year, month, day, hour, minute, second, 0);
        let ambiguous = self
            .0
            .time_zone()
            .to_ambiguous_zoned_datetime(civil.map_err(|_| CronError::InvalidDate)?);
        let moment = |zoned: Result<ZonedDateTime, jiff::Error>| {
            zoned.map(Moment).map_err(|_| CronError::InvalidTime)
        };
        Ok(match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => {
                Resolution::Single(moment(ambiguous.unambiguous())?)
            }
            AmbiguousOffset::Fold { .. } => {
                let earlier = moment(ambiguous.clone().earlier())?;
                Resolution::Ambiguous(earlier, moment(ambiguous.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()
            .map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.timestamp().cmp(&other.0.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the next times, as people in the zone read them.
    fn times(pattern: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::read(pattern, zone).expect("valid");
        let zoned: ZonedDateTime = format!("{after}[{zone}]").parse().expect("a time");
        let mut at = zoned.timestamp().as_millisecond();
        let mut times = Vec::new();
        for _ in 0..count {
            at = schedule.next(at).expect("a next time");
            let zoned = Timestamp::from_millisecond(at).expect("valid");
            let zoned = zoned.to_zoned_datetime(schedule.time_zone.clone());
            times.push(zoned.strftime("%m-%d %H:%M%:z").to_string());
        }
        times
    }

    #[test]
    fn a_time_that_the_clock_leaves_out_is_made_up_for_on_the_same_day() {
        let times = times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00+01:00", 3);
        assert_eq!(
            times,
            [
                "03-28 02:30+01:00",
                "03-29 03:00+02:00",
                "03-30 02:30+02:00"
            ]
        );
    }

    #[test]
    fn a_time_that_the_clock_repeats_comes_once() {
        let times = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00+02:00", 2);
        assert_eq!(times, ["10-25 02:30+02:00", "10-26 02:30+01:00"]);
    }

    #[test]
    fn a_clock_that_is_set_back_by_hours_counts() {
        let is_set_back = |pattern: &str, next: &str, now: &str| {
            let schedule = Schedule::read(pattern, "Europe/Berlin").expect("valid");
            let millis = |text: &str| {
                let zoned: ZonedDateTime =
                    format!("{text}[Europe/Berlin]").parse().expect("a time");
                zoned.timestamp().as_millisecond()
            };
            let next = millis(next);
            assert_eq!(schedule.next(next - 1), Some(next), "{pattern}");
            schedule.is_set_back(next, millis(now))
        };
        // It ran at three, and the next time is the day after.
        let daily = |now| is_set_back("0 3 * * *", "2026-05-02T03:00", now);
        for now in ["2026-05-02T02:00", "2026-05-01T03:00", "2026-05-01T00:00"] {
            assert!(!daily(now), "{now}");
        }
        assert!(daily("2026-04-30T23:59"));
        let minutely = |now| is_set_back("* * * * *", "2026-05-01T03:01", now);
        assert!(!minutely("2026-05-01T02:59") && minutely("2026-05-01T02:58"));
        // The changes to and from summer time are none.
        let spring = |now| is_set_back("30 2 * * *", "2026-03-29T03:00", now);
        assert!(!spring("2026-03-28T02:30") && !spring("2026-03-29T01:59"));
        let autumn = |now| is_set_back("30 2 * * *", "2026-10-26T02:30", now);
        assert!(!autumn("2026-10-25T02:30") && !autumn("2026-10-25T00:00"));
    }

    #[test]
    fn an_interval_goes_on_through_both_changes() {
        let autumn = times("*/30 * * * *", "Europe/Berlin", "2026-10-25T02:00+02:00", 4);
        assert_eq!(
            autumn,
            [
                "10-25 02:30+02:00",
                "10-25 02:00+01:00",
                "10-25 02:30+01:00",
                "10-25 03:00+01:00"
            ]
        );
        let spring = times("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:00+01:00", 3);
        assert_eq!(
            spring,
            [
                "03-29 01:30+01:00",
                "03-29 03:00+02:00",
                "03-29 03:30+02:00"
            ]
        );
    }

    #[test]
    fn patterns_reach_from_a_minute_to_years() {
        assert_eq!(
            times("* * * * *", "UTC", "2026-01-01T00:00:30+00:00", 2),
            [
                "01-01 00:01+00:00",
                "01-01 \
         00:02+00:00"
            ]
        );
        assert_eq!(
            times("0 0 29 2 *", "UTC", "2026-01-01T00:00+00:00", 1),
            ["02-29 00:00+00:00"]
        );
        assert_eq!(
            times("0 12 * * MON-FRI", "UTC", "2026-01-02T13:00+00:00", 1),
            ["01-05 12:00+00:00"]
        );
        assert_eq!(
            times("@daily", "UTC", "2026-01-02T13:00+00:00", 1),
            ["01-03 00:00+00:00"]
        );
    }

    #[test]
    fn what_is_no_pattern_or_no_zone_is_told() {
        for pattern in [
            "",
            "* * * *",
            "60 * * * *",
            "* * * * * *",
            "a b c d e",
            &"*".repeat(1_000),
        ] {
            assert!(Schedule::read(pattern, "UTC").is_err(), "{pattern}");
        }
        let fault = Schedule::read("* * * * *", "Europe/Atlantis").expect_err("no zone");
        assert!(fault.contains("\"Europe/Atlantis\""), "{fault}");
        let never = Schedule::read("0 3 31 2 *", "UTC").expect_err("no such day");
        assert_eq!(
            never,
            "the pattern \"0 3 31 2 *\" has no day that ever comes"
        );
    }

    #[test]
    fn a_fault_of_a_pattern_names_the_field() {
        for (pattern, part) in [
            ("60 * * * *", "minute: \"60\" is not in 0-59"),
            ("0 25 * * *", "hour: \"25\" is not in 0-23"),
            ("0 0 32 * *", "day of the month: \"32\" is not in 1-31"),
            ("0 0 * 13 *", "month: \"13\" is not in 1-12 or JAN-DEC"),
            (
                "0 0 * * 9",
                "day of the week: \"9\" is not in 0-7 or SUN-SAT",
            ),
            ("@nightly", "@weekly, @daily and @hourly"),
        ] {
            let fault = Schedule::read(pattern, "UTC").expect_err(pattern);
            assert!(fault.contains(&format!("{pattern:?}")), "{fault}");
            assert!(fault.ends_with(part), "{fault}");
        }
    }
}
