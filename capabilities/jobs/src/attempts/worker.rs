//! Running jobs: on a thread with an isolate, or in a test of a project.

use crate::attempts::object::{Attempt, JOB, key};
use crate::attempts::traced;
use crate::declared::{Body, Declared};
use crate::desk::{Desk, Failure, Handed, Outcome};
use crate::failures::{FailedAttempt, attempts_of, pause};
use crate::keeper::Keeper;
use crate::limits::{BUSY_PAUSES, BUSY_TIMES_MAX, ERROR_BYTES_MAX, TEST_ATTEMPTS_MAX};
use crate::options::json_value;
use crate::postgres;
use crate::postgres::keeper::ServerKeeper;
use crate::queue::IsolateJobs;
use crate::table::{JobTable, Taken};
use sampan_host::jobs::{JobAttempt, JobRuns};
use sampan_host::log::{Cause, Entry, Level};
use sampan_host::{Error, ErrorKind, LocalFuture, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::{spawn_local, yield_now};

/// The jobs of one thread.
#[derive(Default)]
pub(crate) struct ThreadJobs {
    /// The isolate that counts.
    pub(crate) current: RefCell<Option<Rc<IsolateJobs>>>,
    running: Cell<usize>,
    ended: Notify,
}

/// Counts an attempt for as long as it lives. A thread that ends before it hands the job back.
struct Running {
    thread: Rc<ThreadJobs>,
    desk: Arc<Desk>,
    job: Option<Taken>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.thread.running.set(self.thread.running.get() - 1);
        self.thread.ended.notify_one();
        if let Some(job) = self.job.take() {
            self.desk.abandon(&job);
        }
    }
}

/// Takes jobs from the desk until it is drained, and waits for those that run.
pub(crate) async fn work(thread: Rc<ThreadJobs>, desk: Arc<Desk>) {
    while !desk.is_draining() {
        let woken = desk.threads.notified();
        let current = thread.current.borrow().clone();
        let Some((jobs, handed)) = current.and_then(|jobs| Some((jobs, desk.take()?))) else {
            woken.await;
            continue;
        };
        thread.running.set(thread.running.get() + 1);
        let mut running = Running {
            thread: Rc::clone(&thread),
            desk: Arc::clone(&desk),
            job: Some(handed.job.clone()),
        };
        drop(spawn_local(async move {
            let outcome = tokio::select! {
                outcome = attempt(&jobs, &handed) => outcome,
                () = handed.given_up.told() => None,
            };
            running.job = None;
            match outcome {
                Some(outcome) => running.desk.end(handed.job, outcome),
                None if running.desk.is_cut() => {
                    tell_cut(&jobs, &handed.job);
                    running.desk.put_down(handed.job);
                }
                None => running.desk.abandon(&handed.job),
            }
        }));
        // It runs up to its first wait before this thread takes another.
        yield_now().await;
    }
    // The next thread hears of the end too.
    desk.threads.notify_one();
    while thread.running.get() > 0 {
        thread.ended.notified().await;
    }
}

/// Makes an attempt. Returns nothing if it was given up.
async fn attempt(jobs: &IsolateJobs, handed: &Handed) -> Option<Outcome> {
    let job = &handed.job;
    let Some(declared) = jobs.declarations.get(&job.name) else {
        tell_undeclared(jobs, job);
        return Some(Outcome::Undeclared);
    };
    let args = match &job.args {
        Some(args) => Ok(args.clone()),
        None => long_args(jobs, job)
            .await
            .and_then(|args| args.ok_or_else(|| Error::script("another attempt has begun"))),
    };
    let (result, mut ran) = match args {
        Ok(args) => run_unless_busy(jobs, &declared, handed, args).await,
        Err(error) => (Err(error), Failure::default()),
    };
    if handed.given_up.stopper.is_stopped() {
        return None;
    }
    let policy = &declared.policy;
    let is_last = ran.is_final || job.attempt >= policy.attempts;
    let tell = |again, error: &str| {
        if let Some(log) = jobs.log() {
            let failed = FailedAttempt {
                id: job.id,
                name: &job.name,
                attempt: job.attempt,
                attempts: policy.attempts,
                again,
                error,
            };
            failed.report(&*log);
        }
    };
    let error = match result {
        Ok(()) if ran.again.is_none() => return Some(Outcome::Done),
        Ok(()) => {
            let text = "asked to run again (job:retry_in)".to_owned();
            // The job asked for an attempt that it has not.
            if is_last {
                tell(None, &text);
            }
            text
        }
        Err(error) => {
            let mut text = error.to_string();
            if let Some(stack) = error.stack() {
                text = format!("{text}\n{stack}");
            }
            // The log says when the next attempt begins.
            let pause = || pause(policy.backoff, job.attempt).unsigned_abs();
            let again = *ran
                .again
                .get_or_insert_with(|| Duration::from_millis(pause()));
            tell((!is_last).then_some(again), &text);
            if text.len() > ERROR_BYTES_MAX {
                text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
            }
            text
        }
    };
    Some(Outcome::Failed(Failure { error, ..ran }))
}

/// Reads the arguments of a job that were not read when it was taken.
async fn long_args(jobs: &IsolateJobs, job: &Taken) -> Result<Option<String>, Error> {
    match jobs.tables.waiting() {
        Some(tables) => postgres::args(&*tables, job).await,
        None => JobTable(&*jobs.tables).args(job.id, job.token),
    }
}

#[cold]
fn tell_cut(jobs: &IsolateJobs, job: &Taken) {
    if let Some(log) = jobs.log() {
        let text = format!(
            "job {} {}: cut by the shutdown (shutdown_millis_max): it begins anew, and attempt {} does not count",
            job.name, job.id, job.attempt
        );
        log.write_limited(Level::Warn, Cause::message(&job.name), &Entry::text(text));
    }
}

#[cold]
fn tell_undeclared(jobs: &IsolateJobs, job: &Taken) {
    if let Some(log) = jobs.log() {
        let name = &job.name;
        let text = format!(
            "job {name} {}: this version of the project declares no job {name:?}; the job is kept for one that does",
            job.id
        );
        log.write_limited(Level::Warn, Cause::message(name), &Entry::text(text));
    }
}

#[cold]
fn tell_busy(jobs: &IsolateJobs, job: &Taken, error: &Error) {
    if let Some(log) = jobs.log() {
        let text = format!(
            "job {} {}: attempt {} begins anew, and does not count twice: {error}",
            job.name, job.id, job.attempt
        );
        log.write_limited(Level::Warn, Cause::message(&job.name), &Entry::text(text));
    }
}

/// Reports whether a body has failed because the database could not be written at that moment.
fn is_busy((result, failure): &(Result<(), Error>, Failure)) -> bool {
    let is_busy = |error: &Error| error.kind().status() == 503 && error.code() == Some("busy");
    let is_asked = failure.is_final || failure.again.is_some();
    result.as_ref().is_err_and(is_busy) && !is_asked
}

/// Runs the body of a job. While the database is busy it begins anew after a pause, some times and within the time of
/// the attempt.
async fn run_unless_busy(
    jobs: &IsolateJobs,
    declared: &Declared,
    handed: &Handed,
    args: String,
) -> (Result<(), Error>, Failure) {
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    let timeout = declared.policy.timeout;
    let mut timeout = handed
        .until
        .map_or(timeout, |until| timeout.min(left(until)));
    let until = Instant::now() + timeout;
    let mut pause = BUSY_PAUSES.0;
    for _ in 0..BUSY_TIMES_MAX {
        let ran = run(jobs, declared, handed, args.clone(), timeout).await;
        let is_over = handed.given_up.stopper.is_stopped() || left(until) <= pause;
        match &ran.0 {
            Err(error) if is_busy(&ran) && !is_over => tell_busy(jobs, &handed.job, error),
            _ => return ran,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(BUSY_PAUSES.1);
        timeout = left(until);
    }
    run(jobs, declared, handed, args, timeout).await
}

/// Runs the body of a job. Returns its result, and what is to follow it.
async fn run(
    jobs: &IsolateJobs,
    declared: &Declared,
    handed: &Handed,
    args: String,
    timeout: Duration,
) -> (Result<(), Error>, Failure) {
    let missing = || Error::new(ErrorKind::Internal, "the isolate of the job has ended");
    let (Some(background), Some(context)) = (jobs.background(), jobs.context.upgrade()) else {
        return (Err(missing()), Failure::default());
    };
    let (job, stopper) = (&handed.job, Arc::clone(&handed.given_up.stopper));
    match &declared.body {
        Body::Runner(runner) => {
            let future = runner.run(JobAttempt {
                id: job.id,
                key: key(job),
                attempt: job.attempt,
                args,
            });
            let ran: Rc<Cell<Failure>> = Rc::default();
            let told = Rc::clone(&ran);
            let work: LocalFuture<Result<(), Error>> = Box::pin(async move {
                future.await.map_err(|failure| {
                    told.set(Failure {
                        is_final: failure.is_final,
                        args: failure.args,
                        ..Failure::default()
                    });
                    failure.error
                })
            });
            {
                let work = traced::within(&context, &jobs.desk, job, work);
                let ended = background
                    .run_within(&job.name, timeout, stopper, work)
                    .await;
                (ended, ran.take())
            }
        }
        Body::Function(function) => {
            let args = match json_value(&args) {
                Ok(args) => args,
                Err(error) => return (Err(error), Failure::default()),
            };
            let attempt = Rc::new(Attempt {
                job: job.clone(),
                desk: Arc::clone(&jobs.desk),
                again: Cell::new(None),
                is_over: Cell::new(false),
            });
            let objects = context.objects();
            let object = objects.add_shared(&JOB, Rc::clone(&attempt));
            let args = vec![args, Value::Object(object)];
            let future: LocalFuture<_> = Rc::clone(function).start_apart(args);
            let future = traced::within(&context, &jobs.desk, job, future);
            let ended = background
                .run_within(&job.name, timeout, stopper, future)
                .await;
            attempt.is_over.set(true);
            let ran = Failure {
                again: attempt.again.get(),
                ..Failure::default()
            };
            (ended, ran)
        }
    }
}

/// The keeper of a test.
enum TestKeeper {
    File(Keeper),
    Server(ServerKeeper),
}

impl TestKeeper {
    async fn turn(&mut self) -> Result<bool, Error> {
        match self {
            Self::File(keeper) => keeper.turn().await,
            Self::Server(keeper) => keeper.turn().await,
        }
    }
}

/// Runs all jobs that are due here, one after the other, and those that they add. Each ends at `until` at the latest.
pub(crate) async fn run_due(
    jobs: &Rc<IsolateJobs>,
    until: Option<Instant>,
) -> Result<JobRuns, Error> {
    let (desk, tables) = (&jobs.desk, &jobs.tables);
    let outbox = jobs.context.upgrade().and_then(|context| context.get());
    let gone = || Error::new(ErrorKind::Internal, "the isolate has ended");
    let mut keeper = match tables.waiting() {
        Some(tables) => TestKeeper::Server(ServerKeeper::new(Arc::clone(desk), tables, jobs.log())),
        None => TestKeeper::File(Keeper::new(
            Arc::clone(desk),
            Rc::clone(tables),
            outbox.ok_or_else(gone)?,
            jobs.log(),
        )),
    };
    let mut runs = JobRuns::default();
    // By the clock of the test.
    desk.forget_starts();
    loop {
        desk.look_anew();
        // What is due is looked for on a server too.
        desk.tell();
        while keeper.turn().await? {}
        let Some(taken) = desk.take() else {
            if desk.has_late() {
                continue;
            }
            return Ok(runs);
        };
        let handed = Handed { until, ..taken };
        match attempt(jobs, &handed).await {
            Some(outcome) => {
                count(&mut runs, desk, &handed.job, &outcome);
                desk.end(handed.job, outcome);
            }
            None => desk.abandon(&handed.job),
        }
        if runs.ran >= TEST_ATTEMPTS_MAX {
            return Err(Error::script(format!(
                "{TEST_ATTEMPTS_MAX} attempts have run: a job seems to add itself again"
            )));
        }
    }
}

fn count(runs: &mut JobRuns, desk: &Desk, job: &Taken, outcome: &Outcome) {
    runs.ran += i64::from(*outcome != Outcome::Undeclared);
    if let Outcome::Failed(failure) = outcome {
        let is_dead = failure.is_final || job.attempt >= attempts_of(desk, &job.name);
        runs.failed += 1;
        runs.dead += i64::from(is_dead);
    }
}
