//! PostgreSQL as one worker has it.

use super::database::PostgresDatabase;
use super::limits::STATEMENTS_BYTES_MAX;
use super::recording::{Encloses, OnSent, RecordedStatement, Recording, batch_text};
use super::statement_room::StatementRoom;
use super::tables::ServerTables;
use crate::running::{self, Running, RunningKind, RunningPlace};
use crate::sqlite::error::ErrorCode;
use sampan_host::database::{AppTables, RouteUse, TableResult, WaitingTables, WorkerDatabase};
use sampan_host::metrics::{Histogram, Registry, known};
use sampan_host::{
    CurrentRun, Error, ErrorKind, HandlerId, LocalFuture, Outbox, RequestView, RunOwner, Value,
    Verdict,
};
use sampan_postgres::PostgresClient;
use std::cell::{Cell, OnceCell, RefCell};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// PostgreSQL as one worker sees it.
#[derive(Clone)]
pub struct PostgresDb(pub(super) Rc<PostgresWorker>);

pub(super) struct PostgresWorker {
    pub(super) database: Arc<PostgresDatabase>,
    pub(super) client: PostgresClient,
    /// The observer of the durations of statements, if there is one.
    meter: OnceCell<CurrentRun>,
    /// The times of commits, if they are measured.
    commits: OnceCell<Histogram>,
    /// The batch whose function runs.
    pub(super) recording: RefCell<Recording>,
    /// Transactions of requests that are open, and statements that a request has begun and does not wait for.
    pub(super) running: Rc<Running>,
    /// Those transactions, for the messages that are published with them.
    transactions: RefCell<Vec<Weak<dyn Encloses>>>,
    /// True while a project is being loaded or starts.
    is_loading: Cell<bool>,
    /// The room for statements outside of transactions.
    pub(super) room: StatementRoom,
}

impl PostgresDb {
    /// The worker's view of `database`.
    pub(crate) fn new(database: &Arc<PostgresDatabase>) -> Self {
        Self(Rc::new(PostgresWorker {
            client: database.server.client(),
            database: Arc::clone(database),
            meter: OnceCell::new(),
            commits: OnceCell::new(),
            recording: RefCell::default(),
            running: Rc::default(),
            transactions: RefCell::default(),
            is_loading: Cell::new(false),
            room: StatementRoom::new(STATEMENTS_BYTES_MAX, "a worker"),
        }))
    }

    /// Returns the tables of capabilities.
    pub(crate) fn tables(&self) -> Rc<dyn AppTables> {
        Rc::new(ServerTables(Rc::new(WorkerTables(Rc::clone(&self.0)))))
    }

    /// Tells `run` from now on how long statements take, if it measures.
    pub(crate) fn measure(&self, run: CurrentRun) {
        let _ = self.0.meter.set(run);
    }

    /// Measures commits from now on.
    pub(crate) fn measure_commits(&self, registry: &Registry) {
        let family = registry.known(&known::COMMIT_SECONDS);
        let _ = self.0.commits.set(registry.histogram(&family, &[]));
    }
}

impl PostgresWorker {
    pub(super) fn owner(&self) -> Option<RunOwner> {
        self.meter.get().and_then(CurrentRun::owner)
    }

    /// Reports whether nothing runs yet but the top level of a project that is being loaded.
    pub(super) fn is_at_top_level(&self) -> bool {
        self.is_loading.get() && self.owner().is_none()
    }

    /// Refuses writes of a request or another run beside its own open transaction, which may wait for each other.
    pub(super) fn check_outside(&self) -> Result<(), Error> {
        match self.running.is_within(self.owner()) {
            true => Err(ErrorCode::Denied.error(ErrorKind::Script, running::OUTSIDE)),
            false => Ok(()),
        }
    }

    /// Takes note of a transaction that is open.
    pub(super) fn note_transaction(&self, transaction: Weak<dyn Encloses>) {
        let mut transactions = self.transactions.borrow_mut();
        transactions.retain(|one| one.strong_count() > 0);
        transactions.push(transaction);
    }

    /// Returns the open transaction of a run.
    pub(super) fn transaction_of(&self, owner: &RunOwner) -> Option<Rc<dyn Encloses>> {
        let transactions = self.transactions.borrow();
        let mut open = transactions.iter().filter_map(Weak::upgrade);
        open.find(|one| one.is_open_for(owner))
    }

    /// Has the answer of the run that goes on wait for what is begun now, also where the script does not.
    pub(super) fn begin_statements(&self) -> RunningPlace {
        RunningPlace::new(&self.running, RunningKind::Statements, self.owner())
    }

    /// Checks that the run that goes on may write.
    ///
    /// # Errors
    /// Its request was given up, and may write nothing any more.
    pub(super) fn check_write(&self) -> Result<(), Error> {
        self.meter.get().map_or(Ok(()), CurrentRun::check_write)
    }

    /// Waits for a statement, whose time is the database's. A write fails where the request may write nothing any more.
    pub(super) async fn timed<T>(
        &self,
        sql: &str,
        params: &Value,
        wait: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let meter = self.meter.get();
        if let Err(error) = self.check_write()
            && !is_read(&self.client, sql)
        {
            return Err(error);
        }
        let begun = meter.and_then(CurrentRun::begin);
        let done = wait.await;
        if let Some(meter) = meter {
            let time = meter.end_waiting(begun);
            meter.ran(sql, params, begun);
            self.database.slow_statements.note(sql, time);
        }
        done
    }

    /// Waits for the end of a transaction, whose time is that of a commit.
    pub(super) async fn committing<T>(&self, wait: impl Future<Output = T>) -> T {
        let commits = self.commits.get();
        let begun = commits.map(|_| Instant::now());
        let done = wait.await;
        if let Some((commits, begun)) = commits.zip(begun) {
            commits.observe_time(begun.elapsed());
        }
        done
    }

    /// Waits for statements that are sent together, whose time is told as that of one.
    pub(super) async fn timed_batch<T>(
        &self,
        statements: &[RecordedStatement],
        wait: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match statements {
            [(sql, params)] => self.timed(sql, params, wait).await,
            [_, ..] if self.meter.get().and_then(CurrentRun::begin).is_some() => {
                let text = batch_text(statements);
                self.timed(&text, &Value::Null, wait).await
            }
            _ => {
                self.check_write()?;
                self.timed_all(wait).await
            }
        }
    }

    /// Waits for what is no statement of a script: the beginning of a transaction, and its end.
    pub(super) async fn timed_all<T>(&self, wait: impl Future<Output = T>) -> T {
        let meter = self.meter.get();
        let begun = meter.and_then(CurrentRun::begin);
        let done = wait.await;
        if let Some(meter) = meter {
            meter.end_waiting(begun);
        }
        done
    }
}

/// Tells those whose answers wait for statements how these have ended.
pub(super) fn settled<T>(place: Option<RunningPlace>, done: Result<T, Error>) -> Result<T, Error> {
    if let Some(place) = place {
        match &done {
            Ok(_) => place.outbox.settle(Verdict::Committed),
            Err(cause) => place.outbox.fail(cause),
        }
    }
    done
}

/// Reports whether a statement begins as one that only reads, and calls no function that may write.
pub(super) fn is_read(client: &PostgresClient, sql: &str) -> bool {
    let word = sql.trim_start().as_bytes().get(..6);
    word.is_some_and(|word| word.eq_ignore_ascii_case(b"select")) && client.only_reads(sql)
}

impl WorkerDatabase for PostgresDb {
    fn route_use(&self, handler: HandlerId, is_safe: bool) -> Arc<RouteUse> {
        self.0.database.route(handler, is_safe)
    }

    fn try_acquire(&self, _: &RouteUse) -> bool {
        true
    }

    fn acquire<'a>(
        &'a self,
        _: &'a RouteUse,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn must_queue(&self, _: &RouteUse) -> bool {
        false
    }

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn left(&self, _: Option<&RouteUse>, _: &dyn Fn() -> bool) -> Duration {
        let mut recording = self.0.recording.borrow_mut();
        if recording.is_open() {
            recording.clear();
        }
        Duration::ZERO
    }

    fn losses(&self) -> u64 {
        0
    }

    fn has_transactions(&self) -> bool {
        !self.0.running.is_empty()
    }

    fn transactions_behind(&self, owner: &RunOwner) -> Option<Vec<Outbox>> {
        self.0.running.behind(owner)
    }

    fn own_transaction(&self) -> Option<Rc<dyn AppTables>> {
        self.0.running.tables(&self.0.owner()?)
    }

    fn has_lost(&self, owner: &RunOwner) -> bool {
        running::has_lost(owner)
    }

    fn may_be_rolled_back(&self, request: &Rc<dyn RequestView>) -> bool {
        self.0.running.may_be_rolled_back(request)
    }

    fn without_transactions(&self) -> LocalFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn set_loading(&self, is_loading: bool) {
        self.0.is_loading.set(is_loading);
    }

    fn finish_loading(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The tables outside of transactions.
struct WorkerTables(Rc<PostgresWorker>);

impl WaitingTables for WorkerTables {
    fn run(&self, sql: &str, params: &Value) -> LocalFuture<Result<Option<TableResult>, Error>> {
        let (db, sql, params) = (Rc::clone(&self.0), sql.to_owned(), params.clone());
        let place = (!is_read(&db.client, &sql)).then(|| db.begin_statements());
        Box::pin(async move {
            let ran = db.timed(&sql, &params, db.client.run(&sql, &params)).await;
            settled(place, ran)
        })
    }

    fn run_all(
        &self,
        statements: Vec<(String, Value)>,
    ) -> LocalFuture<Result<Option<Vec<TableResult>>, Error>> {
        let db = Rc::clone(&self.0);
        let place = Some(db.begin_statements());
        Box::pin(async move {
            let ran = db.client.run_all(&statements);
            let ran = db.timed_batch(&statements, ran).await;
            settled(place, ran)
        })
    }

    fn record(&self, sql: &str, params: &Value, sent: OnSent) -> Result<bool, Error> {
        self.0.check_outside()?;
        self.0.recording.borrow_mut().add_if_open(sql, params, sent)
    }

    fn listen(&self, channel: &str, heard: Box<dyn Fn()>) -> LocalFuture<Result<(), Error>> {
        let server = Arc::clone(&self.0.database.server);
        let listen = format!("LISTEN {channel}");
        Box::pin(async move {
            // A pooler passes none on.
            if !server.config().prepare {
                return Ok(());
            }
            let bell = Arc::new(Notify::new());
            let session = server.session(Arc::clone(&bell)).await?;
            session.script(&listen).await?;
            heard();
            loop {
                bell.notified().await;
                if session.has_ended() {
                    let text = "the connection to PostgreSQL was lost";
                    return Err(Error::new(ErrorKind::Unavailable, text));
                }
                if session.take_heard() {
                    heard();
                }
            }
        })
    }

    fn run_in_place(&self, sql: &str, params: &Value) -> Result<Option<TableResult>, Error> {
        let (sql, params) = (sql.to_owned(), params.clone());
        let runs = async move |client: PostgresClient| client.run(&sql, &params).await;
        self.0.database.in_place(runs)
    }
}
