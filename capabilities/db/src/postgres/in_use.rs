//! The use of a transaction by a statement.

use sampan_postgres::PostgresTransaction;
use std::ops::Deref;
use std::rc::Rc;
use tokio::sync::Notify;

/// The use of a transaction by a statement.
pub(super) struct InUse {
    open: Option<Rc<PostgresTransaction>>,
    done: Rc<Notify>,
}

impl InUse {
    /// Begins to use a transaction. `done` is notified at the end.
    pub(super) fn new(open: &Rc<PostgresTransaction>, done: &Rc<Notify>) -> Self {
        Self {
            open: Some(Rc::clone(open)),
            done: Rc::clone(done),
        }
    }
}

impl Deref for InUse {
    type Target = PostgresTransaction;

    fn deref(&self) -> &PostgresTransaction {
        self.open.as_ref().expect("taken only when it is dropped")
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        drop(self.open.take());
        self.done.notify_one();
    }
}
