//! Failed attempts: how they are kept, and the pause before the next. It doubles, and is spread so that jobs that
//! failed together do not return together.

use crate::desk::{Desk, Failure};
use crate::limits::{ATTEMPTS, BACKOFF_MILLIS, BACKOFF_MILLIS_MAX};
use crate::table::JobTable;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::{Error, json};
use std::time::Duration;

/// A failed attempt, for the log.
pub(crate) struct FailedAttempt<'a> {
    pub(crate) id: i64,
    pub(crate) name: &'a str,
    pub(crate) attempt: u32,
    /// The number of attempts that the job has in all.
    pub(crate) attempts: u32,
    /// The pause until the next attempt; `None` if the job is dead.
    pub(crate) again: Option<Duration>,
    pub(crate) error: &'a str,
}

impl FailedAttempt<'_> {
    /// Logs the attempt and what follows it.
    #[cold]
    pub(crate) fn report(&self, log: &dyn Log) {
        let (id, name, error) = (self.id, self.name, self.error);
        let (attempt, attempts) = (self.attempt, self.attempts);
        let (level, follows) = match self.again {
            Some(again) => {
                let next = attempt + 1;
                let seconds = again.as_millis().div_ceil(1_000);
                let follows = format!("attempt {next} follows in {seconds} s");
                (Level::Warn, follows)
            }
            None => (Level::Error, "the job is dead".to_owned()),
        };
        let text = format!("job {name} {id}, attempt {attempt} of {attempts}; {follows}: {error}");
        log.write_limited(level, Cause::message(error), &Entry::text(text));
    }
}

/// Logs that the end of an attempt does not count.
#[cold]
pub(crate) fn tell_lost(log: Option<&dyn Log>, name: &str, id: i64, attempt: u32) {
    if let Some(log) = log {
        let text = format!(
            "job {name} {id}: attempt {attempt} does not count any more: it was cancelled, or another attempt has \
             begun"
        );
        log.write_limited(Level::Warn, Cause::message("lost"), &Entry::text(text));
    }
}

/// Returns the number of attempts that the jobs of a name have.
pub(crate) fn attempts_of(desk: &Desk, name: &str) -> u32 {
    desk.policy(name).map_or(ATTEMPTS, |policy| policy.attempts)
}

/// Writes a failed attempt. Returns the pause until the next one; `None` if the job is dead.
pub(crate) fn fail(
    table: JobTable<'_>,
    desk: &Desk,
    (id, name, attempt): (i64, &str, u32),
    failure: &Failure,
    now: i64,
) -> Result<Option<Duration>, Error> {
    if let Some(args) = &failure.args {
        table.set_args(id, args)?;
    }
    let FailureEnd { kept, pause } = failure_end(desk, (name, attempt), failure, now);
    match pause {
        None => table.die(id, now, kept)?,
        Some(pause) => table.again(id, now.saturating_add(pause), kept)?,
    }
    Ok(pause.map(|pause| Duration::from_millis(u64::try_from(pause).unwrap_or(0))))
}

/// The end of a failed attempt.
pub(crate) struct FailureEnd {
    /// The error as it is kept with the job, as JSON.
    pub(crate) kept: String,
    /// The pause until the next attempt, in milliseconds; `None` if the job is dead.
    pub(crate) pause: Option<i64>,
}

/// Decides how a failed attempt ends.
pub(crate) fn failure_end(
    desk: &Desk,
    (name, attempt): (&str, u32),
    failure: &Failure,
    now: i64,
) -> FailureEnd {
    let policy = desk.policy(name);
    let attempts = policy.as_ref().map_or(ATTEMPTS, |policy| policy.attempts);
    let kept = error_json(attempt, now, &failure.error);
    if failure.is_final || attempt >= attempts {
        return FailureEnd { kept, pause: None };
    }
    let first = policy.map_or(Duration::from_millis(BACKOFF_MILLIS), |policy| {
        policy.backoff
    });
    let pause = match failure.again {
        Some(time) => i64::try_from(time.as_millis()).unwrap_or(i64::MAX),
        None => pause(first, attempt),
    };
    FailureEnd {
        kept,
        pause: Some(pause),
    }
}

/// Returns the pause after a failed attempt, counted from 1, in milliseconds.
pub(crate) fn pause(first: Duration, attempt: u32) -> i64 {
    spread_pause(first, attempt, random())
}

/// Returns the pause after a failed attempt, in milliseconds: between three quarters and five quarters
/// of `first` doubled for each attempt before. `random` decides where.
fn spread_pause(first: Duration, attempt: u32, random: u32) -> i64 {
    let first = u64::try_from(first.as_millis()).unwrap_or(u64::MAX);
    let doubled = 1_u64
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(u64::MAX);
    let whole = first.saturating_mul(doubled).min(BACKOFF_MILLIS_MAX);
    let spread = u128::from(whole) * u128::from(random) / (2 * u128::from(u32::MAX));
    let millis = whole - whole / 4 + u64::try_from(spread).unwrap_or(0);
    i64::try_from(millis).unwrap_or(i64::MAX)
}

/// A failed attempt as it is kept with its job.
fn error_json(attempt: u32, now: i64, error: &str) -> String {
    let mut text = Vec::new();
    json::write_string(&mut text, error.as_bytes());
    let error = String::from_utf8(text).unwrap_or_default();
    format!("{{\"attempt\":{attempt},\"at\":{now},\"error\":{error}}}")
}

/// A random number; half of the greatest where the system has none.
fn random() -> u32 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u32::from_ne_bytes(bytes),
        Err(_) => u32::MAX / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_within_a_quarter_and_ends_at_the_longest() {
        let first = Duration::from_millis(1_000);
        assert_eq!(spread_pause(first, 1, 0), 750);
        assert_eq!(spread_pause(first, 1, u32::MAX), 1_250);
        assert_eq!(spread_pause(first, 4, u32::MAX / 2 + 1), 8_000);
        let longest = i64::try_from(BACKOFF_MILLIS_MAX).expect("fits");
        assert_eq!(spread_pause(first, 90, 0), longest - longest / 4);
        assert_eq!(spread_pause(Duration::ZERO, 90, u32::MAX), 0);
    }
}
