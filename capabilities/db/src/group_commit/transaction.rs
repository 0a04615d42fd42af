//! Transactions of functions that wait: one request has the write connection for itself, outside of any group, until
//! its function has ended.
//!
//! A transaction takes its turn with the [`WriterHandover`](crate::group_commit::writer::WriterHandover) like a group.
//! While one is open or waits for its turn, no worker waits for the connection in place: the one who has it may need
//! this very thread to go on. What its request answers meanwhile is held until it has ended; all others read what is
//! committed.
//!
//! It is rolled back when its function fails, when it is older than `transaction_millis_max`, and when it is dropped:
//! its request was given up.

mod place;

pub(crate) use place::TransactionPlace;

use crate::api::TRANSACTION;
use crate::config::DatabaseConfig;
use crate::group_commit::acquire::{RETRY_MILLIS, busy, has_log_room, refusal};
use crate::group_commit::commit_thread::PendingCommit;
use crate::group_commit::writer::Refused;
use crate::sql_policy::authorizer::is_schema_change;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, StatementError};
use crate::sqlite::run::RunLimits;
use sampan_host::database::AppTables;
use sampan_host::{Error, ErrorKind, Verdict};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// A transaction.
pub(crate) struct Transaction {
    state: RefCell<TransactionState>,
    since: Cell<Instant>,
    /// The number of batches that are open.
    depth: Cell<u32>,
    /// The number of effects that its outbox held when each of them began.
    held_before: RefCell<Vec<usize>>,
    changes_schema: Cell<bool>,
    /// Ends it when its time is up.
    timer: RefCell<Option<AbortHandle>>,
    /// The error of the last statement, or of the commit: the likely reason of a rollback.
    cause: RefCell<Option<Error>>,
    place: TransactionPlace,
}

enum TransactionState {
    Open(Box<SqliteConnection>),
    /// The commit is on its way on a thread of its own.
    Committing(PendingCommit),
    Over(TransactionEnd),
}

/// The end of a transaction.
#[derive(Clone, Copy)]
enum TransactionEnd {
    /// The end that its function wanted.
    Done,
    /// The transaction took too long.
    TimedOut,
    /// A statement undid it.
    Undone,
}

impl TransactionEnd {
    /// Returns the error for a later use of the transaction.
    fn error(self, config: &DatabaseConfig) -> Error {
        match self {
            Self::Done => TRANSACTION.is_over(),
            Self::TimedOut => ErrorCode::Timeout.error(
                ErrorKind::Timeout,
                format!(
                    "the transaction took longer than transaction_millis_max ({} ms) and was rolled back",
                    config.transaction_millis_max
                ),
            ),
            Self::Undone => ErrorCode::Aborted.error(
                ErrorKind::Script,
                "an earlier error undid the transaction: nothing of it is kept",
            ),
        }
    }
}

impl Transaction {
    /// Takes the connection when it is its turn, and begins.
    pub(crate) async fn begin(place: TransactionPlace) -> Result<Rc<Self>, Error> {
        let db = Rc::clone(&place.db);
        let opened = db.database.open()?;
        let until = Instant::now() + Duration::from_millis(opened.config.busy_millis_max);
        has_log_room(opened, until).await?;
        let writer = opened.writers.take().await.map_err(|why| refusal(&why))?;
        // From here on dropping it gives the connection back.
        let transaction = Rc::new(Self {
            state: RefCell::new(TransactionState::Open(writer)),
            since: Cell::new(Instant::now()),
            depth: Cell::new(0),
            held_before: RefCell::default(),
            changes_schema: Cell::new(false),
            timer: RefCell::default(),
            cause: RefCell::default(),
            place,
        });
        let mut pause = RETRY_MILLIS.0;
        while !transaction.has_begun()? {
            if Instant::now() >= until {
                return Err(busy("another process holds its lock"));
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
            pause = (pause * 2).min(RETRY_MILLIS.1);
        }
        let is_there = match &*transaction.state.borrow() {
            TransactionState::Open(writer) => opened.file_is_there(Some(writer)),
            _ => true,
        };
        if !is_there {
            return Err(refusal(&Refused::Gone));
        }
        transaction.since.set(Instant::now());
        let tables: Weak<dyn AppTables> = Rc::<Self>::downgrade(&transaction);
        transaction.place.running.begun(Some(tables));
        let timer = tokio::task::spawn_local(time_out(Rc::downgrade(&transaction), {
            Duration::from_millis(opened.config.transaction_millis_max)
        }));
        *transaction.timer.borrow_mut() = Some(timer.abort_handle());
        Ok(transaction)
    }

    /// Begins; not while another process holds the lock.
    fn has_begun(&self) -> Result<bool, Error> {
        match self.control("BEGIN IMMEDIATE") {
            Ok(()) => Ok(true),
            Err(fault) if fault.code == ErrorCode::Busy => Ok(false),
            Err(fault) => Err(self.examine(fault)),
        }
    }

    fn config(&self) -> &DatabaseConfig {
        &self.place.db.database.config
    }

    /// Fails with the reason why it cannot be used, if it cannot.
    fn check(&self) -> Result<(), Error> {
        match &*self.state.borrow() {
            TransactionState::Open(_) => Ok(()),
            TransactionState::Committing(_) => Err(TransactionEnd::Done.error(self.config())),
            TransactionState::Over(ending) => Err(ending.error(self.config())),
        }
    }

    /// To be called before each use by a script.
    pub(crate) fn note_use(&self) {
        self.place.note_use();
    }

    /// To be called when its function has ended.
    pub(crate) fn note_end(&self) {
        self.place.running.has_ended.set(true);
    }

    /// Runs a statement in it.
    pub(crate) fn run<T>(
        &self,
        sql: &str,
        first_only: bool,
        work: impl FnOnce(&SqliteConnection, &RunLimits<'_>) -> Result<T, StatementError>,
    ) -> Result<T, Error> {
        let config = self.config();
        let time_max = Duration::from_millis(config.transaction_millis_max);
        let left = time_max.saturating_sub(self.since.get().elapsed());
        if left.is_zero() {
            self.end(TransactionEnd::TimedOut);
        }
        self.check()?;
        let write_max = Duration::from_millis(config.write_millis_max);
        let is_last = left < write_max;
        let limits = RunLimits {
            limit: Some(left.min(write_max)),
            must_stop: Some(&self.place.db.watch),
            first_only,
            result_bytes_max: config.result_bytes_max,
            limit_name: if is_last {
                "transaction_millis_max"
            } else {
                "write_millis_max"
            },
        };
        let result = match &*self.state.borrow() {
            TransactionState::Open(writer) => work(writer, &limits),
            _ => return Err(TRANSACTION.is_over()),
        };
        self.changes_schema
            .set(self.changes_schema.get() || is_schema_change(sql));
        let error = match result {
            Ok(done) => {
                self.cause.take();
                return Ok(done);
            }
            Err(fault) => self.examine(fault),
        };
        if error.kind() != ErrorKind::TooLong {
            return Err(error);
        }
        if is_last {
            self.end(TransactionEnd::TimedOut);
            self.check()?;
        }
        // It cannot be done again elsewhere, as a read outside of a transaction can.
        Err(error.with_kind(ErrorKind::Script))
    }

    /// After an error: whether SQLite has undone the transaction with it.
    fn examine(&self, fault: StatementError) -> Error {
        self.cause.replace(Some(fault.error.clone()));
        let is_gone = match &*self.state.borrow() {
            TransactionState::Open(writer) => !writer.in_transaction(),
            _ => false,
        };
        if is_gone && let Some(writer) = self.take(TransactionEnd::Undone) {
            self.over(Verdict::Failed, |opened| opened.take_back(writer, &fault));
        }
        fault.error
    }

    /// A statement of our own.
    fn control(&self, sql: &str) -> Result<(), StatementError> {
        match &*self.state.borrow() {
            TransactionState::Open(writer) => writer.control(sql),
            _ => Ok(()),
        }
    }

    /// Begins a batch.
    pub(crate) fn enter_batch(&self) -> Result<(), Error> {
        self.check()?;
        let depth = self.depth.get() + 1;
        self.control(&format!("SAVEPOINT batch{depth}"))
            .map_err(|fault| self.examine(fault))?;
        self.depth.set(depth);
        self.held_before
            .borrow_mut()
            .push(self.place.running.outbox.held());
        Ok(())
    }

    /// Ends the innermost batch: keeps what it did, or takes it back.
    pub(crate) fn leave_batch(&self, keep: bool) -> Result<(), Error> {
        let depth = self.depth.get();
        self.depth.set(depth.saturating_sub(1));
        let held_before = self.held_before.borrow_mut().pop();
        if let Err(error) = self.check() {
            return if keep { Err(error) } else { Ok(()) };
        }
        let undone = if keep {
            Ok(())
        } else {
            if let Some(count) = held_before {
                self.place.running.outbox.take_back(count);
            }
            self.control(&format!("ROLLBACK TO batch{depth}"))
        };
        undone
            .and_then(|()| self.control(&format!("RELEASE batch{depth}")))
            .map_err(|fault| self.examine(fault))
    }

    /// Takes the connection out of an open transaction, which ends.
    fn take(&self, ending: TransactionEnd) -> Option<Box<SqliteConnection>> {
        let mut state = self.state.borrow_mut();
        if !matches!(*state, TransactionState::Open(_)) {
            return None;
        }
        match std::mem::replace(&mut *state, TransactionState::Over(ending)) {
            TransactionState::Open(writer) => Some(writer),
            _ => None,
        }
    }

    /// The connection goes on to the next, and what was held hears the verdict.
    fn over(&self, verdict: Verdict, give_back: impl FnOnce(&crate::database::Opened)) {
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
        if let Some(opened) = self.place.db.database.opened() {
            give_back(opened);
        }
        drop(self.place.announced.take());
        let outbox = &self.place.running.outbox;
        match self.cause.take() {
            Some(cause) if verdict == Verdict::Failed => outbox.fail(&cause),
            _ => outbox.settle(verdict),
        }
    }

    fn end(&self, ending: TransactionEnd) {
        if let Some(writer) = self.take(ending) {
            if let TransactionEnd::TimedOut = ending {
                self.cause.replace(Some(ending.error(self.config())));
            }
            self.over(Verdict::Failed, |opened| opened.roll_back(writer));
        }
    }

    /// Takes back what it did.
    pub(crate) fn roll_back(&self) {
        self.end(TransactionEnd::Done);
    }

    /// Commits it, here or on the commit thread, as fast disks and slow ones want it.
    pub(crate) async fn commit(&self) -> Result<(), Error> {
        let db = &self.place.db;
        self.check()?;
        if let Err(error) = db.check_write() {
            self.roll_back();
            return Err(error);
        }
        let (Some(writer), Some(opened)) = (self.take(TransactionEnd::Done), db.database.opened())
        else {
            return Err(TRANSACTION.is_over());
        };
        if !db.latency.is_slow() {
            let began = Instant::now();
            let result = writer.commit();
            return self.conclude(writer, result, began.elapsed());
        }
        let outcome = opened.thread.commit(writer);
        *self.state.borrow_mut() = TransactionState::Committing(outcome);
        let committed = poll_fn(|cx| match &*self.state.borrow() {
            TransactionState::Committing(outcome) => outcome.poll(cx).map(Some),
            _ => Poll::Ready(None),
        });
        let Some((writer, result, took)) = committed.await else {
            return Err(TRANSACTION.is_over());
        };
        *self.state.borrow_mut() = TransactionState::Over(TransactionEnd::Done);
        self.conclude(writer, result, took)
    }

    /// Acts on the result of the commit.
    fn conclude(
        &self,
        writer: Box<SqliteConnection>,
        result: Result<(), StatementError>,
        took: Duration,
    ) -> Result<(), Error> {
        let db = &self.place.db;
        db.latency.note(took);
        match result {
            Ok(()) => {
                self.over(Verdict::Committed, |opened| {
                    if self.changes_schema.get() {
                        opened.look_at_schema(&writer);
                    }
                    db.database.committed(opened, writer);
                });
                Ok(())
            }
            Err(fault) => {
                self.cause.replace(Some(fault.error.clone()));
                self.over(Verdict::Failed, |opened| opened.take_back(writer, &fault));
                if fault.code == ErrorCode::ForeignKey {
                    return Err(fault.code.error(
                        ErrorKind::Script,
                        "FOREIGN KEY constraint failed at the end of db.transaction",
                    ));
                }
                let text = format!("a commit failed: {}", fault.error.message());
                let file = self.config().path.display();
                db.database
                    .report(&format!("{file}: {text}; a transaction was rolled back"));
                Err(fault.code.error(ErrorKind::Internal, text))
            }
        }
    }
}

/// Ends a transaction when its time is up.
async fn time_out(transaction: Weak<Transaction>, time_max: Duration) {
    tokio::time::sleep(time_max).await;
    if let Some(transaction) = transaction.upgrade() {
        transaction.end(TransactionEnd::TimedOut);
    }
}

impl Drop for Transaction {
    /// Its caller has gone. A commit that is on its way is waited for: the connection must come back.
    fn drop(&mut self) {
        self.end(TransactionEnd::Done);
        let over = TransactionState::Over(TransactionEnd::Done);
        if let TransactionState::Committing(outcome) = self.state.replace(over) {
            let (writer, result, took) = outcome.wait();
            let _ = self.conclude(writer, result, took);
        }
    }
}
