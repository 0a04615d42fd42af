//! Transactions of functions that wait: each has a connection for itself until its function has ended.
//!
//! It is rolled back when its function fails, when it is older than `transaction_millis_max`, and when it is dropped:
//! its request was given up. What its request answers meanwhile is held until it has ended.

use super::in_use::InUse;
use super::limits::{BATCH_STATEMENTS_MAX, TRANSACTION_BYTES_MAX};
use super::recording::{Encloses, OnSent, RecordedStatement, Recording};
use super::statement_room::StatementRoom;
use super::tables::ServerTables;
use super::topics::publishing;
use super::worker::PostgresWorker;
use crate::running::{self, RunningPlace};
use crate::sqlite::error::ErrorCode;
use sampan_host::carrier::Publication;
use sampan_host::database::{AppTables, TableResult, WaitingTables};
use sampan_host::{Error, ErrorKind, LocalFuture, Rows, RunOwner, Value, Verdict};
use sampan_postgres::{Done, PostgresTransaction, RowLimits};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{Notify, RwLock};
use tokio::task::AbortHandle;

/// A transaction.
pub(super) struct OpenTransaction {
    state: RefCell<TransactionState>,
    /// The batch whose function runs.
    pub(super) recording: RefCell<Recording>,
    /// Ends it when its time is up.
    timer: RefCell<Option<AbortHandle>>,
    /// Held by statements together, and by a batch alone: its savepoint would take in what is sent meanwhile.
    turns: RwLock<()>,
    /// Notified when a statement has ended.
    done: Rc<Notify>,
    /// Notified when its time is up: statements that are under way are given up.
    late: Notify,
    millis_max: u64,
    pub(super) place: RunningPlace,
    /// The tables of capabilities as the transaction sees them.
    tables: Rc<dyn AppTables>,
    /// The messages that are published with its commit.
    messages: RefCell<Vec<Publication>>,
    /// The room for its statements.
    pub(super) room: StatementRoom,
    /// The error of the last statement: the likely reason of a rollback.
    cause: RefCell<Option<Error>>,
}

impl Encloses for OpenTransaction {
    fn is_open_for(&self, owner: &RunOwner) -> bool {
        self.place.is_of(owner) && matches!(*self.state.borrow(), TransactionState::Open(_))
    }

    fn enclose(&self, message: &Publication) -> Result<(), Error> {
        let mut recording = self.recording.borrow_mut();
        match recording.is_open() {
            true => recording.publish(message),
            false => self.publish(vec![message.clone()]),
        }
    }
}

enum TransactionState {
    Open(Rc<PostgresTransaction>),
    Over(TransactionEnd),
}

/// The end of a transaction.
#[derive(Clone, Copy)]
enum TransactionEnd {
    /// The end that its function wanted.
    Done,
    /// The transaction took too long.
    TimedOut,
}

impl OpenTransaction {
    pub(super) async fn begin(
        db: &Rc<PostgresWorker>,
        place: RunningPlace,
    ) -> Result<Rc<Self>, Error> {
        let begun = db.client.begin().await?;
        let millis_max = db.database.config.transaction_millis_max;
        let transaction = Rc::new_cyclic(|transaction| Self {
            state: RefCell::new(TransactionState::Open(Rc::new(begun))),
            recording: RefCell::default(),
            timer: RefCell::default(),
            turns: RwLock::default(),
            done: Rc::default(),
            late: Notify::new(),
            millis_max,
            place,
            messages: RefCell::default(),
            room: StatementRoom::new(TRANSACTION_BYTES_MAX, "a transaction"),
            cause: RefCell::default(),
            tables: Rc::new(ServerTables(Rc::new(TransactionTables {
                db: Rc::clone(db),
                transaction: Weak::clone(transaction),
            }))),
        });
        let tables = Rc::downgrade(&transaction.tables);
        transaction.place.begun(Some(tables));
        db.note_transaction(Rc::downgrade(&transaction) as _);
        let timer = time_out(
            Rc::downgrade(&transaction),
            Duration::from_millis(millis_max),
        );
        let timer = tokio::task::spawn_local(timer);
        *transaction.timer.borrow_mut() = Some(timer.abort_handle());
        Ok(transaction)
    }

    /// To be called before each use by a script.
    pub(super) fn note_use(&self, db: &PostgresWorker) {
        self.place.note_use(db.owner());
    }

    /// Returns the transaction of the server, while it is open.
    fn open(&self) -> Result<InUse, Error> {
        match &*self.state.borrow() {
            TransactionState::Open(open) => Ok(InUse::new(open, &self.done)),
            TransactionState::Over(TransactionEnd::Done) => Err(Error::script(running::OVER)),
            TransactionState::Over(TransactionEnd::TimedOut) => Err(self.timed_out()),
        }
    }

    fn timed_out(&self) -> Error {
        ErrorCode::Timeout.error(
            ErrorKind::Timeout,
            format!(
                "the transaction took longer than transaction_millis_max ({} ms) and was rolled back",
                self.millis_max
            ),
        )
    }

    /// Fails where it is over.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.open().map(drop)
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        params: &Value,
        limits: RowLimits,
    ) -> Result<Rows, Error> {
        let open = self.open()?;
        self.together(open.query(sql, params, limits)).await
    }

    pub(super) async fn exec(&self, sql: &str, params: &Value) -> Result<Done, Error> {
        let open = self.open()?;
        self.together(open.exec(sql, params)).await
    }

    /// Runs a statement of a capability.
    pub(super) async fn run(
        &self,
        sql: &str,
        params: &Value,
    ) -> Result<Option<TableResult>, Error> {
        let open = self.open()?;
        self.together(open.run(sql, params)).await
    }

    /// Runs statements of a capability: all, or none.
    pub(super) async fn run_all(
        &self,
        statements: &[(String, Value)],
    ) -> Result<Option<Vec<TableResult>>, Error> {
        let open = self.open()?;
        self.alone(open.run_all(statements)).await
    }

    /// Runs the statements of a batch: all, or none.
    pub(super) async fn batch(&self, statements: &[RecordedStatement]) -> Result<(), Error> {
        if statements.is_empty() {
            return Ok(());
        }
        let open = self.open()?;
        self.alone(open.batch(statements)).await
    }

    /// Publishes messages with the commit.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn publish(&self, messages: Vec<Publication>) -> Result<(), Error> {
        let mut all = self.messages.borrow_mut();
        if all.len() + messages.len() > BATCH_STATEMENTS_MAX {
            return Err(Error::script(format!(
                "a transaction publishes at most {BATCH_STATEMENTS_MAX} messages"
            )));
        }
        all.extend(messages);
        Ok(())
    }

    /// Runs a statement, which others may be sent beside.
    async fn together<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.in_time(async {
            let _turn = self.turns.read().await;
            work.await
        })
        .await
    }

    /// Runs what has a savepoint, when no other statement is under way.
    async fn alone<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.in_time(async {
            let _turn = self.turns.write().await;
            work.await
        })
        .await
    }

    /// Waits for a statement, at most until the time of the transaction is up.
    async fn in_time<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let (mut work, mut late) = (pin!(work), pin!(self.late.notified()));
        let done = poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Pending => late.as_mut().poll(cx).map(|()| Err(self.timed_out())),
            ready => ready,
        })
        .await;
        self.cause.replace(done.as_ref().err().cloned());
        done
    }

    /// Waits until no statement is under way: a script that does not await one has begun it before the end.
    async fn idle(&self) {
        let is_busy = || match &*self.state.borrow() {
            TransactionState::Open(open) => Rc::strong_count(open) > 1,
            TransactionState::Over(_) => false,
        };
        while is_busy() {
            self.done.notified().await;
        }
    }

    /// Ends it, if it is open.
    fn take(&self, end: TransactionEnd) -> Option<Rc<PostgresTransaction>> {
        let mut state = self.state.borrow_mut();
        if !matches!(*state, TransactionState::Open(_)) {
            return None;
        }
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
        match std::mem::replace(&mut *state, TransactionState::Over(end)) {
            TransactionState::Open(open) => Some(open),
            TransactionState::Over(_) => None,
        }
    }

    pub(super) async fn commit(&self, db: &PostgresWorker) -> Result<(), Error> {
        if !self.messages.borrow().is_empty() {
            // What was published before comes before it.
            db.database.carrier.flushed().await;
        }
        self.idle().await;
        if let Some((sql, params)) = publishing(&self.messages.take()) {
            self.exec(&sql, &params).await?;
        }
        let Some(open) = self.take(TransactionEnd::Done).and_then(Rc::into_inner) else {
            return self.check();
        };
        let committed = db.committing(open.commit()).await;
        match &committed {
            Ok(()) => self.place.outbox.settle(Verdict::Committed),
            Err(cause) => self.place.outbox.fail(cause),
        }
        committed
    }

    pub(super) async fn roll_back(&self) {
        if let Some(open) = self.take(TransactionEnd::Done) {
            match self.cause.take() {
                Some(cause) => self.place.outbox.fail(&cause),
                None => self.place.outbox.settle(Verdict::Failed),
            }
            // Else dropping the last use of it takes it back.
            if let Some(open) = Rc::into_inner(open) {
                open.rollback().await;
            }
        }
    }
}

/// The tables in an open transaction.
pub(super) struct TransactionTables {
    pub(super) db: Rc<PostgresWorker>,
    pub(super) transaction: Weak<OpenTransaction>,
}

impl TransactionTables {
    fn open(&self) -> Result<Rc<OpenTransaction>, Error> {
        let transaction = self.transaction.upgrade();
        let transaction = transaction.ok_or_else(|| Error::script(running::OVER))?;
        transaction.note_use(&self.db);
        Ok(transaction)
    }
}

impl WaitingTables for TransactionTables {
    fn run(&self, sql: &str, params: &Value) -> LocalFuture<Result<Option<TableResult>, Error>> {
        let (open, db) = (self.open(), Rc::clone(&self.db));
        let (sql, params) = (sql.to_owned(), params.clone());
        Box::pin(async move {
            let open = open?;
            db.timed(&sql, &params, open.run(&sql, &params)).await
        })
    }

    fn run_all(
        &self,
        statements: Vec<(String, Value)>,
    ) -> LocalFuture<Result<Option<Vec<TableResult>>, Error>> {
        let (open, db) = (self.open(), Rc::clone(&self.db));
        Box::pin(async move {
            let open = open?;
            let ran = open.run_all(&statements);
            db.timed_batch(&statements, ran).await
        })
    }

    fn record(&self, sql: &str, params: &Value, sent: OnSent) -> Result<bool, Error> {
        let open = self.open()?;
        open.recording.borrow_mut().add_if_open(sql, params, sent)
    }
}

/// Ends a transaction when its time is up.
async fn time_out(transaction: Weak<OpenTransaction>, time_max: Duration) {
    tokio::time::sleep(time_max).await;
    let Some(transaction) = transaction.upgrade() else {
        return;
    };
    // Not aborted with the timer.
    drop(transaction.timer.take());
    // Dropping it takes it back.
    if transaction.take(TransactionEnd::TimedOut).is_some() {
        transaction.place.outbox.fail(&transaction.timed_out());
        transaction.late.notify_waiters();
    }
}
