//! The open and waiting transactions of a worker: one request has one at a time.

use crate::group_commit::worker::{RunningTransaction, WorkerDb};
use crate::group_commit::writer::Announced;
use sampan_host::database::AppTables;
use sampan_host::{CurrentRun, Error, Fate, Outbox, RequestView, RunOwner, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// The transactions of others that a request or another run has used. In Lua there are none. In JavaScript the code of
/// one request can run in another's turn, and may have been given another's `tx`.
#[derive(Default)]
struct UsedTransactions(RefCell<Vec<(Outbox, Fate)>>);

/// Put into the store of a request or another run whose writes were rolled back while it goes on.
struct LostWrites;

/// The place of a transaction among those of its worker, and among those who want to write.
pub(crate) struct TransactionPlace {
    pub(super) db: Rc<WorkerDb>,
    pub(super) outbox: Outbox,
    owner: Option<RunOwner>,
    /// True if its function has ended.
    pub(super) has_ended: Cell<bool>,
    pub(super) has_begun: Rc<Cell<bool>>,
    pub(super) announced: RefCell<Option<Announced>>,
}

impl TransactionPlace {
    /// Announces a transaction of the request that runs.
    ///
    /// # Errors
    /// The request has one already: the second would wait for the first, and the first perhaps for the second.
    pub(crate) fn new(db: &Rc<WorkerDb>) -> Result<Self, Error> {
        if db.has_own_transaction() {
            return Err(Error::script(
                "db.transaction: this request has a transaction already: use its tx, or begin the next one after it",
            ));
        }
        let announced = db.database.open()?.writers.announce();
        let outbox = Outbox::default();
        outbox.open();
        let fate = outbox.fate().unwrap_or_default();
        let (has_begun, owner) = (Rc::default(), db.current_owner());
        db.transactions.borrow_mut().push(RunningTransaction {
            owner: owner.clone(),
            outbox: outbox.clone(),
            fate,
            has_begun: Rc::clone(&has_begun),
            tables: None,
        });
        Ok(Self {
            db: Rc::clone(db),
            outbox,
            owner,
            has_ended: Cell::new(false),
            has_begun,
            announced: RefCell::new(Some(announced)),
        })
    }

    /// Takes note that it is the transaction's turn.
    pub(super) fn begun(&self, tables: Weak<dyn AppTables>) {
        self.has_begun.set(true);
        let mut all = self.db.transactions.borrow_mut();
        if let Some(own) = all.iter_mut().find(|own| own.outbox.is(&self.outbox)) {
            own.tables = Some(tables);
        }
    }

    /// To be called before each use: the request that runs depends on this transaction from now on.
    pub(crate) fn note_use(&self) {
        let (Some(owner), Some(fate)) = (self.db.current_owner(), self.outbox.fate()) else {
            return;
        };
        if !self.owner.as_ref().is_some_and(|own| own.is(&owner)) {
            depend(&owner, &self.outbox, fate);
        }
    }
}

impl Drop for TransactionPlace {
    fn drop(&mut self) {
        self.db
            .transactions
            .borrow_mut()
            .retain(|running| !running.outbox.is(&self.outbox));
        // One that never began, or whose request was given up.
        self.outbox.settle(Verdict::Failed);
        let is_given_up = self.has_begun.get() && !self.has_ended.get();
        if is_given_up && let Some(owner) = &self.owner {
            // Its function may go on, and see that what it waits for is cancelled.
            owner.store().put(LostWrites);
        }
    }
}

/// Takes note that what a request or another run gives depends on a transaction.
fn depend(owner: &RunOwner, outbox: &Outbox, fate: Fate) {
    let store = owner.store();
    let used = store
        .get()
        .unwrap_or_else(|| store.put(UsedTransactions::default()));
    let mut used = used.0.borrow_mut();
    if !used.iter().any(|(known, _)| known.is(outbox)) {
        used.push((outbox.clone(), fate));
    }
}

impl RunningTransaction {
    fn is_of(&self, owner: &RunOwner) -> bool {
        self.owner.as_ref().is_some_and(|own| own.is(owner))
    }
}

impl WorkerDb {
    fn current_owner(&self) -> Option<RunOwner> {
        self.meter.get().and_then(CurrentRun::owner)
    }

    /// Reports whether the running request has a transaction that `is_it` finds. Runs that no request waits for may
    /// have several: timers share one.
    fn has_own(&self, is_it: impl Fn(&RunningTransaction) -> bool) -> bool {
        match self.meter.get().and_then(CurrentRun::request) {
            Some(request) => self.any_of(&RunOwner::Request(request), is_it),
            None => false,
        }
    }

    /// Reports whether the running request has a transaction, open or waiting for its turn.
    pub(crate) fn has_own_transaction(&self) -> bool {
        self.has_own(|_| true)
    }

    /// Returns the tables as the open transaction of the run that goes on now sees them, if it has one. Timers share
    /// one run, so which of its transactions a timer is in cannot be told.
    pub(crate) fn own_transaction(&self) -> Option<Rc<dyn AppTables>> {
        let owner = self.current_owner()?;
        if matches!(&owner, RunOwner::Background(run) if run.is_endless) {
            return None;
        }
        let all = self.transactions.borrow();
        let own = all.iter().find(|own| own.is_of(&owner))?;
        own.tables.as_ref()?.upgrade()
    }

    /// Reports whether the running request has an open transaction.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.has_own(|own| own.has_begun.get())
    }

    fn any_of(&self, owner: &RunOwner, is_it: impl Fn(&RunningTransaction) -> bool) -> bool {
        let all = self.transactions.borrow();
        let mut own = all.iter().filter(|running| running.is_of(owner));
        own.any(is_it)
    }

    /// The outboxes of the transactions on which what a request or another run gives depends, one that waits for its
    /// turn included: its own, and others' that it has used. None at all if one of them was rolled back, and its
    /// function goes on or it was another's.
    pub(crate) fn transactions_behind(&self, owner: &RunOwner) -> Option<Vec<Outbox>> {
        let mut outboxes = self.used_transactions(owner)?;
        for own in &*self.transactions.borrow() {
            if own.is_of(owner) {
                match own.fate.verdict() {
                    None => outboxes.push(own.outbox.clone()),
                    Some(Verdict::Committed) => {}
                    Some(Verdict::Failed) => return None,
                }
            }
        }
        Some(outboxes)
    }

    /// Takes note that what the running request or run wrote was rolled back: it may go on, but sends nothing any more.
    pub(crate) fn note_lost(&self) {
        self.is_lost.set(true);
        if let Some(owner) = self.current_owner() {
            owner.store().put(LostWrites);
        }
    }

    /// Reports whether writes of a request or another run were rolled back while it goes on.
    pub(crate) fn has_lost(&self, owner: &RunOwner) -> bool {
        // Timers that come later have nothing to do with it.
        let is_endless = matches!(owner, RunOwner::Background(run) if run.is_endless);
        let is_now = || self.current_owner().is_some_and(|now| now.is(owner));
        (!is_endless && owner.store().get::<LostWrites>().is_some())
            || (self.is_lost.get() && is_now())
    }

    /// Reports whether what a request gives now may be rolled back, or was.
    pub(crate) fn may_be_rolled_back(&self, request: &Rc<dyn RequestView>) -> bool {
        let owner = RunOwner::Request(Rc::clone(request));
        let is_at_risk = |own: &RunningTransaction| {
            own.has_begun.get() && own.fate.verdict() != Some(Verdict::Committed)
        };
        let used = || self.used_transactions(&owner);
        self.any_of(&owner, is_at_risk) || used().is_none_or(|used| !used.is_empty())
    }

    fn used_transactions(&self, owner: &RunOwner) -> Option<Vec<Outbox>> {
        let mut outboxes = Vec::new();
        let is_endless = matches!(owner, RunOwner::Background(run) if run.is_endless);
        if let Some(used) = owner.store().get::<UsedTransactions>() {
            for (outbox, fate) in &*used.0.borrow() {
                match fate.verdict() {
                    None => outboxes.push(outbox.clone()),
                    Some(Verdict::Committed) => {}
                    // Timers that come later have nothing to do with it.
                    Some(Verdict::Failed) if is_endless => {}
                    Some(Verdict::Failed) => return None,
                }
            }
        }
        Some(outboxes)
    }
}
