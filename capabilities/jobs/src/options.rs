//! Reading the options of declarations and of jobs.

use crate::limits::{
    ATTEMPTS, ATTEMPTS_MAX, BACKOFF_MILLIS, BACKOFF_MILLIS_MAX, DELAY_MILLIS_MAX, DEPTH_MAX,
    NAME_BYTES_MAX, PRIORITY_MAX, TIMEOUT_MILLIS, TIMEOUT_MILLIS_MAX,
};
use sampan_host::jobs::{JobDue, JobPolicy};
use sampan_host::json;
use sampan_host::settings::units;
use sampan_host::{Error, Value, refusals};
use std::time::Duration;

/// The queue of jobs whose declaration names none.
const QUEUE: &str = "default";

/// The options of `app.job`.
pub(crate) struct JobOptions {
    pub(crate) policy: JobPolicy,
    /// True if there is one job with the same arguments at a time.
    pub(crate) is_unique: bool,
}

/// The queue of jobs of crons whose declaration names none.
const CRON_QUEUE: &str = "cron";

/// The options of `app.cron`.
pub(crate) struct CronOptions {
    pub(crate) policy: JobPolicy,
    pub(crate) zone: String,
    pub(crate) makes_up: bool,
}

/// The options of `app.enqueue`.
#[derive(Default)]
pub(crate) struct EnqueueOptions {
    pub(crate) due: JobDue,
    pub(crate) priority: i64,
    pub(crate) unique: Option<String>,
}

/// The options of `app.enqueue_batch`.
pub(crate) struct BatchOptions {
    /// The job that follows.
    pub(crate) then: Option<String>,
    /// Its arguments, as JSON.
    pub(crate) args: String,
}

/// Reads arguments that an engine has written.
pub(crate) fn json_value(text: &str) -> Result<Value, Error> {
    json::kept_value(text, DEPTH_MAX)
}

/// Writes arguments as JSON.
pub(crate) fn json_text(value: &Value) -> Result<String, Error> {
    let mut text = Vec::new();
    json::write_value(&mut text, value, DEPTH_MAX)?;
    String::from_utf8(text).map_err(|_| Error::script("the arguments are not UTF-8"))
}

impl BatchOptions {
    pub(crate) fn read(value: Value) -> Result<Self, Error> {
        let mut options = Self {
            then: None,
            args: "null".to_owned(),
        };
        let Value::Map(members) = value else {
            return Ok(options);
        };
        for (name, value) in members {
            match (name.as_str(), value) {
                ("after", Value::Text(job)) => options.then = Some(job),
                ("after", _) => return Err(Error::script("after must be the name of a job")),
                ("args", value) => options.args = json_text(&value)?,
                (name, _) => return Err(refusals::unknown_option(name, &["after", "args"])),
            }
        }
        Ok(options)
    }
}

/// Checks the name of a job or a queue, or a unique key.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Error> {
    let is_plain = !name.is_empty() && name.trim() == name && !name.chars().any(char::is_control);
    if is_plain && name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(Error::script(format!(
        "{what} must have 1 to {NAME_BYTES_MAX} bytes, without control characters and spaces at its ends"
    )))
}

/// Reads a time in milliseconds: a text with a unit, or a number of seconds.
pub(crate) fn millis(what: &str, value: &Value, max: u64) -> Result<u64, Error> {
    let read = match value {
        Value::Text(text) => units::millis(text),
        Value::Int(seconds) => u64::try_from(*seconds)
            .ok()
            .map(|seconds| seconds.saturating_mul(1_000)),
        Value::Float(seconds) if *seconds >= 0.0 => Some((*seconds * 1_000.0) as u64),
        _ => None,
    };
    match read {
        Some(millis) if millis <= max => Ok(millis),
        Some(_) => Err(Error::script(format!(
            "{what} must be at most {} h",
            max / 3_600_000
        ))),
        None => Err(Error::script(format!(
            "{what} must be a time such as \"30 s\" or \"5 m\", or a number of seconds"
        ))),
    }
}

fn policy(queue: &str, attempts: u32) -> JobPolicy {
    JobPolicy {
        queue: queue.to_owned(),
        attempts,
        timeout: Duration::from_millis(TIMEOUT_MILLIS),
        backoff: Duration::from_millis(BACKOFF_MILLIS),
    }
}

/// Reads an option that jobs and crons have. Returns the value of any other.
fn read_policy(policy: &mut JobPolicy, name: &str, value: Value) -> Result<Option<Value>, Error> {
    match (name, value) {
        ("attempts", Value::Int(count)) => match u32::try_from(count) {
            Ok(count @ 1..=ATTEMPTS_MAX) => policy.attempts = count,
            _ => return Err(wrong_attempts()),
        },
        ("attempts", _) => return Err(wrong_attempts()),
        ("timeout", value) => {
            let millis = millis("timeout", &value, TIMEOUT_MILLIS_MAX)?;
            if millis == 0 {
                return Err(Error::script("timeout must be more than 0"));
            }
            policy.timeout = Duration::from_millis(millis);
        }
        ("backoff", value) => {
            policy.backoff = Duration::from_millis(millis("backoff", &value, BACKOFF_MILLIS_MAX)?);
        }
        ("queue", Value::Text(queue)) => {
            check_name("queue", &queue)?;
            policy.queue = queue;
        }
        ("queue", _) => return Err(Error::script("queue must be a text")),
        (_, other) => return Ok(Some(other)),
    }
    Ok(None)
}

impl CronOptions {
    pub(crate) fn read(value: Value) -> Result<Self, Error> {
        let mut options = Self {
            policy: policy(CRON_QUEUE, 1),
            zone: "UTC".to_owned(),
            makes_up: true,
        };
        let Value::Map(members) = value else {
            return Ok(options);
        };
        for (name, value) in members {
            let Some(value) = read_policy(&mut options.policy, &name, value)? else {
                continue;
            };
            match (name.as_str(), value) {
                ("tz", Value::Text(zone)) => options.zone = zone,
                ("tz", _) => return Err(Error::script("tz must be the name of a time zone")),
                ("missed", Value::Text(word)) if word == "once" || word == "skip" => {
                    options.makes_up = word == "once";
                }
                ("missed", _) => {
                    return Err(Error::script("missed must be \"once\" or \"skip\""));
                }
                (name, _) => {
                    let known = ["tz", "missed", "attempts", "timeout", "backoff", "queue"];
                    return Err(refusals::unknown_option(name, &known));
                }
            }
        }
        Ok(options)
    }
}

impl JobOptions {
    pub(crate) fn read(value: Value) -> Result<Self, Error> {
        let mut options = Self {
            policy: policy(QUEUE, ATTEMPTS),
            is_unique: false,
        };
        let Value::Map(members) = value else {
            return Ok(options);
        };
        for (name, value) in members {
            let Some(value) = read_policy(&mut options.policy, &name, value)? else {
                continue;
            };
            match (name.as_str(), value) {
                ("unique", Value::Bool(is_unique)) => options.is_unique = is_unique,
                ("unique", _) => return Err(Error::script("unique must be true or false")),
                (name, _) => {
                    let known = ["attempts", "timeout", "backoff", "queue", "unique"];
                    return Err(refusals::unknown_option(name, &known));
                }
            }
        }
        Ok(options)
    }
}

#[cold]
fn wrong_attempts() -> Error {
    Error::script(format!(
        "attempts must be a whole number from 1 to {ATTEMPTS_MAX}"
    ))
}

impl EnqueueOptions {
    /// Reads them; `now` is in milliseconds since 1970.
    pub(crate) fn read(value: Value, now: i64) -> Result<Self, Error> {
        let mut options = Self::default();
        let Value::Map(members) = value else {
            return Ok(options);
        };
        let has = |wanted: &str| members.iter().any(|(name, _)| name.as_str() == wanted);
        if has("delay") && has("at") {
            return Err(Error::script("give delay or at, not both"));
        }
        for (name, value) in members {
            match (name.as_str(), value) {
                ("delay", value) => {
                    let millis = millis("delay", &value, DELAY_MILLIS_MAX as u64)?;
                    let millis = i64::try_from(millis).unwrap_or(DELAY_MILLIS_MAX);
                    options.due = JobDue::After(millis);
                }
                ("at", value) => options.due = JobDue::At(moment(&value, now)?),
                ("priority", Value::Int(priority))
                    if (-PRIORITY_MAX..=PRIORITY_MAX).contains(&priority) =>
                {
                    options.priority = priority;
                }
                ("priority", _) => {
                    return Err(Error::script(format!(
                        "priority must be a whole number from -{PRIORITY_MAX} to {PRIORITY_MAX}"
                    )));
                }
                ("unique", Value::Text(key)) => {
                    check_name("unique", &key)?;
                    options.unique = Some(key);
                }
                ("unique", _) => return Err(Error::script("unique must be a text")),
                (name, _) => {
                    let known = ["delay", "at", "priority", "unique"];
                    return Err(refusals::unknown_option(name, &known));
                }
            }
        }
        Ok(options)
    }
}

/// Reads `at`: seconds since 1970.
fn moment(value: &Value, now: i64) -> Result<i64, Error> {
    let seconds = match value {
        Value::Int(seconds) => *seconds as f64,
        Value::Float(seconds) => *seconds,
        _ => f64::NAN,
    };
    let millis = seconds * 1_000.0;
    let latest = now.saturating_add(DELAY_MILLIS_MAX) as f64;
    if (0.0..=latest).contains(&millis) {
        return Ok(millis as i64);
    }
    Err(Error::script(
        "at must be a time in seconds since 1970, at most a hundred years from now",
    ))
}
