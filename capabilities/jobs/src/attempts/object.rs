//! The object `job`, which the function of a job is given.

use crate::desk::{Desk, Progress};
use crate::limits::{BACKOFF_MILLIS_MAX, PROGRESS_BYTES_MAX};
use crate::options::millis;
use crate::table::Taken;
use sampan_host::{Args, Class, Context, Error, FunctionKind, Lifetime, Type, Value, param, row};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The object `job`.
pub(crate) static JOB: Class = Class {
    name: "Job",
    variable: "job",
    doc: "An attempt to do a job, in its function. `job.id` is its number, `job.name` its name, `job.attempt` the \
     number of the attempt from 1, and `job.key` an idempotency key: the same in all attempts, and of no other job. \
     Give it to services that take one, so that what an earlier attempt did is not done twice.",
    methods: &[
        row!("progress"(
                param!("n": Type::Number, "A number of your choice, such as a percentage."),
                param!("text"? Type::Text, "A text for people."),
            ) -> Type::Nothing, FunctionKind::Sync(progress),
            "Tells how far the job is: `sampan jobs` shows it. It is written soon, apart from what the job writes."),
        row!("retry_in"(param!("time": Type::Any, "A text such as `\"5 m\"`, or seconds.")) -> Type::Nothing,
            FunctionKind::Sync(retry_in),
            "Has the job run again after this time, however this attempt ends. It counts as a failed attempt; after \
             the last one the job is dead."),
        row!("get"(param!("key": Type::Text, "`id`, `name`, `attempt` or `key`.")) -> Type::Any,
            FunctionKind::Sync(get),
            "The same as `job.key`."),
        row!("set"(
                param!("key": Type::Text, "A key."),
                param!("value"? Type::Any, "A value."),
            ) -> Type::Nothing, FunctionKind::Sync(set),
            "An error: a job is only read."),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys),
            "The keys that it has."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

const KEYS: [&str; 4] = ["id", "name", "attempt", "key"];

/// The value behind `job`.
pub(crate) struct Attempt {
    pub(crate) job: Taken,
    pub(crate) desk: Arc<Desk>,
    pub(crate) again: Cell<Option<Duration>>,
    pub(crate) is_over: Cell<bool>,
}

/// Returns the idempotency key of a job.
pub(crate) fn key(job: &Taken) -> String {
    format!("{}-{}", job.name, job.id)
}

fn running(context: &Context, args: &Args) -> Result<Rc<Attempt>, Error> {
    let (_, attempt) = args.object::<Attempt>(context)?;
    match attempt.is_over.get() {
        true => Err(JOB.is_over()),
        false => Ok(attempt),
    }
}

fn progress(context: &Context, mut args: Args) -> Result<Value, Error> {
    let attempt = running(context, &args)?;
    let progress = args.number(0).unwrap_or(0.0);
    let text = match args.take(1) {
        Value::Text(text) => Some(text),
        _ => None,
    };
    if !progress.is_finite() {
        return Err(Error::script("progress must be a finite number"));
    }
    if text
        .as_ref()
        .is_some_and(|text| text.len() > PROGRESS_BYTES_MAX)
    {
        return Err(Error::script(format!(
            "the text of a progress has at most {PROGRESS_BYTES_MAX} bytes"
        )));
    }
    let token = attempt.job.token;
    attempt.desk.progress(
        attempt.job.id,
        Progress {
            token,
            progress,
            text,
        },
    );
    Ok(Value::Null)
}

fn retry_in(context: &Context, mut args: Args) -> Result<Value, Error> {
    let attempt = running(context, &args)?;
    let millis = millis("retry_in", &args.take(0), BACKOFF_MILLIS_MAX)?;
    attempt.again.set(Some(Duration::from_millis(millis)));
    Ok(Value::Null)
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, attempt) = args.object::<Attempt>(context)?;
    let job = &attempt.job;
    Ok(match args.text(0).as_str() {
        "id" => Value::Int(job.id),
        "name" => job.name.as_str().into(),
        "attempt" => Value::Int(job.attempt.into()),
        "key" => key(job).into(),
        _ => Value::Null,
    })
}

fn set(_: &Context, _: Args) -> Result<Value, Error> {
    Err(Error::script(
        "a job is only read: job:progress tells how far it is",
    ))
}

fn keys(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::List(KEYS.iter().map(|key| (*key).into()).collect()))
}
