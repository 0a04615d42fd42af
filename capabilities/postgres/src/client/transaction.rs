//! Transactions: a connection from BEGIN to COMMIT.

use super::pool::Lease;
use super::run::{UnderWay, run};
use super::{Done, PostgresClient, RowLimits, no_rows};
use crate::connection::exchange::{Ask, Exchange, Stake, StepDone};
use crate::connection::statement::Statement;
use crate::error::{Failure, is_parameter, refused};
use crate::limits::RERUNS_MAX;
use crate::sql::{Sql, Verb};
use bytes::Bytes;
use sampan_host::{Error, ErrorKind, Rows, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A `COPY ... FROM STDIN`.
#[derive(Clone, Copy, Debug)]
pub struct CopyIn<'a> {
    /// The statement.
    pub sql: &'a str,
    /// The name of its table, without quotes.
    pub table: &'a str,
}

/// Rows that could not be added.
#[derive(Debug)]
pub struct CopyError {
    /// The reason.
    pub error: Error,
    /// The line that it is about, from 1, where the server tells it.
    pub line: Option<usize>,
}

/// A transaction on a connection of its own. Dropping it rolls it back.
///
/// As in PostgreSQL everywhere, an error of a statement ends it: all that follows fails with the code `aborted`, but
/// within a savepoint, see [`PostgresTransaction::savepoint`].
pub struct PostgresTransaction {
    pub(super) client: PostgresClient,
    lease: RefCell<Option<Rc<Lease>>>,
    /// The BEGIN, whose answer comes with that of the first statement.
    begin: RefCell<Rc<Exchange>>,
    /// No statement has succeeded or failed yet.
    is_fresh: Cell<bool>,
    /// The error that has ended it.
    aborted: RefCell<Option<String>>,
    savepoints: Cell<u32>,
}

impl PostgresTransaction {
    pub(super) async fn begin(client: PostgresClient) -> Result<Self, Error> {
        let lease = client.0.pool.lease().await?;
        let begin = send_begin(&lease);
        Ok(Self {
            client,
            lease: RefCell::new(Some(Rc::new(lease))),
            begin: RefCell::new(begin),
            is_fresh: Cell::new(true),
            aborted: RefCell::default(),
            savepoints: Cell::new(0),
        })
    }

    /// Returns the rows of a statement.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`]; `aborted` after an error in the transaction.
    pub async fn query(&self, sql: &str, params: &Value, limits: RowLimits) -> Result<Rows, Error> {
        let statement = self.client.0.statements.get(sql)?;
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
        let statement = self.client.0.statements.get(sql)?;
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
        self.control(sql).await
    }

    /// Adds rows to a table by a `COPY ... FROM STDIN`: `lines` are in its text format.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`], and the line that the error is about where the server tells it.
    pub async fn copy_in(&self, copy: CopyIn<'_>, lines: Vec<u8>) -> Result<(), CopyError> {
        let (sql, lines) = (copy.sql, Bytes::from(lines));
        let line = Cell::new(None);
        let attempt = async |lease: &Lease| {
            let ask = Ask::Copy {
                sql: sql.to_owned(),
                lines: lines.clone(),
            };
            let copying = UnderWay::send(lease.connection(), ask, Stake::Nothing);
            let over = copying.over().await;
            if let Err(Failure::Server { error, .. }) = &over {
                line.set(error.copied_line(copy.table));
            }
            over
        };
        let copied = self.attempts(sql, None, attempt).await;
        copied.map_err(|error| CopyError {
            error,
            line: line.get(),
        })
    }

    /// Makes a savepoint. They nest.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn savepoint(&self) -> Result<(), Error> {
        let depth = self.savepoints.get() + 1;
        self.control(&format!("SAVEPOINT sampan_{depth}")).await?;
        self.savepoints.set(depth);
        Ok(())
    }

    /// Ends the last savepoint. `keep` is false to undo what was done since, after which an error that happened since
    /// does not count.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn end_savepoint(&self, keep: bool) -> Result<(), Error> {
        let depth = self.savepoints.get();
        if depth == 0 {
            return Err(Error::new(ErrorKind::Internal, "there is no savepoint"));
        }
        let release = format!("RELEASE SAVEPOINT sampan_{depth}");
        if keep {
            self.control(&release).await?;
        } else {
            self.savepoints.set(depth - 1);
            if self.connection_is_there() {
                *self.aborted.borrow_mut() = None;
            }
            let undo = format!("ROLLBACK TO SAVEPOINT sampan_{depth}; {release}");
            return self.control(&undo).await;
        }
        self.savepoints.set(depth - 1);
        Ok(())
    }

    /// Reports whether no statement has succeeded or failed yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh.get()
    }

    /// Sends what makes a savepoint, without waiting. Not for a transaction that is fresh.
    pub(super) fn send_savepoint<'a>(&self, lease: &'a Lease) -> Result<UnderWay<'a>, Error> {
        self.check("")?;
        let depth = self.savepoints.get() + 1;
        self.savepoints.set(depth);
        Ok(send_control(lease, format!("SAVEPOINT sampan_{depth}")))
    }

    /// Sends what ends the last savepoint and keeps what was done since, without waiting.
    pub(super) fn send_release<'a>(&self, lease: &'a Lease) -> UnderWay<'a> {
        send_control(
            lease,
            format!("RELEASE SAVEPOINT sampan_{}", self.savepoints.get()),
        )
    }

    /// Takes note of the end of the last savepoint.
    pub(super) fn released(&self, lease: &Lease, ended: Result<(), Failure>) -> Result<(), Error> {
        self.savepoints.set(self.savepoints.get() - 1);
        let ended = ended.map_err(|failure| failure.error("RELEASE SAVEPOINT", None));
        self.settled(lease, ended, "")
    }

    /// Commits. After an error nothing of it is kept, but for
    /// [`COMMIT_UNKNOWN`](sampan_host::database::COMMIT_UNKNOWN), after which it may be.
    ///
    /// # Errors
    /// `aborted` if an earlier error has ended it; those of constraints that are checked now.
    pub async fn commit(self) -> Result<(), Error> {
        self.check("")?;
        let lease = self.lease()?;
        let ask = Ask::Script("COMMIT".to_owned());
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
            "COMMIT" => Ok(()),
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
        self.client.0.ran(statement.sql.verb);
        if statement.sql.verb == Verb::Local
            && let Ok(lease) = self.lease()
        {
            lease.connection().set_unlimited(true);
        }
        Ok(done)
    }

    /// Runs statements that control the transaction.
    async fn control(&self, sql: &str) -> Result<(), Error> {
        let attempt = async |lease: &Lease| send_control(lease, sql.to_owned()).over().await;
        self.attempts(sql, None, attempt).await
    }

    /// Makes an attempt; with a new transaction if the connection turns out to be gone and nothing was done on it.
    pub(super) async fn attempts<T>(
        &self,
        sql: &str,
        parsed: Option<&Sql>,
        attempt: impl AsyncFn(&Lease) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.check(sql)?;
        for _ in 0..RERUNS_MAX {
            let lease = self.lease()?;
            let ran = attempt(&lease).await;
            if self.is_fresh.get() && lease.connection().has_ended() && ran.is_err() {
                drop(lease);
                self.begin_again().await?;
                continue;
            }
            let ran = ran.map_err(|failure| failure.error(sql, parsed));
            return self.settled(&lease, ran, sql);
        }
        Err(aborted("connections are lost again and again", sql))
    }

    async fn begin_again(&self) -> Result<(), Error> {
        self.lease.borrow_mut().take();
        let lease = self.client.0.pool.lease().await?;
        *self.begin.borrow_mut() = send_begin(&lease);
        *self.lease.borrow_mut() = Some(Rc::new(lease));
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
        let Some(lease) = self.lease.borrow_mut().take() else {
            return;
        };
        if lease.connection().has_ended() {
            return;
        }
        // The connection is given back once it is rolled back.
        let undo = Exchange::new(Ask::Script("ROLLBACK".to_owned()), Stake::Nothing);
        lease.connection().send(&undo);
        drop(tokio::task::spawn_local(async move {
            let _ = undo.over().await;
            drop(lease);
        }));
    }
}

fn send_control(lease: &Lease, sql: String) -> UnderWay<'_> {
    UnderWay::send(lease.connection(), Ask::Script(sql), Stake::Nothing)
}

fn send_begin(lease: &Lease) -> Rc<Exchange> {
    let begin = Exchange::new(Ask::Script("BEGIN".to_owned()), Stake::Nothing);
    lease.connection().send(&begin);
    begin
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
