//! Transactions: a connection from BEGIN to COMMIT.

mod beginning;
mod copying;
mod savepoints;

pub use copying::{CopyError, CopyIn};

use super::pool::Lease;
use super::run::{UnderWay, run};
use super::{Done, PostgresClient, RowLimits, no_rows};
use crate::connection::exchange::{Ask, Exchange, Stake, StepDone};
use crate::connection::statement::Statement;
use crate::error::{Failure, is_parameter, refused};
use crate::limits::RERUNS_MAX;
use crate::sql::{Sql, Verb};
use sampan_host::{Error, Rows, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A transaction on a connection of its own. Dropping it rolls it back.
///
/// As in PostgreSQL everywhere, an error of a statement ends it: all that follows fails with the code `aborted`, but
/// within a savepoint, see [`PostgresTransaction::savepoint`].
pub struct PostgresTransaction {
    pub(super) client: PostgresClient,
    lease: RefCell<Option<Rc<Lease>>>,
    /// The BEGIN, whose answer comes with that of the first statement.
    begin: RefCell<Rc<Exchange>>,
    /// The number of times that it has begun anew, on another connection.
    beginnings: Cell<u32>,
    /// Held by the statement that begins it anew, while those that were sent with it wait.
    beginning: tokio::sync::Mutex<()>,
    /// No statement has succeeded or failed yet.
    is_fresh: Cell<bool>,
    /// The error that has ended it.
    aborted: RefCell<Option<String>>,
    savepoints: Cell<u32>,
    /// A statement may have changed the types of columns, which others see once it is committed.
    changes_types: Cell<bool>,
}

impl PostgresTransaction {
    pub(super) async fn begin(client: PostgresClient) -> Result<Self, Error> {
        let lease = client.0.pool.lease().await?;
        let (lease, begin) = beginning::begin_on(lease).await;
        Ok(Self {
            client,
            lease: RefCell::new(Some(lease)),
            begin: RefCell::new(begin),
            beginnings: Cell::new(0),
            beginning: tokio::sync::Mutex::default(),
            is_fresh: Cell::new(true),
            aborted: RefCell::default(),
            savepoints: Cell::new(0),
            changes_types: Cell::new(false),
        })
    }

    /// Returns the rows of a statement.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`]; `aborted` after an error in the transaction.
    pub async fn query(&self, sql: &str, params: &Value, limits: RowLimits) -> Result<Rows, Error> {
        let statement = self.client.0.statements().get(sql)?;
        let run = async |lease: &Lease| {
            let gather = limits.gather();
            run(
                lease.connection(),
                &statement,
                sql,
                params,
                gather,
                Stake::Nothing,
            )
            .await
        };
        let done = self.run_statement(&statement, sql, run).await?;
        Ok(done.rows.unwrap_or_else(no_rows))
    }

    /// Runs a statement, and tells what it changed.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn exec(&self, sql: &str, params: &Value) -> Result<Done, Error> {
        let statement = self.client.0.statements().get(sql)?;
        let run = async |lease: &Lease| {
            let (client, connection) = (&self.client.0, lease.connection());
            let execution = client.execution(connection, &statement, sql).await?;
            let (with_id, gather) = (&execution.statement, execution.gather);
            let ran = run(connection, with_id, sql, params, gather, Stake::Nothing).await;
            client.note(&execution.key, with_id, ran)
        };
        Ok(self.run_statement(&statement, sql, run).await?.into())
    }

    /// Runs a text of several statements without parameters. For migrations: the text is not checked.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn script(&self, sql: &str) -> Result<(), Error> {
        let attempt = async |lease: &Lease| {
            let ask = Ask::Script(sql.to_owned());
            let script = UnderWay::send(lease.connection(), ask, Stake::Nothing);
            script.over().await
        };
        self.attempts(sql, None, attempt).await
    }

    /// Reports whether no statement has succeeded or failed yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh.get()
    }

    /// Commits. After an error nothing of it is kept, but for
    /// [`COMMIT_UNKNOWN`](sampan_host::database::COMMIT_UNKNOWN), after which it may be.
    ///
    /// # Errors
    /// `aborted` if an earlier error has ended it; those of constraints that are checked now.
    pub async fn commit(self) -> Result<(), Error> {
        self.check("")?;
        let lease = self.lease()?;
        let ask = Ask::Control("COMMIT".to_owned());
        let commit = UnderWay::send(lease.connection(), ask, Stake::Commit);
        let committed = commit.over().await;
        let tag = commit.tag();
        drop(commit);
        if self.is_fresh.get() && self.begin_failure().is_some() {
            // There was nothing to commit.
            return Ok(());
        }
        committed.map_err(|failure| failure.error("COMMIT", None))?;
        self.lease.borrow_mut().take();
        match &*tag {
            "COMMIT" => {
                if self.changes_types.get() {
                    self.client.0.process.schema_changed();
                }
                Ok(())
            }
            _ => Err(aborted("an error in it was not reported", "COMMIT")),
        }
    }

    /// Rolls back, and waits until that is done. Dropping does the same without waiting.
    pub async fn rollback(self) {
        let lease = self.lease.borrow_mut().take();
        if let Some(lease) = lease {
            let _ = send_control(&lease, "ROLLBACK".to_owned()).over().await;
        }
    }

    pub(super) fn lease(&self) -> Result<Rc<Lease>, Error> {
        let lease = self.lease.borrow();
        lease.clone().ok_or_else(|| aborted("it is over", ""))
    }

    fn connection_is_there(&self) -> bool {
        let lease = self.lease.borrow();
        lease
            .as_ref()
            .is_some_and(|lease| !lease.connection().has_ended())
    }

    /// Reports an error if the transaction is over.
    fn check(&self, sql: &str) -> Result<(), Error> {
        match &*self.aborted.borrow() {
            Some(why) => Err(aborted(why, sql)),
            None => Ok(()),
        }
    }

    fn begin_failure(&self) -> Option<Failure> {
        self.begin.borrow().state.borrow_mut().failure.take()
    }

    pub(super) async fn run_statement(
        &self,
        statement: &Rc<Statement>,
        sql: &str,
        attempt: impl AsyncFn(&Lease) -> Result<StepDone, Failure>,
    ) -> Result<StepDone, Error> {
        permit(statement.sql.verb, sql)?;
        let leaves_traces = statement.sql.leaves_traces;
        let noting = async |lease: &Lease| {
            if leaves_traces {
                lease.note_traces();
            }
            attempt(lease).await
        };
        let done = self.attempts(sql, Some(&statement.sql), noting).await?;
        self.ran(&statement.sql);
        if statement.sql.verb == Verb::Local
            && let Ok(lease) = self.lease()
        {
            lease.connection().set_unlimited(true);
        }
        Ok(done)
    }

    /// Takes note of a statement that has run.
    pub(super) fn ran(&self, sql: &Sql) {
        self.client.0.ran(sql);
        if sql.changes_types {
            self.changes_types.set(true);
        }
    }

    /// Runs statements that control the transaction.
    async fn control(&self, sql: &str) -> Result<(), Error> {
        let attempt = async |lease: &Lease| send_control(lease, sql.to_owned()).over().await;
        self.attempts(sql, None, attempt).await
    }

    /// Makes an attempt; with a new transaction if the connection turns out to be gone and nothing was done on it.
    /// Statements that are sent together all go to the connection that is the transaction's in the end.
    pub(super) async fn attempts<T>(
        &self,
        sql: &str,
        parsed: Option<&Sql>,
        attempt: impl AsyncFn(&Lease) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        for _ in 0..RERUNS_MAX {
            self.check(sql)?;
            let Ok(lease) = self.lease() else {
                // Another statement begins it anew.
                drop(self.beginning.lock().await);
                continue;
            };
            let beginnings = self.beginnings.get();
            let ran = attempt(&lease).await;
            if self.beginnings.get() != beginnings {
                // What was done here is gone with the connection.
                continue;
            }
            if self.is_fresh.get() && lease.connection().has_ended() && ran.is_err() {
                drop(lease);
                self.begin_again(beginnings).await?;
                continue;
            }
            let is_done_without_rows = ran.as_ref().is_err_and(Failure::is_of_rows)
                && parsed.is_some_and(|parsed| !parsed.only_reads());
            let ran = ran.map_err(|failure| failure.error(sql, parsed));
            let settled = self.settled(&lease, ran, sql);
            if is_done_without_rows && let Err(error) = &settled {
                // The server goes on, but what the statement has done must not stay.
                *self.aborted.borrow_mut() = Some(error.message().to_owned());
            }
            return settled;
        }
        Err(aborted("connections are lost again and again", sql))
    }

    /// Begins on another connection, unless that has been done since it had begun so many times.
    async fn begin_again(&self, beginnings: u32) -> Result<(), Error> {
        let _turn = self.beginning.lock().await;
        if self.beginnings.get() != beginnings {
            return Ok(());
        }
        self.lease.borrow_mut().take();
        self.beginnings.set(beginnings + 1);
        let leased = self.client.0.pool.lease().await;
        let lease = leased.inspect_err(|error| {
            *self.aborted.borrow_mut() = Some(error.message().to_owned());
        })?;
        let (lease, begin) = beginning::begin_on(lease).await;
        *self.begin.borrow_mut() = begin;
        *self.lease.borrow_mut() = Some(lease);
        Ok(())
    }

    /// Takes note of how a statement ended.
    fn settled<T>(&self, lease: &Lease, ran: Result<T, Error>, sql: &str) -> Result<T, Error> {
        if let Some(failure) = self.begin_failure() {
            let error = failure.error("BEGIN", None);
            *self.aborted.borrow_mut() = Some(error.message().to_owned());
            return Err(error);
        }
        let is_gone = lease.connection().has_ended();
        // A statement whose parameters were refused was not sent, perhaps before BEGIN was answered.
        if !is_gone && ran.as_ref().is_err_and(is_parameter) {
            return ran;
        }
        self.is_fresh.set(false);
        let state = lease.connection().status();
        match &ran {
            Ok(_) if state == b'I' && !is_gone => {
                let why = "its SQL has ended it";
                *self.aborted.borrow_mut() = Some(why.to_owned());
                return Err(aborted(why, sql));
            }
            Err(error) if state != b'T' || is_gone => {
                let mut aborted_by = self.aborted.borrow_mut();
                // Of later statements the server says only that one before them has failed.
                let is_later = error.code() == Some("aborted");
                if let Some(why) = aborted_by.as_ref().filter(|_| is_later) {
                    return Err(aborted(why, sql));
                }
                *aborted_by = Some(error.message().to_owned());
            }
            _ => {}
        }
        ran
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.borrow_mut().take() {
            beginning::roll_back(lease);
        }
    }
}

fn send_control(lease: &Lease, sql: String) -> UnderWay<'_> {
    UnderWay::send(lease.connection(), Ask::Control(sql), Stake::Nothing)
}

/// Refuses what would end the transaction, or change the connection behind it.
pub(super) fn permit(verb: Verb, sql: &str) -> Result<(), Error> {
    match verb {
        Verb::Local => Ok(()),
        verb => super::permit(verb, sql),
    }
}

fn aborted(why: &str, sql: &str) -> Error {
    let message = format!("the transaction is over, and nothing of it is kept: {why}");
    refused("aborted", &message, sql)
}
