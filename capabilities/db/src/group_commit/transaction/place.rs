//! The open and waiting transactions of a worker: one request has one at a time.

use crate::group_commit::worker::WorkerDb;
use crate::group_commit::writer::Announced;
use crate::running::{self, RunningKind, RunningPlace};
use sampan_host::database::AppTables;
use sampan_host::{CurrentRun, Error, RunOwner};
use std::cell::RefCell;
use std::rc::Rc;

/// The place of a transaction among those of its worker, and among those who want to write.
pub(crate) struct TransactionPlace {
    pub(super) db: Rc<WorkerDb>,
    pub(super) running: RunningPlace,
    pub(super) announced: RefCell<Option<Announced>>,
}

impl TransactionPlace {
    /// Announces a transaction of the request that runs.
    ///
    /// # Errors
    /// The request has one already: the second would wait for the first, and the first perhaps for the second. Or it
    /// was given up, and may write nothing any more.
    pub(crate) fn new(db: &Rc<WorkerDb>) -> Result<Self, Error> {
        db.check_write()?;
        if db.has_own_transaction() {
            return Err(Error::script(running::SECOND));
        }
        let announced = db.database.open()?.writers.announce();
        let kind = RunningKind::Function;
        Ok(Self {
            db: Rc::clone(db),
            running: RunningPlace::new(&db.transactions, kind, db.current_owner()),
            announced: RefCell::new(Some(announced)),
        })
    }

    /// To be called before each use: the request that runs depends on this transaction from now on.
    pub(crate) fn note_use(&self) {
        self.running.note_use(self.db.current_owner());
    }
}

impl WorkerDb {
    pub(in crate::group_commit) fn current_owner(&self) -> Option<RunOwner> {
        self.meter.get().and_then(CurrentRun::owner)
    }

    /// Checks that the run that goes on may write.
    ///
    /// # Errors
    /// Its request was given up, and may write nothing any more.
    pub(in crate::group_commit) fn check_write(&self) -> Result<(), Error> {
        self.meter.get().map_or(Ok(()), CurrentRun::check_write)
    }

    /// Reports whether what the script writes now is recorded with its answer, in one commit.
    pub(in crate::group_commit) fn is_recorded_with_writes(&self) -> bool {
        let run = self.meter.get();
        run.is_some_and(CurrentRun::is_recorded_with_writes)
    }

    /// Reports whether the running request or other run has a transaction, open or waiting for its turn.
    pub(crate) fn has_own_transaction(&self) -> bool {
        self.transactions.has_own(self.current_owner())
    }

    /// Reports whether the run that goes on may have a transaction, open or waiting for its turn: a timer may have each
    /// of those that timers have.
    pub(crate) fn may_have_own_transaction(&self) -> bool {
        self.transactions.may_have_own(self.current_owner())
    }

    /// Returns the tables as the open transaction of the run that goes on now sees them, if it has one.
    pub(crate) fn own_transaction(&self) -> Option<Rc<dyn AppTables>> {
        self.transactions.tables(&self.current_owner()?)
    }

    /// Reports whether the running request or other run has an open transaction.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.transactions.is_within(self.current_owner())
    }

    /// Takes note that what the running request or run wrote was rolled back: it may go on, but sends nothing any more.
    pub(crate) fn note_lost(&self) {
        self.is_lost.set(true);
        if let Some(owner) = self.current_owner() {
            running::note_lost(&owner);
        }
    }

    /// Reports whether writes of a request or another run were rolled back while it goes on.
    pub(crate) fn has_lost(&self, owner: &RunOwner) -> bool {
        let is_now = || self.current_owner().is_some_and(|now| now.is(owner));
        running::has_lost(owner) || (self.is_lost.get() && is_now())
    }
}
