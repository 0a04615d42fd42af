//! The way of a statement: its types, its parameters, its answers, and its errors in words.

use super::pool::{Access, Lease};
use super::{Client, use_of};
use crate::connection::exchange::{Ask, Exchange, Gather, Stake, Step, StepDone};
use crate::connection::statement::{Shape, Statement};
use crate::error::{Failure, ServerError};
use crate::limits::RERUNS_MAX;
use crate::types::params;
use crate::types::read::CellForms;
use sampan_host::{Error, Value};
use std::rc::Rc;

/// The part of a result that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// True for the first row alone.
    pub first_only: bool,
    /// The most bytes that the rows may take in memory.
    pub result_bytes_max: usize,
    /// The cells that are not text.
    pub forms: CellForms,
}

impl Default for RowLimits {
    fn default() -> Self {
        Self {
            first_only: false,
            result_bytes_max: 64 * 1024 * 1024,
            forms: CellForms::default(),
        }
    }
}

impl RowLimits {
    pub(crate) fn gather(self) -> Gather {
        Gather::Rows {
            first_only: self.first_only,
            bytes_max: self.result_bytes_max,
            forms: self.forms,
        }
    }
}

/// The effect of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The rows that it inserted, changed or deleted itself.
    pub changes: i64,
    /// The id of the row that it inserted last: its identity column, or its `serial` one; 0 if there is none.
    pub last_id: i64,
}

/// An exchange that its caller waits for. If the caller goes, the server need not go on.
pub(crate) struct UnderWay<'a> {
    exchange: Rc<Exchange>,
    connection: &'a Access,
}

impl<'a> UnderWay<'a> {
    pub(crate) fn send(connection: &'a Access, ask: Ask, stake: Stake) -> Self {
        let exchange = Exchange::new(ask, stake);
        connection.send(&exchange);
        Self {
            exchange,
            connection,
        }
    }

    pub(crate) async fn over(&self) -> Result<(), Failure> {
        self.exchange.over().await
    }

    pub(crate) fn take_done(&self) -> Vec<StepDone> {
        std::mem::take(&mut self.exchange.state.borrow_mut().done)
    }

    /// The words behind the end of the last statement.
    pub(crate) fn tag(&self) -> String {
        self.exchange.state.borrow().tag.clone()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.exchange.state.borrow().is_over {
            self.connection.abandon(&self.exchange);
        }
    }
}

impl Client {
    /// Runs an attempt on a shared connection, again where nothing came of it.
    pub(crate) async fn attempts<T>(
        &self,
        sql: &str,
        statement: &Statement,
        attempt: impl AsyncFn(Rc<Access>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let mut reruns = 0;
        loop {
            let attempted = match statement.sql.leaves_traces {
                true => {
                    let lease = self.pool.lease().await?;
                    lease.note_traces();
                    attempt(Rc::clone(lease.connection())).await
                }
                false => attempt(self.pool.shared(use_of(&statement.sql)).await?).await,
            };
            self.pool.give_up_idle();
            let failure = match attempted {
                Ok(done) => return Ok(done),
                // What is known of the statement by now is not asked for again.
                Err(Failure::Taken) => continue,
                Err(failure) => failure,
            };
            reruns += 1;
            let only_reads = statement.sql.only_reads();
            let may_again =
                may_run_again(&failure) || only_reads && matches!(failure, Failure::Changed);
            if reruns > RERUNS_MAX || !may_again {
                return Err(match only_reads {
                    true => failure.error(sql, Some(&statement.sql)),
                    false => failure.error_of_write(sql, &statement.sql),
                });
            }
        }
    }

    /// Runs a statement on a shared connection.
    pub(crate) async fn shared(
        &self,
        statement: &Rc<Statement>,
        sql: &str,
        params: &Value,
        gather: Gather,
    ) -> Result<StepDone, Error> {
        let stake = Stake::of(&statement.sql);
        let done = self
            .attempts(sql, statement, async |connection| {
                let current = self.statements().current(sql, statement);
                let ran = run(&connection, &current, sql, params, gather, stake).await;
                self.note(sql, &current, ran)
            })
            .await?;
        self.ran(&statement.sql);
        Ok(done)
    }

    /// Runs a text of statements on a connection of its own.
    pub(crate) async fn script_on(&self, lease: &Lease, sql: &str) -> Result<(), Error> {
        let ask = Ask::Script(sql.to_owned());
        let script = UnderWay::send(lease.connection(), ask, Stake::Commit);
        script
            .over()
            .await
            .map_err(|failure| failure.error(sql, None))
    }
}

/// Runs a statement on a connection.
pub(crate) async fn run(
    connection: &Access,
    statement: &Rc<Statement>,
    sql: &str,
    params: &Value,
    gather: Gather,
    stake: Stake,
) -> Result<StepDone, Failure> {
    let shape = shape(connection, statement).await?;
    let params = params::encode(&statement.sql, &shape.params, params, sql)?;
    let step = Step {
        statement: Rc::clone(statement),
        shape,
        params,
        gather,
    };
    let run = UnderWay::send(connection, Ask::Run(vec![step]), stake);
    run.over().await?;
    Ok(run.take_done().pop().unwrap_or_default())
}

/// Returns the types of a statement. The server is asked for them once for each worker.
pub(crate) async fn shape(
    connection: &Access,
    statement: &Rc<Statement>,
) -> Result<Rc<Shape>, Failure> {
    if let Some(shape) = &*statement.shape.borrow() {
        return Ok(Rc::clone(shape));
    }
    let ask = Ask::Describe(vec![Rc::clone(statement)]);
    let describing = UnderWay::send(connection, ask, Stake::Nothing);
    describing.over().await?;
    let described = describing.exchange.state.borrow_mut().described.pop();
    let Some((params, columns)) = described else {
        let message = "the server described no statement".to_owned();
        return Err(Failure::Lost(message));
    };
    let shape = Rc::new(Shape {
        params: params.into(),
        columns,
    });
    *statement.shape.borrow_mut() = Some(Rc::clone(&shape));
    Ok(shape)
}

/// Reports whether a statement outside of a transaction can be run again, as if it had not been.
pub(crate) fn may_run_again(failure: &Failure) -> bool {
    match failure {
        Failure::NotSent(_) | Failure::Hit => true,
        Failure::Server { error, .. } => {
            error.is_conflict() || error.is_stale() || is_shutdown(error)
        }
        _ => false,
    }
}

/// Reports whether the server ended the connection, which rolls back.
fn is_shutdown(error: &ServerError) -> bool {
    error.is_fatal && error.sqlstate.starts_with("57P")
}
