//! The functions of `app` for jobs.

use crate::attempts::object::JOB;
use crate::declared::{Body, Declared};
use crate::handle::QueueHandle;
use crate::options::{EnqueueOptions, JobOptions, check_name};
use crate::queue::{IsolateJobs, now, of};
use sampan_host::jobs::{JobQueue, NewJob, OWN_PREFIX};
use sampan_host::{
    Args, Context, Error, FunctionKind, LocalFuture, Module, Param, Rerun, Type, Value, param, row,
};
use std::rc::Rc;

/// The functions of `app` for jobs.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Work outside of requests.",
    functions: &[
        row!("job"(
                NAME,
                param!("options": Type::MapOrFunction,
                    "`attempts`: how often it is tried, 5 unless given. `timeout`: the longest that an attempt may \
                     take, a text such as `\"30 s\"` or seconds; a minute unless given. `backoff`: the pause before \
                     the second attempt, which doubles from one to the next; 5 seconds unless given. `queue`: the \
                     name of its queue. `unique = true`: of jobs with the same arguments there is one at a time. \
                      May be left out."),
                param!("fn"? Type::Function, "Called with the arguments and with `job`."),
            ) -> Type::Nothing, FunctionKind::Sync(job),
            "Declares jobs: the function that does them. It runs on a thread for jobs, apart from requests, and may \
             wait. If it fails, it is called again, at most `attempts` times in all. It can also be called again \
             after it has succeeded, if the process ends at that moment. Only while the project loads."),
        row!("enqueue"(
                NAME,
                param!("args"? Type::Json, "The arguments: anything that JSON has."),
                param!("options"? Type::Map,
                    "`delay`: starts it after this time, a text such as `\"10 m\"` or seconds. `at`: starts it at \
                     this time, in seconds since 1970. `priority`: jobs of a greater number start first; 0 unless \
                     given. `unique`: a text; of the jobs with the same one that have not ended there is one at a \
                      time."),
            ) -> Type::Int,
            FunctionKind::Prompt { body: enqueue, later: enqueue_later, awaited: None },
            "Adds a job, in the same transaction as the other writes of the request: it runs if they are kept, and \
             once they are on disk. Returns its number; with `unique` that of the one which is there."),
    ],
    classes: &[&JOB],
    ..Module::EMPTY
};

const NAME: Param = param!("name": Type::Text, "The name of the job.");

fn job(context: &Context, mut args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let jobs = of(context)?;
    let name = args.text(0);
    check_name("the name of a job", &name)?;
    if name.starts_with(OWN_PREFIX) {
        return Err(Error::script(format!(
            "the name of a job must not begin with {OWN_PREFIX:?}"
        )));
    }
    let (options, function) = match args.function(1) {
        Some(function) => (Value::Null, Some(function)),
        None => (args.take(1), args.function(2)),
    };
    let function = function.ok_or_else(|| Error::script("job: the function is missing"))?;
    let JobOptions { policy, is_unique } = JobOptions::read(options)?;
    let body = Body::Function(function);
    jobs.declarations.add(
        name,
        Declared {
            policy,
            is_unique,
            body,
        },
    )?;
    Ok(Value::Null)
}

/// Reads the arguments of `enqueue`.
fn new_job(jobs: &IsolateJobs, mut args: Args) -> Result<NewJob, Error> {
    let name = args.text(0);
    let json = match args.take(1) {
        Value::Text(json) => json,
        _ => "null".to_owned(),
    };
    let EnqueueOptions {
        due_millis,
        priority,
        unique,
    } = EnqueueOptions::read(args.take(2), now())?;
    let is_unique = || {
        jobs.declarations
            .get(&name)
            .is_some_and(|declared| declared.is_unique)
    };
    let unique = match unique {
        Some(key) => Some(format!("{name} {key}")),
        None if is_unique() => Some(format!("{name}={json}")),
        None => None,
    };
    Ok(NewJob {
        name,
        args: json,
        due_millis,
        priority,
        unique,
    })
}

fn running(context: &Context) -> Result<Rc<IsolateJobs>, Error> {
    let jobs = of(context)?;
    match jobs.declarations.is_closed() {
        true => Ok(jobs),
        false => Err(Error::script(
            "enqueue is for handlers and for app.on_start: the project is still being loaded",
        )),
    }
}

fn enqueue(context: &Context, args: Args) -> Result<Value, Error> {
    let jobs = running(context)?;
    let may_wait = args.may_wait();
    let job = new_job(&jobs, args)?;
    QueueHandle(jobs).enqueue(&job, may_wait).map(Value::Int)
}

fn enqueue_later(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let ready = running(context).and_then(|jobs| Ok((new_job(&jobs, args)?, QueueHandle(jobs))));
    Box::pin(async move {
        let (job, queue) = ready?;
        loop {
            queue.writable().await?;
            match queue.enqueue(&job, true) {
                Err(error) if error.kind() == sampan_host::ErrorKind::TooLong => {}
                added => return added.map(Value::Int),
            }
        }
    })
}
