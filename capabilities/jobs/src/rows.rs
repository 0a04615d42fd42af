//! The functions of `app` for jobs.

use crate::arguments;
use crate::attempts::object::JOB;
use crate::crons::{CRON_PREFIX, CronRule};
use crate::declared::{Body, Declared};
use crate::handle::{QueueHandle, new_job};
use crate::limits::BATCH_JOBS_MAX;
use crate::options::{BatchOptions, CronOptions, JobOptions, check_name, json_text, json_value};
use crate::queue::{IsolateJobs, of};
use crate::schedule::Schedule;
use crate::table::status::STATUS_TYPE;
use sampan_host::jobs::{JobCall, JobQueue, NewJob, OWN_PREFIX};
use sampan_host::{
    Args, Class, Context, Error, ErrorKind, Function, FunctionKind, LocalFuture, Module, Param,
    Rerun, Type, Value, param, row,
};
use std::rc::Rc;

/// The functions of `app` for jobs.
pub(crate) static MODULE: Module = Module {
    name: "app",
    elsewhere: Some(&SERVER_MODULE),
    ..module(&ROWS, &[&JOB])
};

/// The functions where the database is on a server: adding a job waits.
static SERVER_MODULE: Module = module(&SERVER_ROWS, &[&JOB]);

static ROWS: [Function; 6] = rows_of(RowKinds {
    enqueue: FunctionKind::Prompt {
        body: |context, args| at_once(context, args, enqueue),
        later: |context, args| later(context, args, enqueue),
        awaited: None,
    },
    enqueue_batch: FunctionKind::Prompt {
        body: |context, args| at_once(context, args, enqueue_batch),
        later: |context, args| later(context, args, enqueue_batch),
        awaited: None,
    },
    cancel_job: FunctionKind::Prompt {
        body: |context, args| at_once(context, args, cancel_job),
        later: |context, args| later(context, args, cancel_job),
        awaited: None,
    },
    job_status: FunctionKind::Sync(|context, args| QueueHandle(running(context)?).status(id(args))),
});

static SERVER_ROWS: [Function; 6] = rows_of(RowKinds {
    enqueue: FunctionKind::Waiting(|context, args| {
        let queue = QueueHandle(running(context)?);
        queue.add_waiting(&new_job(&queue.0, call(args))?)
    }),
    enqueue_batch: FunctionKind::Waiting(|context, args| {
        let queue = QueueHandle(running(context)?);
        queue.add_batch_waiting(&NewJobs::read(&queue, args)?)
    }),
    cancel_job: FunctionKind::Waiting(|context, args| {
        QueueHandle(running(context)?).cancel_waiting(id(args))
    }),
    job_status: FunctionKind::Waiting(|context, args| {
        QueueHandle(running(context)?).status_waiting(id(args))
    }),
});

/// The kinds of the rows that change or read jobs.
struct RowKinds {
    enqueue: FunctionKind,
    enqueue_batch: FunctionKind,
    cancel_job: FunctionKind,
    job_status: FunctionKind,
}

const fn module(functions: &'static [Function], classes: &'static [&'static Class]) -> Module {
    Module {
        name: "app",
        doc: "Work outside of requests.",
        functions,
        classes,
        ..Module::EMPTY
    }
}

const fn rows_of(kinds: RowKinds) -> [Function; 6] {
    [
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
        row!("cron"(
                param!("pattern": Type::Text,
                    "Five fields: minute, hour, day of the month, month, day of the week, as in `0 3 * * *`."),
                param!("name": Type::Text, "The name of the cron."),
                param!("options": Type::MapOrFunction,
                    "`tz`: the time zone of the pattern, such as `Europe/Berlin`; `UTC` unless given. `missed`: what \
                     becomes of runs that were missed while no process was there; with `once`, as unless given, one \
                     run makes up for them, with `skip` none. `attempts` (1 unless given), `timeout`, `backoff` and \
                     `queue` (`cron` unless given) as for `job`. May be left out."),
                param!("fn"? Type::Function,
                    "Called with two arguments: an object that has `due`, the time that it was to run, in seconds \
                     since 1970, and `job`."),
            ) -> Type::Nothing, FunctionKind::Sync(cron),
            "Declares a job that is added by the clock: once for each time of the pattern in all processes that \
             share the database. A time that comes while the job of an earlier one has not ended is left out. Only \
             while the project loads."),
        row!("enqueue"(
                NAME,
                param!("args"? Type::Json, "The arguments: anything that JSON has."),
                param!("options"? Type::Map,
                    "`delay`: starts it after this time, a text such as `\"10 m\"` or seconds. `at`: starts it at \
                     this time, in seconds since 1970. `priority`: jobs of a greater number start first; 0 unless \
                     given. `unique`: a text; of the jobs of this name with the same one that have not ended \
                     there is one at a time."),
            ) -> Type::Int,
            kinds.enqueue,
            "Adds a job, in the same transaction as the other writes of the request: it runs if they are kept, and \
             once they are on disk. Returns its number; with `unique` that of the one which is there."),
        row!("enqueue_batch"(
                NAME,
                param!("list": Type::Json, "A list with the arguments of each job."),
                param!("options"? Type::Map,
                    "`after`: the name of a job that is added when all of the batch have ended. Its function gets \
                     `batch`, the numbers of those that are `done`, `dead` and `cancelled`, and `args` as they are \
                      given here."),
            ) -> Type::Int,
            kinds.enqueue_batch,
            "Adds many jobs of one name, and perhaps one that follows them, in the same transaction as the other \
             writes of the request. Returns the number of the batch."),
        row!("cancel_job"(param!("id": Type::Int, "The number of a job.")) -> Type::Bool,
            kinds.cancel_job,
            "Cancels a job, in the same transaction as the other writes of the request. An attempt that runs is \
             given up where it waits, and what it does from then on does not count. False if there is no such job, \
              or it has ended."),
        row!("job_status"(param!("id": Type::Number, "The number of a job.")) -> STATUS_TYPE,
            kinds.job_status,
            "Returns how a job is, or nothing if there is none with this number: one that was never added, or was \
             removed after its end. `state` is `ready`, `scheduled`, `running`, `done`, `dead` or `cancelled`, \
             `attempts` the number of attempts that have begun. `progress` and `progress_text` are what its function \
             told last. `added`, `due`, `started` (the last attempt) and `ended` are times in seconds since 1970. \
             `error` is the error of the last attempt that failed, with its stack."),
    ]
}

const NAME: Param = param!("name": Type::Text, "The name of the job.");

fn job(context: &Context, mut args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let jobs = of(context)?;
    let name = args.text(0);
    check_name("the name of a job", &name)?;
    if let Some(prefix) = [OWN_PREFIX, CRON_PREFIX]
        .into_iter()
        .find(|prefix| name.starts_with(prefix))
    {
        return Err(Error::script(format!(
            "the name of a job must not begin with {prefix:?}"
        )));
    }
    let (options, function) = match args.function(1) {
        Some(_) if args.function(2).is_some() => return Err(one_function("job")),
        Some(function) => (Value::Null, Some(function)),
        None => (args.take(1), args.function(2)),
    };
    let function = function.ok_or_else(|| Error::script("job: the function is missing"))?;
    let JobOptions { policy, is_unique } = JobOptions::read(options)?;
    let place = function.place();
    let body = Body::Function(function);
    jobs.declarations.add(
        name,
        Declared {
            policy,
            is_unique,
            body,
            place,
        },
    )?;
    Ok(Value::Null)
}

fn cron(context: &Context, mut args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let jobs = of(context)?;
    let (pattern, name) = (args.text(0), args.text(1));
    check_name("the name of a cron", &name)?;
    let (options, function) = match args.function(2) {
        Some(_) if args.function(3).is_some() => return Err(one_function("cron")),
        Some(function) => (Value::Null, Some(function)),
        None => (args.take(2), args.function(3)),
    };
    let function = function.ok_or_else(|| Error::script("cron: the function is missing"))?;
    let CronOptions {
        policy,
        zone,
        makes_up,
    } = CronOptions::read(options)?;
    let schedule = Schedule::read(&pattern, &zone).map_err(|fault| {
        Error::script(match Schedule::read(&name, &zone) {
            Ok(_) => format!("cron: the pattern {name:?} comes first, then the name {pattern:?}"),
            Err(_) => format!("cron: {fault}"),
        })
    })?;
    let job = Declared {
        policy,
        is_unique: false,
        place: function.place(),
        body: Body::Function(function),
    };
    jobs.declarations
        .add_cron(name, CronRule { schedule, makes_up }, job)?;
    Ok(Value::Null)
}

#[cold]
fn one_function(name: &str) -> Error {
    Error::script(format!("{name}: it takes one function"))
}

/// Reads the arguments of `enqueue`.
fn call(mut args: Args) -> JobCall {
    JobCall {
        name: args.text(0),
        args: args.take(1),
        options: args.take(2),
    }
}

fn running(context: &Context) -> Result<Rc<IsolateJobs>, Error> {
    let jobs = of(context)?;
    match jobs.declarations.is_closed() {
        true => Ok(jobs),
        false => Err(Error::script(
            "enqueue is for handlers and for app.on_start: the project is still being loaded",
        )
        .naming(["on_start"])),
    }
}

/// A change of the jobs, which begins a write where the caller can wait (`true`) or cannot.
type Change = Box<dyn Fn(&QueueHandle, bool) -> Result<Value, Error>>;

/// Reads the arguments of a row that changes the jobs.
type ReadChange = fn(&QueueHandle, Args) -> Result<Change, Error>;

/// Makes a change at once, see [`FunctionKind::Prompt`].
fn at_once(context: &Context, args: Args, read: ReadChange) -> Result<Value, Error> {
    let (queue, may_wait) = (QueueHandle(running(context)?), args.may_wait());
    read(&queue, args)?(&queue, may_wait)
}

/// Makes a change when a write need not wait.
fn later(context: &Context, args: Args, read: ReadChange) -> LocalFuture<Result<Value, Error>> {
    let ready = running(context).map(QueueHandle);
    let ready = ready.and_then(|queue| Ok((read(&queue, args)?, queue)));
    Box::pin(async move {
        let (change, queue) = ready?;
        loop {
            queue.writable().await?;
            match change(&queue, true) {
                Err(error) if error.kind() == ErrorKind::TooLong => {}
                made => return made,
            }
        }
    })
}

fn enqueue(queue: &QueueHandle, args: Args) -> Result<Change, Error> {
    let job = new_job(&queue.0, call(args))?;
    Ok(Box::new(move |queue, may_wait| {
        queue.enqueue(&job, may_wait).map(Value::Int)
    }))
}

/// The jobs of a batch, as a script adds them.
pub(crate) struct NewJobs {
    /// The name of all.
    pub(crate) name: String,
    pub(crate) jobs: Vec<NewJob>,
    /// The name of the job that follows.
    pub(crate) then: Option<String>,
    /// The arguments of the job that follows, as JSON.
    pub(crate) args: String,
}

impl NewJobs {
    fn read(queue: &QueueHandle, mut args: Args) -> Result<Self, Error> {
        let (name, list) = (args.text(0), args.text(1));
        let items = match json_value(&list)? {
            Value::List(items) => items,
            // An empty table of Lua.
            Value::Map(members) if members.is_empty() => Vec::new(),
            _ => {
                return Err(Error::script(format!(
                    "the arguments must be a list, with one item for each job {name:?}"
                )));
            }
        };
        if items.len() > BATCH_JOBS_MAX {
            return Err(Error::script(format!(
                "a batch has at most {BATCH_JOBS_MAX} jobs; this one has {} of the job {name:?}",
                items.len()
            )));
        }
        arguments::check_list(&name, &list)?;
        let BatchOptions { then, args } = BatchOptions::read(args.take(2))?;
        if let Some(then) = &then {
            queue.check_follower(then, &args)?;
        }
        let jobs = items.iter().map(|item| {
            let args = Value::Text(json_text(item)?);
            let (name, options) = (name.clone(), Value::Null);
            // One that is there already would not count as one of the batch.
            let job = new_job(
                &queue.0,
                JobCall {
                    name,
                    args,
                    options,
                },
            )?;
            Ok(NewJob {
                unique: None,
                ..job
            })
        });
        let jobs = jobs.collect::<Result<Vec<NewJob>, Error>>()?;
        Ok(Self {
            name,
            jobs,
            then,
            args,
        })
    }
}

fn enqueue_batch(queue: &QueueHandle, args: Args) -> Result<Change, Error> {
    let new = NewJobs::read(queue, args)?;
    Ok(Box::new(move |queue, may_wait| {
        let then = new.then.as_deref();
        let added = queue.enqueue_batch(&new.jobs, then, &new.args, may_wait);
        added.map(Value::Int)
    }))
}

/// Reads the number of a job; 0, which no job has, for a number that is not whole.
fn id(mut args: Args) -> i64 {
    match args.take(0) {
        Value::Int(id) => id,
        Value::Float(id) if id.fract() == 0.0 => id as i64,
        _ => 0,
    }
}

fn cancel_job(_: &QueueHandle, args: Args) -> Result<Change, Error> {
    let id = id(args);
    Ok(Box::new(move |queue, may_wait| {
        queue.cancel(id, may_wait).map(Value::Bool)
    }))
}
