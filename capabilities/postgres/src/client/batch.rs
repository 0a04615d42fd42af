//! Batches: statements that are recorded first and sent together, as one transaction in one round trip.

use super::run::{UnderWay, may_run_again, shape};
use super::{Client, PostgresClient, PostgresTransaction, permit, transaction};
use crate::client::pool::{Access, Use};
use crate::connection::exchange::{Ask, Gather, Stake, Step, StepDone};
use crate::connection::statement::Statement;
use crate::error::Failure;
use crate::limits::RERUNS_MAX;
use crate::sql::Verb;
use crate::types::params;
use sampan_host::{Error, Value};
use std::rc::Rc;

/// A statement of a batch.
pub(super) struct Recorded<'a> {
    pub(super) sql: &'a str,
    pub(super) params: &'a Value,
    pub(super) statement: Rc<Statement>,
}

/// A failure, and the index of the statement that is to blame.
pub(super) type FailedAt = (usize, Failure);

/// The rows of batches of scripts, which read nothing.
const NO_ROWS: Gather = Gather::Last(None);

impl PostgresClient {
    /// Runs statements with their parameters as one transaction, all in one round trip. Either all of them are kept or
    /// none. The error of one begins with its number.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`].
    pub async fn batch(&self, statements: &[(String, Value)]) -> Result<(), Error> {
        let mut recorded = self.0.recorded(statements, permit)?;
        if recorded.is_empty() {
            return Ok(());
        }
        if recorded.iter().any(leaves_traces) {
            return self.one_by_one(&recorded).await;
        }
        let mut reruns = 0;
        while reruns < RERUNS_MAX {
            let connection = self.0.pool.shared(Use::Write).await?;
            let (at, failure) = match send(&connection, &recorded, Stake::Commit, NO_ROWS).await {
                Ok(_) => {
                    for one in &recorded {
                        self.0.ran(&one.statement.sql);
                    }
                    return Ok(());
                }
                Err((_, Failure::Taken)) => continue,
                Err(failed) => failed,
            };
            reruns += 1;
            if needs_order(&failure) {
                return self.one_by_one(&recorded).await;
            }
            let one = &recorded[at];
            if !may_run_again(&failure) {
                let error = failure.error(one.sql, Some(&one.statement.sql));
                return Err(numbered(error, at, recorded.len()));
            }
            self.0.renew(&mut recorded, &failure);
        }
        let failure = Failure::Lost("it was lost again and again".to_owned());
        Err(failure.error("", None))
    }

    /// Runs statements in a transaction, each after the one before: one of them may need a table that one before it
    /// makes, which the server does not know beforehand.
    async fn one_by_one(&self, recorded: &[Recorded<'_>]) -> Result<(), Error> {
        let tx = self.begin().await?;
        for (at, one) in recorded.iter().enumerate() {
            let ran = tx.exec(one.sql, one.params).await;
            ran.map_err(|error| numbered(error, at, recorded.len()))?;
        }
        tx.commit().await
    }
}

impl PostgresTransaction {
    /// Runs statements with their parameters within the transaction. Either all of them are kept or none, and the
    /// transaction goes on. The error of one begins with its number.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn batch(&self, statements: &[(String, Value)]) -> Result<(), Error> {
        let recorded = self.client.0.recorded(statements, transaction::permit)?;
        if recorded.is_empty() {
            return Ok(());
        }
        // What follows SET LOCAL has other limits of time.
        let stands_alone =
            |one: &Recorded<'_>| one.statement.sql.verb == Verb::Local || leaves_traces(one);
        if recorded.iter().any(stands_alone) {
            return self.one_by_one(&recorded).await;
        }
        let Err((at, failure)) = self.in_savepoint(&recorded).await? else {
            for one in &recorded {
                self.ran(&one.statement.sql);
            }
            return Ok(());
        };
        let one = &recorded[at];
        let is_in_order = needs_order(&failure);
        let error = failure.error(one.sql, Some(&one.statement.sql));
        // Without its connection the transaction is over, and that is the error.
        self.end_savepoint(false).await?;
        match is_in_order {
            true => self.one_by_one(&recorded).await,
            false => Err(numbered(error, at, recorded.len())),
        }
    }

    /// Runs statements between a savepoint and its end, all in one round trip unless they are the transaction's first.
    /// After a failure of one of them the savepoint is still there.
    async fn in_savepoint(&self, recorded: &[Recorded<'_>]) -> Result<Result<(), FailedAt>, Error> {
        if self.is_fresh() {
            // Its connection may turn out to be gone, and another be taken.
            self.savepoint().await?;
            let lease = self.lease()?;
            return match send(lease.connection(), recorded, Stake::Nothing, NO_ROWS).await {
                Ok(_) => self.end_savepoint(true).await.map(Ok),
                Err(failed) => Ok(Err(failed)),
            };
        }
        let lease = self.lease()?;
        let begin = self.send_savepoint(&lease)?;
        let ran = match steps(lease.connection(), recorded, NO_ROWS).await {
            Err(failed) => Err(failed),
            Ok(steps) => {
                let run = UnderWay::send(lease.connection(), Ask::Run(steps), Stake::Nothing);
                let end = self.send_release(&lease);
                let ran = results(&run, recorded.len()).await;
                // After the failure of a statement this fails as well, and changes nothing.
                let ended = end.over().await;
                match ran {
                    Ok(_) => Ok(self.released(&lease, ended)?),
                    Err(failed) => Err(failed),
                }
            }
        };
        begin
            .over()
            .await
            .map_err(|failure| failure.error("SAVEPOINT", None))?;
        Ok(ran)
    }

    /// Runs statements each after the one before: one of them may need a table that one before it makes.
    async fn one_by_one(&self, recorded: &[Recorded<'_>]) -> Result<(), Error> {
        self.savepoint().await?;
        for (at, one) in recorded.iter().enumerate() {
            if let Err(error) = self.exec(one.sql, one.params).await {
                self.end_savepoint(false).await?;
                return Err(numbered(error, at, recorded.len()));
            }
        }
        self.end_savepoint(true).await
    }
}

impl Client {
    /// Reads the statements of a batch, each of which must be permitted.
    pub(super) fn recorded<'a>(
        &self,
        statements: &'a [(String, Value)],
        permit: fn(Verb, &str) -> Result<(), Error>,
    ) -> Result<Vec<Recorded<'a>>, Error> {
        let mut recorded = Vec::with_capacity(statements.len());
        for (at, (sql, params)) in statements.iter().enumerate() {
            let statement = self.statements().get(sql);
            let statement = statement.and_then(|statement| {
                permit(statement.sql.verb, sql)?;
                Ok(statement)
            });
            let statement = statement.map_err(|error| numbered(error, at, statements.len()))?;
            recorded.push(Recorded {
                sql,
                params,
                statement,
            });
        }
        Ok(recorded)
    }

    /// Replaces statements that do not fit the schema any more.
    pub(super) fn renew(&self, recorded: &mut [Recorded<'_>], failure: &Failure) {
        if let Failure::Server { error, .. } = failure
            && error.is_stale()
        {
            for one in recorded {
                one.statement = self.statements().renew(one.sql, &one.statement);
            }
        }
    }
}

/// Reports whether a statement runs code that may leave something on the connection.
fn leaves_traces(one: &Recorded<'_>) -> bool {
    one.statement.sql.leaves_traces
}

/// Reports whether a statement could not be described because something is not there that an earlier one may make.
fn needs_order(failure: &Failure) -> bool {
    let Failure::Server { error, .. } = failure else {
        return false;
    };
    // Undefined table, column, function, schema, type, collation.
    matches!(
        &*error.sqlstate,
        "42P01" | "42703" | "42883" | "3F000" | "42704"
    )
}

/// Sends the statements of a batch together, and waits for their results.
pub(super) async fn send(
    connection: &Access,
    recorded: &[Recorded<'_>],
    stake: Stake,
    gather: Gather,
) -> Result<Vec<StepDone>, FailedAt> {
    let steps = steps(connection, recorded, gather).await?;
    let run = UnderWay::send(connection, Ask::Run(steps), stake);
    results(&run, recorded.len()).await
}

/// Returns the statements of a batch as they are sent. The server is asked for the types of those that are new.
async fn steps(
    connection: &Access,
    recorded: &[Recorded<'_>],
    gather: Gather,
) -> Result<Vec<Step>, FailedAt> {
    let mut steps = Vec::with_capacity(recorded.len());
    for (at, one) in recorded.iter().enumerate() {
        let shape = shape(connection, &one.statement)
            .await
            .map_err(|failure| (at, failure))?;
        let params = params::encode(&one.statement.sql, &shape.params, one.params, one.sql);
        steps.push(Step {
            statement: Rc::clone(&one.statement),
            shape,
            params: params.map_err(|error| (at, error.into()))?,
            gather,
        });
    }
    Ok(steps)
}

/// Waits for the results of the statements of a batch, which were sent.
async fn results(run: &UnderWay<'_>, count: usize) -> Result<Vec<StepDone>, FailedAt> {
    run.over().await.map_err(|failure| {
        let at = match &failure {
            Failure::Server { step, .. } => (*step).min(count - 1),
            _ => count - 1,
        };
        (at, failure)
    })?;
    Ok(run.take_done())
}

/// Tells which statement it was.
fn numbered(error: Error, at: usize, count: usize) -> Error {
    if count == 1 {
        return error;
    }
    let message = format!(
        "statement {} of {count} in the batch: {}",
        at + 1,
        error.message()
    );
    error.with_message(message)
}
