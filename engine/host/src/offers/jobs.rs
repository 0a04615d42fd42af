//! Jobs as capabilities see them: work that is kept in a table of the app's database and runs outside of requests.
//!
//! The queue of an isolate is in its [`Context`](crate::Context) as `Rc<dyn JobQueue>`. A capability declares a runner
//! for its own jobs when the isolate is made, and adds jobs in the transaction of the caller.

use crate::error::{Error, Place};
use crate::future::LocalFuture;
use crate::offers::database::{AppTables, WaitingTables};
use crate::tables::Prompt;
use crate::value::Value;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The prefix of the names of jobs that capabilities declare. Names of scripts do not have it.
pub const OWN_PREFIX: &str = "sampan.";

/// The time when a job is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobDue {
    /// Now.
    #[default]
    Now,
    /// After so many milliseconds, by the clock of the database.
    After(i64),
    /// A time in milliseconds since 1970.
    At(i64),
}

/// A job to be added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewJob {
    /// The name of its declaration.
    pub name: String,
    /// The arguments, as JSON.
    pub args: String,
    /// The time when it is due.
    pub due: JobDue,
    /// Jobs of a greater number run first.
    pub priority: i64,
    /// Of the jobs with one key that have not ended there is one at a time.
    pub unique: Option<String>,
}

/// A call of `enqueue`, as a script makes it.
#[derive(Clone, Debug, Default)]
pub struct JobCall {
    /// The name of the job.
    pub name: String,
    /// The arguments as JSON text, or nothing.
    pub args: Value,
    /// The options.
    pub options: Value,
}

/// The rules for the jobs of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPolicy {
    /// The queue.
    pub queue: String,
    /// The number of attempts until a job is dead.
    pub attempts: u32,
    /// The longest that an attempt may take.
    pub timeout: Duration,
    /// The pause before the second attempt; it doubles from one to the next.
    pub backoff: Duration,
}

/// Jobs that a project declares: by `job`, or by `cron`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDeclaration {
    /// The name.
    pub name: String,
    /// The queue.
    pub queue: String,
    /// The pattern and the time zone of a cron; `None` for jobs that scripts add.
    pub schedule: Option<(String, String)>,
    /// The place of the function, where the engine knows it.
    pub place: Option<Place>,
}

/// An attempt to do a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAttempt {
    /// The number of the job.
    pub id: i64,
    /// An idempotency key, the same in all attempts and of no other job.
    pub key: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The arguments, as JSON.
    pub args: String,
}

/// The failure of an attempt, and what follows it.
#[derive(Clone, Debug)]
pub struct JobFailure {
    /// The error, which is kept with the job.
    pub error: Error,
    /// True if the job is dead, however many attempts are left.
    pub is_final: bool,
    /// The arguments of the job from now on, as JSON; `None` where they stay.
    pub args: Option<String>,
}

impl From<Error> for JobFailure {
    fn from(error: Error) -> Self {
        Self {
            error,
            is_final: false,
            args: None,
        }
    }
}

/// Does the jobs of one name, for a capability.
pub trait JobRunner {
    /// Makes an attempt. Runs on a thread for jobs, which has an isolate; dropping the future gives the attempt up. A
    /// failure is followed by another attempt or the end of the job as dead.
    fn run(&self, attempt: JobAttempt) -> LocalFuture<Result<(), JobFailure>>;
}

/// The attempts that a test of a project has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobRuns {
    /// The number of attempts.
    pub ran: i64,
    /// The number of those that failed.
    pub failed: i64,
    /// The number of jobs that are dead since.
    pub dead: i64,
}

/// The jobs of an isolate.
pub trait JobQueue {
    /// Adds a job, in the transaction of the caller, and returns its number; for a job that must be unique that of the
    /// one which is there. It starts once the transaction is committed. In the function of `db.transaction` a job of a
    /// capability belongs to that transaction, and its arguments may have any size; for a script's job it is an error.
    ///
    /// # Errors
    /// Nothing of this name is declared, the arguments are too large, or the database's own. Of kind
    /// [`ErrorKind::TooLong`](crate::ErrorKind::TooLong) where the caller said that it can wait (`may_wait`) and has
    /// to: call again after [`JobQueue::writable`].
    fn enqueue(&self, job: &NewJob, may_wait: bool) -> Result<i64, Error>;

    /// Adds a job through `tables`, which are those of a transaction that is open.
    ///
    /// # Errors
    /// As [`JobQueue::enqueue`], or an option is wrong.
    fn enqueue_in(&self, tables: &dyn AppTables, call: JobCall) -> Result<i64, Error>;

    /// Reports whether the app's database is on a server, so that only [`JobQueue::enqueue_waiting`] and
    /// [`JobQueue::enqueue_waiting_in`] add jobs.
    fn waits(&self) -> bool;

    /// Adds a job as [`JobQueue::enqueue`] does, on a database server. Gives its number when it is committed. In the
    /// function of `db.batch` it is recorded with the statements of the batch, and has no number yet.
    ///
    /// # Errors
    /// As [`JobQueue::enqueue`].
    fn enqueue_waiting(&self, job: NewJob) -> Result<Prompt, Error>;

    /// Adds a job through `tables`, which are those of a transaction that is open on a database server.
    ///
    /// # Errors
    /// As [`JobQueue::enqueue_in`].
    fn enqueue_waiting_in(
        &self,
        tables: &dyn WaitingTables,
        call: JobCall,
    ) -> Result<Prompt, Error>;

    /// Waits until a job can be added without blocking the worker.
    ///
    /// # Errors
    /// The database cannot be written within `busy_millis_max`.
    fn writable(&self) -> LocalFuture<Result<(), Error>>;

    /// Declares jobs of a capability, whose name begins with [`OWN_PREFIX`]. To be called in the hook `isolate` of a
    /// capability that asks for `jobs`. Threads for jobs are started because of it.
    fn declare(&self, name: &str, policy: JobPolicy, runner: Rc<dyn JobRunner>);

    /// Returns the jobs and the crons that the project declares, in the order of their names.
    fn declarations(&self) -> Vec<JobDeclaration>;

    /// Runs all jobs that are due on this thread, and those that they add. For tests of projects: an attempt that goes
    /// on at `until` is stopped.
    ///
    /// # Errors
    /// The database's own, or there are too many.
    fn run_due(&self, until: Option<Instant>) -> LocalFuture<Result<JobRuns, Error>>;
}
