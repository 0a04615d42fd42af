//! The app's database as the rest of the server sees it: when a route may run, which answers depend on writes that are
//! not committed, and the tables that other capabilities keep there.

use crate::engine::HandlerId;
use crate::error::{Error, ErrorKind};
use crate::future::LocalFuture;
use crate::request::RequestView;
use crate::rows::Rows;
use crate::run::current_run::RunOwner;
use crate::run::outbox::Outbox;
use crate::value::Value;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::Duration;

/// The message of [`WorkerDatabase::lost`], unless more is known.
pub const LOST_WRITES: &str = "what this request wrote could not be committed";

/// The code of errors after which a commit may have happened or not. Clients are told of it, because trying again may
/// write twice.
pub const COMMIT_UNKNOWN: &str = "commit_unknown";

/// The observed use of the database by the handlers of one route, on all workers together.
#[derive(Debug, Default)]
pub struct RouteUse {
    writes: AtomicBool,
    may_write: AtomicBool,
    alone: AtomicBool,
    prepared: AtomicU8,
}

/// The use that a route's handlers make of what is read from a server before they run, see [`Preparation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreparedUse {
    /// No request has had any yet.
    Unknown,
    /// The handlers have not looked at it.
    Unused,
    /// The handlers have read it.
    Read,
    /// The handlers have read it, and taken what is given once.
    Taken,
}

impl RouteUse {
    /// Creates the use of a route that has not run yet. One whose method may write is treated as if it did: its first
    /// write would have to wait in place.
    pub fn new(may_write: bool) -> Self {
        Self {
            may_write: AtomicBool::new(may_write),
            ..Self::default()
        }
    }

    /// Reports whether the route has written, so it gets the write connection before it runs.
    #[inline]
    pub fn has_written(&self) -> bool {
        self.writes.load(Relaxed)
    }

    /// Reports whether the route is to be treated as one that writes.
    #[inline]
    pub fn is_expected_to_write(&self) -> bool {
        self.has_written() || self.may_write.load(Relaxed)
    }

    /// Reports whether the route has undone a transaction, so it runs in a group of its own.
    #[inline]
    pub fn runs_alone(&self) -> bool {
        self.alone.load(Relaxed)
    }

    /// Takes note of whether a run has written.
    #[inline]
    pub fn note(&self, wrote: bool) {
        if wrote && !self.writes.load(Relaxed) {
            self.writes.store(true, Relaxed);
        }
        if self.may_write.load(Relaxed) {
            self.may_write.store(false, Relaxed);
        }
    }

    /// Returns the use of what is prepared.
    pub fn prepared(&self) -> PreparedUse {
        match self.prepared.load(Relaxed) {
            0 => PreparedUse::Unknown,
            1 => PreparedUse::Unused,
            2 => PreparedUse::Read,
            _ => PreparedUse::Taken,
        }
    }

    /// Takes note of a use of what is prepared. A route that has made more of it keeps that.
    pub fn note_prepared(&self, seen: PreparedUse) {
        self.prepared.fetch_max(seen as u8, Relaxed);
    }

    /// Takes note of a run that has undone a transaction.
    pub fn note_undone(&self) {
        self.alone.store(true, Relaxed);
    }
}

/// Reads from a server what handlers then have without waiting.
pub trait Preparation {
    /// A handler of `route` is about to run. Returns the wait before it, if there is one. An error is kept for the
    /// handler that asks.
    fn before_handler(
        &self,
        request: &Rc<dyn RequestView>,
        route: &Arc<RouteUse>,
    ) -> Option<LocalFuture<()>>;
}

/// The database of one worker, as what runs handlers asks it.
pub trait WorkerDatabase {
    /// Returns the observed use of the database by a handler, for methods that only read or for others.
    fn route_use(&self, handler: HandlerId, is_safe: bool) -> Arc<RouteUse>;

    /// Reports whether a handler of this route may run at once. If not, see [`WorkerDatabase::acquire`].
    fn try_acquire(&self, route: &RouteUse) -> bool;

    /// Waits until a handler of this route may run without blocking its worker.
    ///
    /// # Errors
    /// The database cannot be written within `busy_millis_max`.
    fn acquire<'a>(
        &'a self,
        route: &'a RouteUse,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

    /// Reports whether a run for this route must wait before it goes on: it may write, and while transactions are open
    /// no worker waits in place.
    fn must_queue(&self, route: &RouteUse) -> bool;

    /// Waits until this worker owns the write connection, or cannot have it.
    ///
    /// # Errors
    /// The database cannot be written within `busy_millis_max`.
    fn writable(&self) -> LocalFuture<Result<(), Error>>;

    /// Takes note that the isolate was left, in a run for this route. Commits what should not wait, also where all
    /// others who could join the group wait for it already (`is_complete`). Returns the time that a commit took.
    fn left(&self, route: Option<&RouteUse>, is_complete: &dyn Fn() -> bool) -> Duration;

    /// Returns the number of groups of this worker that were lost so far. A run in which the number changes must not
    /// be answered as if its writes were there.
    fn losses(&self) -> u64;

    /// The error of a run whose writes are lost: [`ErrorKind::Unavailable`] where nothing can be written any more.
    fn lost(&self) -> Error {
        Error::new(ErrorKind::Internal, LOST_WRITES)
    }

    /// Reports whether a request of this worker has a transaction, open or waiting for its turn.
    fn has_transactions(&self) -> bool;

    /// Returns the open outboxes of the transactions on which the answer of a request depends, or what another run
    /// gives; `None` if one of them was rolled back.
    fn transactions_behind(&self, owner: &RunOwner) -> Option<Vec<Outbox>>;

    /// Returns the tables as the open transaction of the request or other run sees them that goes on now; `None` where
    /// it has none. What is written there is committed with it, or not at all.
    fn own_transaction(&self) -> Option<Rc<dyn AppTables>>;

    /// Reports whether writes of a request or another run were rolled back that it may go on as if they were there: it
    /// can answer with an error, and send nothing.
    fn has_lost(&self, owner: &RunOwner) -> bool;

    /// Reports whether the answer of a request may be rolled back with such a transaction, or was.
    fn may_be_rolled_back(&self, request: &Rc<dyn RequestView>) -> bool;

    /// Waits until no request of this worker has a transaction.
    fn without_transactions(&self) -> LocalFuture<()>;

    /// Notes that a project is being loaded on this worker or starts, or no longer.
    fn set_loading(&self, is_loading: bool);

    /// Commits what a project wrote while it was loaded.
    ///
    /// # Errors
    /// The writes could not be committed.
    fn finish_loading(&self) -> Result<(), Error>;
}

/// The tables that capabilities keep in the app's database, beside those of scripts. Statements take part in groups as
/// those of scripts do, but no route counts as one that writes because of them.
pub trait AppTables {
    /// Returns the reason for which a capability keeps nothing here whose statements cannot wait; `None` where it can.
    fn refusal(&self) -> Option<&'static str> {
        None
    }

    /// Returns the tables as a server keeps them, where every statement waits; `None` where statements run at once.
    fn waiting(&self) -> Option<Rc<dyn WaitingTables>> {
        None
    }

    /// Returns the rows of a statement that reads, as this worker's requests see them; `None` where it names a table
    /// that is not there.
    ///
    /// # Errors
    /// The database's own.
    fn read(&self, sql: &str, params: &Value) -> Result<Option<Rows>, Error>;

    /// Joins the open group of writes or begins one, so that no other worker writes between what is read and written
    /// now.
    ///
    /// # Errors
    /// It cannot be begun. Of kind [`ErrorKind::TooLong`](crate::ErrorKind::TooLong) where it would have to wait for
    /// the write connection: try again after [`AppTables::writable`].
    fn begin(&self) -> Result<(), Error>;

    /// Begins as [`AppTables::begin`] does, but waits in place for the write connection, as the first write of a route
    /// does.
    ///
    /// # Errors
    /// It cannot be begun, or had to wait for a transaction.
    fn begin_in_place(&self) -> Result<(), Error>;

    /// Takes note that the script has asked for a write: the route of the run that goes on counts as one that writes,
    /// so that it waits for the write connection before it runs. For functions that cannot wait.
    fn note_write(&self) {}

    /// Runs a statement that writes, in the open group or a new one. Returns the number of rows that it changed; `None`
    /// where it names a table that is not there.
    ///
    /// # Errors
    /// The database's own, and those of [`AppTables::begin`].
    fn write(&self, sql: &str, params: &Value) -> Result<Option<i64>, Error>;

    /// Runs `work`, whose statements are kept together or not at all: where it fails, the other writes of the group go
    /// on as if it had not run.
    ///
    /// # Errors
    /// Those of `work`, and those of [`AppTables::begin`]. Nothing is kept then. Tables whose statements wait have no
    /// implementation of their own: see [`WaitingTables::run_all`].
    fn atomically(&self, _work: Box<dyn FnOnce() -> Result<(), Error> + '_>) -> Result<(), Error> {
        let text = "statements that wait are not kept together here";
        Err(Error::new(ErrorKind::Internal, text))
    }

    /// Waits until a write need not wait in place.
    ///
    /// # Errors
    /// The database cannot be written within `busy_millis_max`.
    fn writable(&self) -> LocalFuture<Result<(), Error>>;

    /// Tells all processes that [hear](AppTables::hear) that something was committed which concerns them. It costs one
    /// system call. Nothing happens where statements wait: see [`WaitingTables::listen`].
    fn ring(&self) {}

    /// Calls `heard` once it listens, and whenever a process has rung, also this one. Ends at once where rings do not
    /// come: so callers also look now and then.
    fn hear(&self, _heard: Box<dyn Fn()>) -> LocalFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

/// The result of a statement of a capability.
#[derive(Clone)]
pub struct TableResult {
    /// The rows that it gives.
    pub rows: Rows,
    /// The number of rows that it changed.
    pub changes: i64,
}

/// A table of the server's own in a database on a server, and the statements of one transaction that make it and those
/// that belong to it.
#[derive(Clone, Copy, Debug)]
pub struct OwnTable {
    /// The table.
    pub name: &'static str,
    /// A column that the table of an earlier release lacks: the statements add it.
    pub column: Option<&'static str>,
    /// The statements. They change nothing where all is there.
    pub statements: &'static [&'static str],
}

/// The tables of capabilities on a database server: every statement waits. Parameters are `?`, `$1` or `:name`, as in
/// the statements of scripts.
pub trait WaitingTables {
    /// Runs a statement, which is committed when the future ends; that of an open transaction with it. `None` where it
    /// names a table that is not there.
    ///
    /// An answer or a message of the run that goes on leaves no earlier than that, unless the statement begins with
    /// SELECT.
    ///
    /// # Errors
    /// The database's own.
    fn run(&self, sql: &str, params: &Value) -> LocalFuture<Result<Option<TableResult>, Error>>;

    /// Runs several statements as one transaction, in one round trip once the server has described them. `None` where
    /// one of them names a table that is not there: then nothing is kept.
    ///
    /// # Errors
    /// The database's own.
    fn run_all(
        &self,
        statements: Vec<(String, Value)>,
    ) -> LocalFuture<Result<Option<Vec<TableResult>>, Error>>;

    /// Records a statement where the function of `db.batch` or `tx.batch` runs: it is sent with those of the batch.
    /// `sent` is called when that has succeeded. False where none runs; then nothing was done.
    ///
    /// # Errors
    /// The run that goes on has a transaction open and must use that, or the batch has too many statements.
    fn record(&self, sql: &str, params: &Value, sent: Box<dyn FnOnce()>) -> Result<bool, Error>;

    /// Listens to notifications of a channel, on a connection of its own. `heard` is called once it does, and whenever
    /// one has come. Ends where notifications do not come, as through a pooler of connections.
    ///
    /// # Errors
    /// The connection was lost, or cannot be made.
    fn listen(&self, _channel: &str, _heard: Box<dyn Fn()>) -> LocalFuture<Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs a statement as [`WaitingTables::run`] does, but blocks the thread, on a connection of its own.
    ///
    /// # Errors
    /// The database's own. An open transaction cannot be waited for: it has no implementation of its own.
    fn run_in_place(&self, _sql: &str, _params: &Value) -> Result<Option<TableResult>, Error> {
        let text = "a transaction cannot be waited for in place";
        Err(Error::new(ErrorKind::Internal, text))
    }
}
