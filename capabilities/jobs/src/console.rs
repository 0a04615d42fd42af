//! Jobs for people: what there is, and what they change.

use crate::limits::BATCH_MAX;
use crate::postgres::people::ServerConsole;
use crate::queue::now;
use crate::table::JobTable;
use crate::table::people::{CronView, JobFilter, JobView};
use sampan_host::Error;
use sampan_host::database::AppTables;
use std::rc::Rc;
use tokio::task::yield_now;

/// The jobs of a database, for people.
pub struct JobsConsole(pub Rc<dyn AppTables>);

impl JobsConsole {
    fn table(&self) -> JobTable<'_> {
        JobTable(&*self.0)
    }

    fn server(&self) -> Option<ServerConsole> {
        self.0.waiting().map(ServerConsole)
    }

    async fn begin(&self) -> Result<JobTable<'_>, Error> {
        self.0.writable().await?;
        self.0.begin()?;
        Ok(self.table())
    }

    /// Returns jobs, the newest first. Those of one state are in the order in which they start, or the last that ended
    /// is first.
    ///
    /// # Errors
    /// The database's own, as for the others.
    pub async fn list(&self, filter: &JobFilter) -> Result<Vec<JobView>, Error> {
        match self.server() {
            Some(server) => server.list(filter).await,
            None => self.table().list(filter),
        }
    }

    /// Returns a job.
    pub async fn show(&self, id: i64) -> Result<Option<JobView>, Error> {
        match self.server() {
            Some(server) => server.show(id).await,
            None => self.table().show(id),
        }
    }

    /// Returns the number of jobs of each queue and state.
    pub async fn counts(&self) -> Result<Vec<(String, String, i64)>, Error> {
        match self.server() {
            Some(server) => server.counts().await,
            None => self.table().counts(),
        }
    }

    /// Returns the crons, the next first.
    pub async fn crons(&self) -> Result<Vec<CronView>, Error> {
        match self.server() {
            Some(server) => server.crons().await,
            None => self.table().crons(),
        }
    }

    /// Has jobs run now that are dead, cancelled, done, or due later. Returns the number.
    ///
    /// # Errors
    /// The unique key of some is that of a job which has not ended: these stay as they are, and the error says how many
    /// others run.
    pub async fn retry(&self, ids: &[i64]) -> Result<i64, Error> {
        let (count, taken) = match self.server() {
            Some(server) => (server.retry(ids).await?, server.key_taken(ids).await?),
            None => {
                let table = self.begin().await?;
                (table.retry(ids, now())?, table.key_taken(ids)?)
            }
        };
        match taken.is_empty() {
            true => Ok(count),
            false => Err(key_taken(count, &taken)),
        }
    }

    /// Cancels jobs that have not ended. One that runs is given up when its process hears of it, or within a third of
    /// its lease. Returns the number.
    pub async fn cancel(&self, ids: &[i64]) -> Result<i64, Error> {
        match self.server() {
            Some(server) => server.cancel(ids).await,
            None => self.begin().await?.cancel(ids, now()),
        }
    }

    /// Removes jobs that ended so many milliseconds ago. Returns the number. Other writes come in between.
    pub async fn prune(&self, millis: i64) -> Result<i64, Error> {
        let before = now().saturating_sub(millis).saturating_add(1);
        let mut all = 0;
        loop {
            let removed = match self.server() {
                Some(server) => server.prune_some(millis, BATCH_MAX).await?,
                None => self.begin().await?.prune_some(before, BATCH_MAX)?,
            };
            all += removed;
            if removed < BATCH_MAX as i64 {
                return Ok(all);
            }
            // What was removed so far is committed now.
            yield_now().await;
        }
    }
}

/// The error about jobs that stay as they are, because another job with the same unique key has not ended.
#[cold]
fn key_taken(count: i64, taken: &[(i64, i64)]) -> Error {
    let ran = match count {
        1 => "1 job is retried".to_owned(),
        count => format!("{count} jobs are retried"),
    };
    let reasons = taken.iter().map(|(id, other)| {
        format!("; job {id} stays as it is: job {other} has the same unique key and has not ended")
    });
    Error::script(ran + &reasons.collect::<String>())
}
