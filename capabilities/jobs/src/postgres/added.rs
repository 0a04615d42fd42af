//! Adding, cancelling and reading jobs on a server.

use super::columns::{clock_millis, no_tables, number, set_time, texts};
use super::ring::ring;
use super::statements::CANCEL;
use crate::handle::QueueHandle;
use crate::queue::IsolateJobs;
use crate::rows::NewJobs;
use crate::table::status::{STATUS, status, status_params};
use sampan_host::database::{TableResult, WaitingTables};
use sampan_host::jobs::{JobDue, NewJob, OWN_PREFIX};
use sampan_host::trace::RemoteParent;
use sampan_host::{Error, ErrorKind, LocalFuture, Prompt, Value, Verdict};
use std::rc::Rc;
use std::sync::Arc;

/// The row of a job. `ready` and `scheduled` are told apart by the server's clock.
macro_rules! insert {
    ($condition:literal) => {
        concat!(
            "INSERT INTO _sampan_jobs(name, queue, args, priority, unique_key, trace, added, due, state)
            SELECT ?::text, ?::text, ?::text, ?::integer, ?::text, ?::text, t.now, d.due,
              CASE WHEN d.due > t.now THEN 'scheduled' ELSE 'ready' END
            FROM (SELECT ",
            clock_millis!(),
            " AS now) t CROSS JOIN LATERAL (SELECT coalesce(?::bigint, t.now + ?::bigint) AS due) d",
            $condition
        )
    };
}

const INSERT: &str = concat!(insert!(""), " RETURNING id");

/// A job that must be unique. One that is there is not touched, so that its end need not wait for this transaction.
/// Another process may add one at this moment: then this statement waits for it, and takes its number.
const INSERT_UNIQUE: &str = concat!(
    "WITH known AS (SELECT id FROM _sampan_jobs WHERE unique_key = ?::text), added AS (",
    insert!(" WHERE NOT EXISTS (SELECT 1 FROM known)"),
    " ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO UPDATE SET unique_key = excluded.unique_key
      RETURNING id)
    SELECT id FROM known UNION ALL SELECT id FROM added"
);

/// A batch and its jobs, which have their numbers in the order of the list.
const INSERT_BATCH: &str = concat!(
    "WITH batch AS (
      INSERT INTO _sampan_job_batches(size, remaining, job, queue, args)
      VALUES (cardinality(?::text[]), cardinality(?::text[]), ?::text, ?::text, ?::text) RETURNING id),
    added AS (
      INSERT INTO _sampan_jobs(name, queue, args, priority, added, due, state, batch)
      SELECT ?::text, ?::text, a.args, 0, t.now, t.now, 'ready', batch.id
      FROM batch, (SELECT ",
    clock_millis!(),
    " AS now) t, unnest(?::text[]) WITH ORDINALITY AS a(args, place) ORDER BY a.place)
    SELECT id FROM batch"
);

/// Returns the statement that adds a job, and the trace of the request that adds it.
fn insert(job: &NewJob, queue: &str, trace: Option<RemoteParent>) -> (&'static str, Value) {
    let (at, after) = match job.due {
        JobDue::Now => (Value::Null, 0),
        JobDue::After(millis) => (Value::Null, millis),
        JobDue::At(time) => (Value::Int(time), 0),
    };
    let unique = job.unique.as_deref().map_or(Value::Null, Value::from);
    let mut params = vec![
        job.name.as_str().into(),
        queue.into(),
        job.args.as_str().into(),
        Value::Int(job.priority),
        unique.clone(),
        trace.map_or(Value::Null, |trace| trace.to_text().into()),
        set_time(),
        at,
        Value::Int(after),
    ];
    match job.unique {
        None => (INSERT, Value::List(params)),
        Some(_) => {
            params.insert(0, unique);
            (INSERT_UNIQUE, Value::List(params))
        }
    }
}

impl QueueHandle {
    /// Returns the tables where they are on a server.
    pub(crate) fn waiting(&self) -> Option<Rc<dyn WaitingTables>> {
        self.0.tables.waiting()
    }

    /// Adds a job outside of transactions, or that of a capability in the open one of the run.
    pub(crate) fn add_waiting(&self, job: &NewJob) -> Result<Prompt, Error> {
        let queue = self.check(job)?;
        let (sql, params) = insert(job, &queue, self.trace());
        if job.name.starts_with(OWN_PREFIX)
            && let Some(tables) = self.0.own_transaction()
            && let Some(tables) = tables.waiting()
        {
            return in_transaction(&self.0, &*tables, (sql, params));
        }
        let outside = self.waiting().ok_or_else(no_tables)?;
        let tell = tells(&self.0);
        waits(&*outside, (sql, params), tell, |added| {
            number(added).map(Value::Int)
        })
    }

    /// Adds a job through the tables of an open transaction.
    pub(crate) fn add_waiting_in(
        &self,
        tables: &dyn WaitingTables,
        job: &NewJob,
    ) -> Result<Prompt, Error> {
        let queue = self.check(job)?;
        in_transaction(&self.0, tables, insert(job, &queue, self.trace()))
    }

    /// Adds a batch of jobs of one name.
    pub(crate) fn add_batch_waiting(&self, new: &NewJobs) -> Result<Prompt, Error> {
        let NewJobs {
            name,
            jobs,
            then,
            args,
        } = new;
        let then = then.as_deref();
        self.check_batch(jobs)?;
        // As on SQLite, the name counts only where there is a job.
        let queue = match jobs.is_empty() {
            true => String::new(),
            false => self.0.policy(name)?.queue,
        };
        let then_queue = then.map(|name| self.0.policy(name)).transpose()?;
        let list = texts(jobs.iter().map(|job| job.args.as_str()));
        let params = Value::List(vec![
            list.clone(),
            list.clone(),
            then.map_or(Value::Null, Value::from),
            then_queue.map_or(Value::Null, |policy| policy.queue.into()),
            args.as_str().into(),
            name.as_str().into(),
            queue.into(),
            set_time(),
            list,
        ]);
        let outside = self.waiting().ok_or_else(no_tables)?;
        let statement = (INSERT_BATCH, params);
        waits(&*outside, statement, tells(&self.0), |added| {
            number(added).map(Value::Int)
        })
    }

    /// Cancels a job that has not ended.
    pub(crate) fn cancel_waiting(&self, id: i64) -> Result<Prompt, Error> {
        let outside = self.waiting().ok_or_else(no_tables)?;
        let desk = Arc::clone(&self.0.desk);
        let statement = (CANCEL, Value::List(vec![super::columns::numbers([id])]));
        let tell = Rc::new(move || desk.tell_cancelled());
        waits(&*outside, statement, tell, |done| {
            number(done).map(|count| Value::Bool(count > 0))
        })
    }

    /// Reads the status of a job, as the open transaction of the run sees it where it has one.
    pub(crate) fn status_waiting(&self, id: i64) -> Result<Prompt, Error> {
        let own = self.0.own_transaction();
        let own = own.and_then(|tables| tables.waiting());
        let tables = own.or_else(|| self.waiting()).ok_or_else(no_tables)?;
        let read = tables.run(STATUS, &status_params(id));
        Ok(Prompt::Waits(Box::pin(async move {
            let found = read.await?;
            Ok(found.map_or(Value::Null, |found| status(&found.rows)))
        })))
    }
}

/// Tells the keeper of a job that was committed. A process that does no jobs has none, and tells the others.
fn tells(jobs: &IsolateJobs) -> Rc<dyn Fn()> {
    let desk = Arc::clone(&jobs.desk);
    let others = match desk.config().workers {
        0 => jobs.tables.waiting(),
        _ => None,
    };
    Rc::new(move || {
        desk.tell();
        if let Some(tables) = &others {
            ring(&desk, tables);
        }
    })
}

/// Runs a statement, or records it where the function of `db.batch` runs. `tell` is called once it is committed.
fn waits(
    tables: &dyn WaitingTables,
    (sql, params): (&str, Value),
    tell: Rc<dyn Fn()>,
    value: fn(&TableResult) -> Option<Value>,
) -> Result<Prompt, Error> {
    let told = Rc::clone(&tell);
    if tables.record(sql, &params, Box::new(move || told()))? {
        return Ok(Prompt::Done(Value::Null));
    }
    let run = tables.run(sql, &params);
    Ok(Prompt::Waits(Box::pin(async move {
        let done = given(run, value).await?;
        tell();
        Ok(done)
    })))
}

/// Runs or records a statement in an open transaction. The keeper is told when that is committed.
fn in_transaction(
    jobs: &IsolateJobs,
    tables: &dyn WaitingTables,
    (sql, params): (&str, Value),
) -> Result<Prompt, Error> {
    let tell = tells(jobs);
    jobs.effects.when_settled(None, move |verdict| {
        if verdict == Verdict::Committed {
            tell();
        }
    })?;
    if tables.record(sql, &params, Box::new(|| ()))? {
        return Ok(Prompt::Done(Value::Null));
    }
    let run = tables.run(sql, &params);
    Ok(Prompt::Waits(Box::pin(given(run, |added| {
        number(added).map(Value::Int)
    }))))
}

async fn given(
    run: LocalFuture<Result<Option<TableResult>, Error>>,
    value: fn(&TableResult) -> Option<Value>,
) -> Result<Value, Error> {
    let result = run.await?.ok_or_else(no_tables)?;
    value(&result).ok_or_else(|| Error::new(ErrorKind::Internal, "a statement has no result"))
}
