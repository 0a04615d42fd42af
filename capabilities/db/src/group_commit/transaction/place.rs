//! Whose transactions are open on a worker or wait for their turn: one request has one at a time.

use crate::group_commit::group::WorkerDb;
use crate::group_commit::writer::Announced;
use sampan_host::{CurrentRun, Error, Outbox, RequestView};
use std::cell::RefCell;
use std::rc::Rc;

/// A transaction of a worker that is open or waits for its turn.
pub(crate) struct RunningTransaction {
    request: Option<Rc<dyn RequestView>>,
    /// Open while the transaction is.
    outbox: Outbox,
}

/// The place of a transaction among those of its worker, and among those who want to write.
pub(crate) struct TransactionPlace {
    pub(super) db: Rc<WorkerDb>,
    pub(super) outbox: Outbox,
    pub(super) announced: RefCell<Option<Announced>>,
}

impl TransactionPlace {
    /// Announces a transaction of the request that runs.
    ///
    /// # Errors
    /// The request has one already: the second would wait for the first, and the first perhaps for the second.
    pub(crate) fn new(db: &Rc<WorkerDb>) -> Result<Self, Error> {
        if db.own_transaction().is_some() {
            return Err(Error::script(
                "db.transaction: this request has a transaction already: use its tx, or begin the next one after it",
            ));
        }
        let announced = db.database.open()?.writers.announce();
        let outbox = Outbox::default();
        db.transactions.borrow_mut().push(RunningTransaction {
            request: db.current_request(),
            outbox: outbox.clone(),
        });
        Ok(Self {
            db: Rc::clone(db),
            outbox,
            announced: RefCell::new(Some(announced)),
        })
    }
}

impl Drop for TransactionPlace {
    fn drop(&mut self) {
        let mut all = self.db.transactions.borrow_mut();
        all.retain(|running| !running.outbox.is(&self.outbox));
    }
}

impl WorkerDb {
    fn current_request(&self) -> Option<Rc<dyn RequestView>> {
        self.meter.get().and_then(CurrentRun::request)
    }

    /// The outbox of the transaction that the running request has, open or waiting for its turn.
    pub(crate) fn own_transaction(&self) -> Option<Outbox> {
        if self.transactions.borrow().is_empty() {
            return None;
        }
        self.transaction_of(&self.current_request()?)
    }

    /// The same for a request.
    pub(crate) fn transaction_of(&self, request: &Rc<dyn RequestView>) -> Option<Outbox> {
        let all = self.transactions.borrow();
        let is_it = |running: &&RunningTransaction| {
            let owner = running.request.as_ref();
            owner.is_some_and(|owner| std::ptr::addr_eq(Rc::as_ptr(owner), Rc::as_ptr(request)))
        };
        all.iter().find(is_it).map(|running| running.outbox.clone())
    }
}
