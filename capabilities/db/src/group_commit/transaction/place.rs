//! The open and waiting transactions of a worker: one request has one at a time.

use crate::group_commit::worker::{RunningTransaction, WorkerDb};
use crate::group_commit::writer::Announced;
use sampan_host::{CurrentRun, Error, Fate, Outbox, RequestView, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The transactions of others that a request has used. In Lua there are none. In JavaScript the code of one request can
/// run in another's turn, and may have been given another's `tx`.
#[derive(Default)]
struct UsedTransactions(RefCell<Vec<(Outbox, Fate)>>);

/// The place of a transaction among those of its worker, and among those who want to write.
pub(crate) struct TransactionPlace {
    pub(super) db: Rc<WorkerDb>,
    pub(super) outbox: Outbox,
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
        let has_begun = Rc::default();
        db.transactions.borrow_mut().push(RunningTransaction {
            request: db.current_request(),
            outbox: outbox.clone(),
            has_begun: Rc::clone(&has_begun),
        });
        Ok(Self {
            db: Rc::clone(db),
            outbox,
            has_begun,
            announced: RefCell::new(Some(announced)),
        })
    }

    /// To be called before each use: the request that runs depends on this transaction from now on.
    pub(crate) fn note_use(&self) {
        let (Some(request), Some(fate)) = (self.db.current_request(), self.outbox.fate()) else {
            return;
        };
        let is_own = self.db.of(&request, |own| own.outbox.is(&self.outbox));
        if is_own == Some(true) {
            return;
        }
        let store = request.store();
        let used = store
            .get()
            .unwrap_or_else(|| store.put(UsedTransactions::default()));
        let mut used = used.0.borrow_mut();
        if !used.iter().any(|(outbox, _)| outbox.is(&self.outbox)) {
            used.push((self.outbox.clone(), fate));
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
    }
}

impl WorkerDb {
    fn current_request(&self) -> Option<Rc<dyn RequestView>> {
        self.meter.get().and_then(CurrentRun::request)
    }

    /// Reports whether the running request has a transaction, open or waiting for its turn.
    pub(crate) fn has_own_transaction(&self) -> bool {
        self.current_request()
            .is_some_and(|request| self.of(&request, |_| ()).is_some())
    }

    /// Reports whether the running request has an open transaction.
    pub(crate) fn is_in_transaction(&self) -> bool {
        let request = self.current_request();
        let begun = request.and_then(|request| self.of(&request, |own| own.has_begun.get()));
        begun == Some(true)
    }

    /// Looks at the transaction of a request.
    fn of<R>(
        &self,
        request: &Rc<dyn RequestView>,
        look: impl FnOnce(&RunningTransaction) -> R,
    ) -> Option<R> {
        let all = self.transactions.borrow();
        let is_it = |running: &&RunningTransaction| {
            let owner = running.request.as_ref();
            owner.is_some_and(|owner| std::ptr::addr_eq(Rc::as_ptr(owner), Rc::as_ptr(request)))
        };
        all.iter().find(is_it).map(look)
    }

    /// The outboxes of the transactions on which what a request gives depends, one that waits for its turn included:
    /// its own, and others' that it has used. None at all if one of those was rolled back.
    pub(crate) fn transactions_behind(&self, request: &Rc<dyn RequestView>) -> Option<Vec<Outbox>> {
        let mut outboxes = self.used_transactions(request)?;
        outboxes.extend(self.of(request, |own| own.outbox.clone()));
        outboxes.retain(Outbox::is_open);
        Some(outboxes)
    }

    /// Reports whether what a request gives now may be rolled back, or was.
    pub(crate) fn may_be_rolled_back(&self, request: &Rc<dyn RequestView>) -> bool {
        self.of(request, |own| own.has_begun.get() && own.outbox.is_open()) == Some(true)
            || self
                .used_transactions(request)
                .is_none_or(|used| !used.is_empty())
    }

    fn used_transactions(&self, request: &Rc<dyn RequestView>) -> Option<Vec<Outbox>> {
        let mut outboxes = Vec::new();
        if let Some(used) = request.store().get::<UsedTransactions>() {
            for (outbox, fate) in &*used.0.borrow() {
                match fate.verdict() {
                    None => outboxes.push(outbox.clone()),
                    Some(Verdict::Committed) => {}
                    Some(Verdict::Failed) => return None,
                }
            }
        }
        Some(outboxes)
    }
}
