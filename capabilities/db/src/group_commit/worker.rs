//! The database as one worker has it: its connections, its group, and who waits for it.

use crate::database::Database;
use crate::group_commit::commit_latency::CommitLatency;
use crate::group_commit::commit_thread::PendingCommit;
use crate::group_commit::meters::CommitMeters;
use crate::group_commit::writer::Take;
use crate::read_pool::snapshot::Reads;
use crate::running::Running;
use crate::sqlite::connection::SqliteConnection;
use sampan_host::metrics::Registry;
use sampan_host::{CurrentRun, Error, ErrorKind, Outbox, Value, Watch};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// The database as one worker sees it.
#[derive(Clone)]
pub struct Db(pub(crate) Rc<WorkerDb>);

pub(crate) struct WorkerDb {
    pub(crate) database: Arc<Database>,
    pub(crate) outbox: Outbox,
    pub(crate) watch: Arc<Watch>,
    pub(crate) reader: OnceCell<SqliteConnection>,
    pub(crate) reads: Reads,
    pub(crate) group: RefCell<GroupState>,
    /// Savepoints that `batch` has open.
    pub(crate) depth: Cell<u32>,
    /// The number of effects that the outbox held when each of the open batches began.
    pub(crate) held_before: RefCell<Vec<usize>>,
    /// The transaction was undone while savepoints were open; nothing may be done until they are left.
    pub(crate) is_lost: Cell<bool>,
    /// Groups that were lost so far.
    pub(crate) losses: Cell<u64>,
    /// True if the run that goes on has written, and whether it undid a transaction.
    pub(crate) wrote: Cell<bool>,
    pub(crate) undid: Cell<bool>,
    pub(crate) behind: WritesBehind,
    /// True if the last commit failed.
    pub(crate) is_failing: Cell<bool>,
    pub(crate) latency: CommitLatency,
    /// The observer of the durations of statements, if there is one.
    pub(crate) meter: OnceCell<CurrentRun>,
    /// The measurements of commits, if there are any.
    pub(super) meters: OnceCell<CommitMeters>,
    /// Wakes [`Db::serve`].
    pub(crate) wake: tokio::sync::Notify,
    pub(crate) wanted: RefCell<Wanted>,
    pub(crate) fetching: RefCell<Fetch>,
    /// The transactions of this worker's requests that are open or wait for their turn.
    pub(crate) transactions: Rc<Running>,
    /// A project is being loaded or starts: no write may wait in place, as that would delay others.
    pub(crate) is_loading: Cell<bool>,
}

/// Writes of runs right behind their own transactions, in the turn in which such a transaction ends.
#[derive(Default)]
pub(crate) struct WritesBehind {
    /// True if a transaction has ended in the turn that goes on.
    has_ended: Cell<bool>,
    /// True if there was such a write on this worker.
    pub(crate) are_known: Cell<bool>,
}

impl WritesBehind {
    /// Takes note that a transaction has ended, and its run goes on.
    pub(crate) fn note_end(&self) {
        self.has_ended.set(true);
    }

    /// Takes note of a write.
    pub(crate) fn note_write(&self) {
        if self.has_ended.get() {
            self.are_known.set(true);
        }
    }

    /// Takes note that the turn has ended.
    pub(crate) fn note_left(&self) {
        self.has_ended.set(false);
    }
}

pub(crate) enum GroupState {
    Closed,
    Open(WriteGroup),
    /// The commit is on its way on a thread of its own.
    Committing(PendingCommit),
}

pub(crate) struct WriteGroup {
    pub(crate) writer: Box<SqliteConnection>,
    pub(super) since: Instant,
    /// Statements that wrote, or tried to.
    pub(crate) writes: Cell<u32>,
    /// True if [`Db::serve`] was told to commit it.
    pub(super) is_told: Cell<bool>,
}

/// Those who wait until their worker owns the write connection.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(super) wakers: Vec<Waker>,
    pub(crate) is_asked: bool,
    /// Counts the answers; the last one failed if there is an error.
    pub(super) round: u64,
    pub(super) failure: Option<Error>,
}

/// The worker's progress in fetching the connection. Kept where a first write finds it, which goes on from there in
/// place: a future that waits cannot move while its thread is blocked.
#[derive(Default)]
pub(crate) enum Fetch {
    #[default]
    Idle,
    Queued(Take),
    Owned(Box<SqliteConnection>),
}

impl Db {
    /// The worker's view of `database`. What depends on writes that are not committed is held by `outbox`; `watch`
    /// tells when a script must stop.
    pub fn new(database: Arc<Database>, outbox: Outbox, watch: Arc<Watch>) -> Self {
        Self(Rc::new(WorkerDb {
            database,
            outbox,
            watch,
            reader: OnceCell::new(),
            reads: Reads::default(),
            group: RefCell::new(GroupState::Closed),
            depth: Cell::new(0),
            held_before: RefCell::default(),
            is_lost: Cell::new(false),
            losses: Cell::new(0),
            wrote: Cell::new(false),
            undid: Cell::new(false),
            behind: WritesBehind::default(),
            is_failing: Cell::new(false),
            latency: CommitLatency::default(),
            meter: OnceCell::new(),
            meters: OnceCell::new(),
            wake: tokio::sync::Notify::new(),
            wanted: RefCell::default(),
            fetching: RefCell::default(),
            transactions: Rc::default(),
            is_loading: Cell::new(false),
        }))
    }

    /// Tells `run` from now on how long statements take, if it measures.
    pub fn measure(&self, run: CurrentRun) {
        let _ = self.0.meter.set(run);
    }

    /// Measures commits from now on.
    pub fn measure_commits(&self, registry: &Registry) {
        let _ = self.0.meters.set(CommitMeters::new(registry));
    }

    /// Runs something whose time is the database's.
    pub(crate) fn timed<T>(&self, run: impl FnOnce(&WorkerDb) -> T) -> T {
        let meter = self.0.meter.get();
        let begun = meter.and_then(CurrentRun::begin);
        let done = run(&self.0);
        if let Some(meter) = meter {
            meter.end(begun);
        }
        done
    }

    /// Runs a statement, which is counted. One that runs again elsewhere because it takes too long here, see
    /// [`Args::may_wait`](sampan_host::Args::may_wait), is counted there.
    pub(crate) fn timed_statement<T>(
        &self,
        sql: &str,
        params: &Value,
        may_wait: bool,
        run: impl FnOnce(&WorkerDb) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let meter = self.0.meter.get();
        let begun = meter.and_then(CurrentRun::begin);
        let done = run(&self.0);
        if let Some(meter) = meter {
            let time = meter.end(begun);
            let is_too_long = |error: &Error| error.kind() == ErrorKind::TooLong;
            if may_wait && done.as_ref().is_err_and(is_too_long) {
                return done;
            }
            meter.ran(sql, params, begun);
            self.0.database.slow_statements.note(sql, time);
        }
        done
    }
}
