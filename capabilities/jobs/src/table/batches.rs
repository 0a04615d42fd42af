//! Batches: jobs that are added together, and a job that is added when all of them have ended.

use super::{JobTable, NewRow, int, text};
use crate::ids::next_id;
use sampan_host::{Error, Value};
use std::collections::HashMap;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_job_batches(
       id INTEGER PRIMARY KEY, size INTEGER NOT NULL, left INTEGER NOT NULL, dead INTEGER NOT NULL DEFAULT 0,
       cancelled INTEGER NOT NULL DEFAULT 0, job TEXT, queue TEXT, args TEXT NOT NULL
     ) STRICT";
const INSERT: &str =
    "INSERT INTO _sampan_job_batches(id, size, left, job, queue, args) VALUES (?, ?, ?, ?, ?, ?)";
const COUNT: &str =
    "UPDATE _sampan_job_batches SET left = left - ?, dead = dead + ?, cancelled = cancelled + ?
    WHERE id = ?";
const ENDED: &str = "SELECT size, dead, cancelled, job, queue, args FROM _sampan_job_batches
    WHERE id = ? AND left <= 0";
const REMOVE: &str = "DELETE FROM _sampan_job_batches WHERE id = ?";

/// The jobs of a batch that ended in one transaction; less than 0 for those that run again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchEnds {
    pub(crate) done: i64,
    pub(crate) dead: i64,
    pub(crate) cancelled: i64,
}

/// The ends of the jobs of all batches in one transaction, by the batch.
pub(crate) type AllBatchEnds = HashMap<i64, BatchEnds>;

/// A batch to be added.
pub(crate) struct NewBatch<'a> {
    pub(crate) id: i64,
    pub(crate) size: usize,
    /// The job that follows, and its queue.
    pub(crate) then: Option<(&'a str, &'a str)>,
    /// The arguments of the job that follows, as JSON.
    pub(crate) args: &'a str,
}

impl JobTable<'_> {
    /// Adds a batch.
    pub(crate) fn insert_batch(self, batch: &NewBatch<'_>) -> Result<(), Error> {
        let size = Value::Int(i64::try_from(batch.size).unwrap_or(i64::MAX));
        let (job, queue) = batch
            .then
            .map_or((Value::Null, Value::Null), |(job, queue)| {
                (job.into(), queue.into())
            });
        let params = vec![
            Value::Int(batch.id),
            size.clone(),
            size,
            job,
            queue,
            batch.args.into(),
        ];
        let params = Value::List(params);
        if self.0.write(INSERT, &params)?.is_none() {
            self.0.write(CREATE, &Value::Null)?;
            self.0.write(INSERT, &params)?;
        }
        Ok(())
    }

    /// Counts the ends of jobs. The job that follows a batch is added when it has ended. Returns true if one was added.
    pub(crate) fn count_ends(self, ends: &AllBatchEnds, now: i64) -> Result<bool, Error> {
        let mut has_added = false;
        for (batch, ends) in ends {
            let all = ends.done + ends.dead + ends.cancelled;
            let counts = [all, ends.dead, ends.cancelled, *batch].map(Value::Int);
            self.write(COUNT, counts.to_vec())?;
            let rows = self.read(ENDED, vec![Value::Int(*batch)])?;
            let Some(rows) = rows.filter(|rows| !rows.is_empty()) else {
                continue;
            };
            let (size, dead, cancelled) = (
                int(rows.cell(0, 0)),
                int(rows.cell(0, 1)),
                int(rows.cell(0, 2)),
            );
            let (job, queue, args) = (
                text(rows.cell(0, 3)),
                text(rows.cell(0, 4)),
                text(rows.cell(0, 5)),
            );
            self.write(REMOVE, vec![Value::Int(*batch)])?;
            if job.is_empty() {
                continue;
            }
            let done = size - dead - cancelled;
            let args = format!(
                "{{\"batch\":{batch},\"done\":{done},\"dead\":{dead},\"cancelled\":{cancelled},\"args\":{args}}}"
            );
            let new = |id| NewRow {
                id,
                name: &job,
                queue: &queue,
                args: &args,
                priority: 0,
                due: now,
                now,
                unique: None,
                batch: None,
            };
            while !self.insert(&new(next_id()))? {}
            has_added = true;
        }
        Ok(has_added)
    }
}
