//! The carrier as a worker has it: what is published in a batch or a transaction is a part of that.

use super::PostgresCarrier;
use crate::postgres::worker::{PostgresDb, PostgresWorker};
use sampan_host::carrier::{Carrier, Publication, WorkerCarrier};
use sampan_host::{Error, RequestView, RunOwner, Verdict};
use std::rc::Rc;
use std::sync::Arc;

struct PostgresWorkerCarrier(Rc<PostgresWorker>);

impl PostgresDb {
    /// Returns the carrier of messages. There is none for a database of a run of tests: it has one process, and is
    /// replaced between tests.
    pub(crate) fn carrier(&self) -> Option<Rc<dyn WorkerCarrier>> {
        if self.0.database.config.database.is_some() {
            return None;
        }
        Some(Rc::new(PostgresWorkerCarrier(Rc::clone(&self.0))))
    }
}

impl WorkerCarrier for PostgresWorkerCarrier {
    fn carrier(&self) -> Arc<dyn Carrier> {
        Arc::<PostgresCarrier>::clone(&self.0.database.carrier)
    }

    fn enclose(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        publication: &Publication,
    ) -> Result<bool, Error> {
        let mut recording = self.0.recording.borrow_mut();
        if recording.is_open() {
            return recording.publish(publication).map(|()| true);
        }
        let owner = match request {
            Some(request) => Some(RunOwner::Request(Rc::clone(request))),
            None => self.0.owner(),
        };
        let transaction = owner.and_then(|owner| self.0.transaction_of(&owner));
        let Some(transaction) = transaction else {
            return Ok(false);
        };
        transaction.enclose(publication).map(|()| true)
    }

    fn hold(&self) -> Box<dyn FnOnce(Verdict)> {
        let place = self.0.begin_statements();
        Box::new(move |verdict| place.outbox.settle(verdict))
    }
}
