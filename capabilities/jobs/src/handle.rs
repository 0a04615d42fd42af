//! Adding jobs in the transaction of the caller, for scripts and for other capabilities.

use crate::attempts::worker;
use crate::declared::{Body, Declared};
use crate::limits::NAME_BYTES_MAX;
use crate::queue::{IsolateJobs, next_id, now};
use crate::table::{JobTable, NewRow};
use sampan_host::jobs::{JobPolicy, JobQueue, JobRunner, NewJob};
use sampan_host::{Error, LocalFuture};
use std::rc::Rc;

/// The queue as other capabilities have it.
pub(crate) struct QueueHandle(pub(crate) Rc<IsolateJobs>);

impl JobQueue for QueueHandle {
    fn enqueue(&self, job: &NewJob, may_wait: bool) -> Result<i64, Error> {
        let jobs = &*self.0;
        let policy = jobs.policy(&job.name)?;
        let bytes_max = jobs.desk.args_bytes_max();
        if job.args.len() > bytes_max {
            let bytes = job.args.len();
            return Err(Error::script(format!(
                "the arguments of the job {:?} have {bytes} bytes; at most {bytes_max} are allowed ([jobs] \
                 args_bytes_max): keep large data in a table or a file",
                job.name
            )));
        }
        match may_wait {
            true => jobs.tables.begin()?,
            false => jobs.tables.begin_in_place()?,
        }
        let (table, now) = (JobTable(&*jobs.tables), now());
        loop {
            let row = NewRow {
                id: next_id(),
                name: &job.name,
                queue: &policy.queue,
                args: &job.args,
                priority: job.priority,
                due: job.due_millis.unwrap_or(now),
                now,
                unique: job.unique.as_deref(),
            };
            if table.insert(&row)? {
                jobs.tell_when_committed()?;
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

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        self.0.tables.writable()
    }

    fn declare(&self, name: &str, policy: JobPolicy, runner: Rc<dyn JobRunner>) {
        debug_assert!(name.len() <= NAME_BYTES_MAX);
        let declared = Declared {
            policy,
            is_unique: false,
            body: Body::Runner(runner),
        };
        // The isolate is made anew for each load, so there is none of this name.
        let _ = self.0.declarations.add(name.to_owned(), declared);
    }

    fn run_due(&self) -> LocalFuture<Result<i64, Error>> {
        let jobs = Rc::clone(&self.0);
        Box::pin(async move { worker::run_due(&jobs).await })
    }
}
