//! Adding jobs in the transaction of the caller, for scripts and for other capabilities.

use crate::arguments::{self, key_of_args, of_entry};
use crate::attempts::worker;
use crate::declared::{Body, Declared};
use crate::ids::next_ids;
use crate::limits::NAME_BYTES_MAX;
use crate::options::EnqueueOptions;
use crate::queue::{IsolateJobs, now};
use crate::table::batches::{BatchEnds, NewBatch};
use crate::table::{JobTable, NewRow};
use sampan_host::database::{AppTables, WaitingTables};
use sampan_host::jobs::{
    JobCall, JobDeclaration, JobDue, JobPolicy, JobQueue, JobRunner, JobRuns, NewJob, OWN_PREFIX,
};
use sampan_host::trace::RemoteParent;
use sampan_host::{CurrentRun, Error, LocalFuture, Prompt, Value, Verdict};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The queue as other capabilities have it.
pub(crate) struct QueueHandle(pub(crate) Rc<IsolateJobs>);

impl QueueHandle {
    /// Checks a job, and returns the name of its queue.
    pub(crate) fn check(&self, job: &NewJob) -> Result<String, Error> {
        let queue = self.0.policy(&job.name)?.queue;
        self.check_size(&job.name, &job.args)?;
        Ok(queue)
    }

    /// Checks the arguments of the job that follows a batch.
    pub(crate) fn check_follower(&self, name: &str, args: &str) -> Result<(), Error> {
        arguments::check(name, args)?;
        self.check_size(name, args)
    }

    fn check_size(&self, name: &str, args: &str) -> Result<(), Error> {
        let (bytes, bytes_max) = (args.len(), self.0.desk.args_bytes_max());
        if bytes <= bytes_max || name.starts_with(OWN_PREFIX) {
            return Ok(());
        }
        Err(Error::script(format!(
            "the arguments of the job {name:?} have {bytes} bytes; at most {bytes_max} are allowed ([jobs] \
             args_bytes_max): keep large data in a table or a file"
        )))
    }

    /// Checks the jobs of a batch, and returns the names of their queues.
    ///
    /// # Errors
    /// There are no jobs of this name, or the arguments of one are too large; the error says which.
    pub(crate) fn check_batch(&self, jobs: &[NewJob]) -> Result<Vec<String>, Error> {
        if let Some(job) = jobs.first() {
            self.0.policy(&job.name)?;
        }
        let checked = jobs.iter().enumerate();
        checked
            .map(|(at, job)| self.check(job).map_err(|error| of_entry(error, at)))
            .collect()
    }

    /// Begins a write, where the caller can wait or cannot.
    fn begin(&self, may_wait: bool) -> Result<(), Error> {
        // Waiting for a transaction of the caller's own would keep it from ending.
        let is_in_transaction = self.0.effects.are_in_transaction(None)?;
        match may_wait && !is_in_transaction {
            true => self.0.tables.begin(),
            false => {
                self.0.tables.note_write();
                self.0.tables.begin_in_place()
            }
        }
    }

    /// Returns the trace of the request that adds a job, if there is one.
    pub(crate) fn trace(&self) -> Option<RemoteParent> {
        let run = self.0.context.upgrade()?.get::<CurrentRun>()?;
        Some(run.trace()?.as_parent())
    }

    /// Has an attempt in this process continue the trace of the request that adds the job.
    fn keep_trace(&self, id: i64) {
        if let Some(trace) = self.trace() {
            self.0.desk.keep_trace(id, trace);
        }
    }

    /// Adds a job in a transaction that is open.
    fn add_in(&self, tables: &dyn AppTables, job: &NewJob, queue: &str) -> Result<i64, Error> {
        let id = add(tables, job, queue)?;
        self.keep_trace(id);
        // Another outbox than that of a group, which may be open too.
        let tell = self.0.teller();
        self.0.effects.when_settled(None, move |verdict| {
            if verdict == Verdict::Committed {
                tell();
            }
        })?;
        Ok(id)
    }

    /// Adds a batch of jobs, and the name and arguments of the job that follows it. Returns its number.
    pub(crate) fn enqueue_batch(
        &self,
        jobs: &[NewJob],
        then: Option<&str>,
        args: &str,
        may_wait: bool,
    ) -> Result<i64, Error> {
        let queues = self.check_batch(jobs)?;
        let then_queue = then.map(|name| self.0.policy(name)).transpose()?;
        self.begin(may_wait)?;
        let table = JobTable(&*self.0.tables);
        let new = NewBatch {
            id: next_ids(i64::try_from(jobs.len()).unwrap_or(0) + 1),
            size: jobs.len(),
            then: then.zip(then_queue.as_ref().map(|policy| policy.queue.as_str())),
            args,
        };
        table.atomically(|| add_batch(table, &new, jobs, &queues))?;
        self.0.tell_when_committed()?;
        Ok(new.id)
    }

    /// Cancels a job that has not ended. Returns false if there is none.
    pub(crate) fn cancel(&self, id: i64, may_wait: bool) -> Result<bool, Error> {
        self.begin(may_wait)?;
        let count = JobTable(&*self.0.tables).cancel(&[id], now())?;
        if count > 0 {
            let (desk, tables) = (Arc::clone(&self.0.desk), Rc::downgrade(&self.0.tables));
            self.0.effects.when_settled(None, move |verdict| {
                if verdict == Verdict::Committed {
                    desk.tell_cancelled();
                    // Any process may run it.
                    tables.upgrade().iter().for_each(|tables| tables.ring());
                }
            })?;
        }
        Ok(count > 0)
    }

    /// Returns the status of a job, as the open transaction of the run sees it where it has one.
    pub(crate) fn status(&self, id: i64) -> Result<Value, Error> {
        match self.0.own_transaction() {
            Some(tables) => JobTable(&*tables).status(id),
            None => JobTable(&*self.0.tables).status(id),
        }
    }
}

fn row<'a>(job: &'a NewJob, queue: &'a str, id: i64, now: i64, batch: Option<i64>) -> NewRow<'a> {
    NewRow {
        id,
        name: &job.name,
        queue,
        args: &job.args,
        priority: job.priority,
        due: match job.due {
            JobDue::Now => now,
            JobDue::After(millis) => now.saturating_add(millis),
            JobDue::At(time) => time,
        },
        now,
        unique: job.unique.as_deref(),
        batch,
    }
}

/// Adds a batch and its jobs, of which each has its queue.
fn add_batch(
    table: JobTable<'_>,
    batch: &NewBatch<'_>,
    jobs: &[NewJob],
    queues: &[String],
) -> Result<(), Error> {
    let now = now();
    table.insert_batch(batch)?;
    for ((job, queue), id) in jobs.iter().zip(queues).zip(batch.id + 1..) {
        let mut id = id;
        while !table.insert(&row(job, queue, id, now, Some(batch.id)))? {
            id = next_ids(1);
        }
    }
    if jobs.is_empty() {
        table.count_ends(&[(batch.id, BatchEnds::default())].into(), now)?;
    }
    Ok(())
}

/// Adds a job. Returns its number, or that of the one with its unique key.
fn add(tables: &dyn AppTables, job: &NewJob, queue: &str) -> Result<i64, Error> {
    let (table, now) = (JobTable(tables), now());
    loop {
        let row = row(job, queue, next_ids(1), now, None);
        if table.insert(&row)? {
            return Ok(row.id);
        }
        if let Some(key) = row.unique
            && let Some(known) = table.of_key(key)?
        {
            return Ok(known);
        }
        // Another process has given the number.
    }
}

impl JobQueue for QueueHandle {
    fn enqueue(&self, job: &NewJob, may_wait: bool) -> Result<i64, Error> {
        let queue = self.check(job)?;
        if job.name.starts_with(OWN_PREFIX)
            && let Some(tables) = self.0.own_transaction()
        {
            return self.add_in(&*tables, job, &queue);
        }
        self.begin(may_wait)?;
        let id = add(&*self.0.tables, job, &queue)?;
        self.keep_trace(id);
        self.0.tell_when_committed()?;
        Ok(id)
    }

    fn enqueue_in(&self, tables: &dyn AppTables, call: JobCall) -> Result<i64, Error> {
        let job = new_job(&self.0, call)?;
        let queue = self.check(&job)?;
        self.add_in(tables, &job, &queue)
    }

    fn waits(&self) -> bool {
        self.waiting().is_some()
    }

    fn enqueue_waiting(&self, job: NewJob) -> Result<Prompt, Error> {
        self.add_waiting(&job)
    }

    fn enqueue_waiting_in(
        &self,
        tables: &dyn WaitingTables,
        call: JobCall,
    ) -> Result<Prompt, Error> {
        self.add_waiting_in(tables, &new_job(&self.0, call)?)
    }

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        self.0.tables.writable()
    }

    fn declare(&self, name: &str, policy: JobPolicy, runner: Rc<dyn JobRunner>) {
        debug_assert!(name.len() <= NAME_BYTES_MAX);
        let declared = Declared {
            policy,
            is_unique: false,
            body: Body::Runner(runner),
            place: None,
        };
        // The isolate is made anew for each load, so there is none of this name.
        let _ = self.0.declarations.add(name.to_owned(), declared);
    }

    fn declarations(&self) -> Vec<JobDeclaration> {
        self.0.declarations.list()
    }

    fn run_due(&self, until: Option<Instant>) -> LocalFuture<Result<JobRuns, Error>> {
        let jobs = Rc::clone(&self.0);
        Box::pin(async move { worker::run_due(&jobs, until).await })
    }
}

/// Reads the arguments of `enqueue`.
pub(crate) fn new_job(jobs: &IsolateJobs, call: JobCall) -> Result<NewJob, Error> {
    let JobCall {
        name,
        args,
        options,
    } = call;
    let json = match args {
        Value::Text(json) => json,
        _ => "null".to_owned(),
    };
    arguments::check(&name, &json)?;
    let EnqueueOptions {
        due,
        priority,
        unique,
    } = EnqueueOptions::read(options, now())?;
    let unique = match unique {
        // Names and keys have no control characters, so no key of one job is one of another.
        Some(key) => Some(format!("{name}\n{key}")),
        None if jobs.is_unique(&name) => Some(key_of_args(&name, &json)?),
        None => None,
    };
    Ok(NewJob {
        name,
        args: json,
        due,
        priority,
        unique,
    })
}
