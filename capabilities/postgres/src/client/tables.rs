//! Statements of the server's own tables: rows and counts at once, and a table that is not there is no error.

use super::batch::{Recorded, send};
use super::pool::Use;
use super::run::{may_run_again, run, shape};
use super::{PostgresClient, PostgresTransaction, RowLimits, no_rows, permit};
use crate::connection::exchange::{Gather, Stake, StepDone};
use crate::error::Failure;
use crate::limits::RERUNS_MAX;
use sampan_host::database::TableResult;
use sampan_host::{Error, Value};

impl From<StepDone> for TableResult {
    fn from(done: StepDone) -> Self {
        Self {
            rows: done.rows.unwrap_or_else(no_rows),
            changes: done.changes,
        }
    }
}

fn gather() -> Gather {
    RowLimits::default().gather()
}

/// Reports whether a statement names a table that is not there.
fn is_missing(failure: &Failure) -> bool {
    matches!(failure, Failure::Server { error, .. } if error.sqlstate == "42P01")
}

fn unless_missing<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(failure) if is_missing(&failure) => Ok(None),
        Err(failure) => Err(failure),
    }
}

impl PostgresClient {
    /// Runs a statement as a transaction of its own, which is committed when this returns. `None` where it names a
    /// table that is not there.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`].
    pub async fn run(&self, sql: &str, params: &Value) -> Result<Option<TableResult>, Error> {
        let client = &self.0;
        let statement = client.statements().get(sql)?;
        permit(statement.sql.verb, sql)?;
        let ran = client.attempts(sql, &statement, async |connection| {
            let current = client.statements().current(sql, &statement);
            let ran = run(
                &connection,
                &current,
                sql,
                params,
                gather(),
                Stake::of(&statement.sql),
            )
            .await;
            unless_missing(client.note(sql, &current, ran))
        });
        let done = ran.await?;
        client.ran(&statement.sql);
        Ok(done.map(TableResult::from))
    }

    /// Runs statements with their parameters as one transaction, in one round trip once they are known. `None` where
    /// one of them names a table that is not there: then nothing is kept.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`].
    pub async fn run_all(
        &self,
        statements: &[(String, Value)],
    ) -> Result<Option<Vec<TableResult>>, Error> {
        let client = &self.0;
        let mut recorded = client.recorded(statements, permit)?;
        if recorded.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut reruns = 0;
        while reruns < RERUNS_MAX {
            let connection = client.pool.shared(Use::Write).await?;
            let sent = send(&connection, &recorded, Stake::Commit, gather()).await;
            client.pool.give_up_idle();
            let (at, failure) = match sent {
                Ok(done) => {
                    for one in &recorded {
                        client.ran(&one.statement.sql);
                    }
                    return Ok(Some(done.into_iter().map(TableResult::from).collect()));
                }
                Err((_, Failure::Taken)) => continue,
                Err(failed) => failed,
            };
            reruns += 1;
            if is_missing(&failure) {
                return self.run_in_order(&recorded).await;
            }
            let one = &recorded[at];
            if !may_run_again(&failure) {
                return Err(failure.error(one.sql, Some(&one.statement.sql)));
            }
            client.renew(&mut recorded, &failure);
        }
        let failure = Failure::Lost("it was lost again and again".to_owned());
        Err(failure.error("", None))
    }

    /// Runs statements each after the one before, which may make the table that the next one needs.
    async fn run_in_order(
        &self,
        recorded: &[Recorded<'_>],
    ) -> Result<Option<Vec<TableResult>>, Error> {
        let tx = self.begin().await?;
        let mut all = Vec::with_capacity(recorded.len());
        for one in recorded {
            let Some(done) = tx.run(one.sql, one.params).await? else {
                tx.rollback().await;
                return Ok(None);
            };
            all.push(done);
        }
        tx.commit().await?;
        Ok(Some(all))
    }
}

impl PostgresTransaction {
    /// Runs a statement within the transaction. `None` where it names a table that is not there; the transaction goes
    /// on after that.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn run(&self, sql: &str, params: &Value) -> Result<Option<TableResult>, Error> {
        let statement = self.client.0.statements().get(sql)?;
        if statement.shape.borrow().is_none() {
            // An error outside of a savepoint would end the transaction.
            self.savepoint().await?;
            let described = self.attempts(sql, Some(&statement.sql), async |lease| {
                unless_missing(shape(lease.connection(), &statement).await)
            });
            let described = described.await?;
            self.end_savepoint(described.is_some()).await?;
            if described.is_none() {
                return Ok(None);
            }
        }
        let run = async |lease: &super::pool::Lease| {
            let (client, connection) = (&self.client.0, lease.connection());
            let current = client.statements().current(sql, &statement);
            let ran = run(connection, &current, sql, params, gather(), Stake::Nothing).await;
            client.note(sql, &current, ran)
        };
        let done = self.run_statement(&statement, sql, run).await?;
        Ok(Some(done.into()))
    }

    /// Runs statements within the transaction, each as [`PostgresTransaction::run`] does; `None` where one of them
    /// names a table that is not there: then none is kept.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn run_all(
        &self,
        statements: &[(String, Value)],
    ) -> Result<Option<Vec<TableResult>>, Error> {
        self.savepoint().await?;
        let mut all = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            match self.run(sql, params).await {
                Ok(Some(done)) => all.push(done),
                Ok(None) => {
                    self.end_savepoint(false).await?;
                    return Ok(None);
                }
                Err(error) => {
                    self.end_savepoint(false).await?;
                    return Err(error);
                }
            }
        }
        self.end_savepoint(true).await?;
        Ok(Some(all))
    }
}
