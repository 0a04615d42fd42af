//! Jobs on a server as people see and change them.

use super::columns::{now_millis, number, numbers};
use super::statements::CANCEL;
use crate::table::people::{
    COUNTS, CRONS, CronView, JobFilter, JobView, ShowStatement, count_views, cron_views,
    list_statement, pairs, show_statement, views,
};
use sampan_host::database::{TableResult, WaitingTables};
use sampan_host::{Error, Rows, Value};
use std::rc::Rc;

/// Jobs that have ended or are due later run now. An open batch waits for its jobs again; the ends of one that is over
/// have been told. A job whose unique key another job has, which has not ended, stays as it is. One that was cancelled
/// while it ran has its lease still: until that has ended the process may not know, and its attempt go on.
pub(super) const RETRY: &str = concat!(
    "WITH found AS MATERIALIZED (
      SELECT id, batch, state,
        CASE WHEN left(unique_key, 1) = chr(1) THEN substr(unique_key, length(id::text) + 3) END AS key
      FROM _sampan_jobs
      WHERE id = ANY(?::bigint[]) AND state IN ('dead', 'cancelled', 'done', 'scheduled') ORDER BY id FOR UPDATE),
    free AS MATERIALIZED (
      SELECT id, batch, state, key FROM found f
      WHERE key IS NULL OR NOT EXISTS (SELECT 1 FROM _sampan_jobs j WHERE j.unique_key = f.key)
        AND NOT EXISTS (SELECT 1 FROM found other WHERE other.key = f.key AND other.id < f.id)),
    counted AS (
      UPDATE _sampan_job_batches b SET remaining = b.remaining + c.jobs, dead = b.dead - c.dead,
        cancelled = b.cancelled - c.cancelled
      FROM (SELECT batch, count(*) AS jobs, count(*) FILTER (WHERE state = 'dead') AS dead,
          count(*) FILTER (WHERE state = 'cancelled') AS cancelled
        FROM free WHERE batch IS NOT NULL AND state <> 'scheduled' GROUP BY batch) c
      WHERE b.id = c.batch),
    again AS (
      UPDATE _sampan_jobs j SET state = CASE WHEN j.lease > ",
    now_millis!(),
    " THEN 'scheduled' ELSE 'ready' END,
        due = CASE WHEN j.lease > ",
    now_millis!(),
    " THEN j.lease ELSE j.due END, attempt = 0, ended = NULL, unique_key = coalesce(free.key, j.unique_key)
      FROM free WHERE j.id = free.id RETURNING 1)
    SELECT count(*) FROM again"
);

pub(super) const KEY_TAKEN: &str = "SELECT j.id, other.id FROM _sampan_jobs j
    JOIN _sampan_jobs other ON other.unique_key = substr(j.unique_key, length(j.id::text) + 3)
    WHERE j.id = ANY(?::bigint[]) AND left(j.unique_key, 1) = chr(1) ORDER BY j.id";

pub(super) const PRUNE: &str = concat!(
    "DELETE FROM _sampan_jobs WHERE id = ANY(ARRAY(SELECT id FROM _sampan_jobs
      WHERE ended IS NOT NULL AND ended <= ",
    now_millis!(),
    " - ?::bigint AND state IN ('done', 'dead', 'cancelled') LIMIT ?::bigint FOR UPDATE SKIP LOCKED))"
);

/// The jobs of a database on a server. Where no server has started with jobs there are none.
pub(crate) struct ServerConsole(pub(crate) Rc<dyn WaitingTables>);

impl ServerConsole {
    async fn run(&self, sql: &str, params: Vec<Value>) -> Result<Option<TableResult>, Error> {
        self.0.run(sql, &Value::List(params)).await
    }

    async fn shown<T>(
        &self,
        (sql, params): ShowStatement,
        read: fn(&Rows) -> Vec<T>,
    ) -> Result<Vec<T>, Error> {
        let found = self.run(&sql, params).await?;
        Ok(found.map_or_else(Vec::new, |found| read(&found.rows)))
    }

    pub(crate) async fn list(&self, filter: &JobFilter) -> Result<Vec<JobView>, Error> {
        self.shown(list_statement(filter), views).await
    }

    pub(crate) async fn show(&self, id: i64) -> Result<Option<JobView>, Error> {
        Ok(self.shown(show_statement(id), views).await?.pop())
    }

    pub(crate) async fn counts(&self) -> Result<Vec<(String, String, i64)>, Error> {
        self.shown((COUNTS.to_owned(), Vec::new()), count_views)
            .await
    }

    pub(crate) async fn crons(&self) -> Result<Vec<CronView>, Error> {
        self.shown((CRONS.to_owned(), Vec::new()), cron_views).await
    }

    pub(crate) async fn retry(&self, ids: &[i64]) -> Result<i64, Error> {
        self.change(RETRY, ids).await
    }

    /// Returns those of the jobs that have ended and whose unique key another job has, each with that one.
    pub(crate) async fn key_taken(&self, ids: &[i64]) -> Result<Vec<(i64, i64)>, Error> {
        let params = vec![numbers(ids.iter().copied())];
        self.shown((KEY_TAKEN.to_owned(), params), pairs).await
    }

    pub(crate) async fn cancel(&self, ids: &[i64]) -> Result<i64, Error> {
        self.change(CANCEL, ids).await
    }

    async fn change(&self, sql: &str, ids: &[i64]) -> Result<i64, Error> {
        let changed = self.run(sql, vec![numbers(ids.iter().copied())]).await?;
        Ok(changed.as_ref().and_then(number).unwrap_or(0))
    }

    /// Removes jobs that ended so many milliseconds ago.
    pub(crate) async fn prune_some(&self, millis: i64, count_max: usize) -> Result<i64, Error> {
        let count_max = Value::Int(count_max as i64);
        let removed = self.run(PRUNE, vec![Value::Int(millis), count_max]).await?;
        Ok(removed.map_or(0, |removed| removed.changes))
    }
}
