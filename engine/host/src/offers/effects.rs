//! Effects that leave the process only when the writes are committed that they may depend on.

use crate::error::Error;
use crate::offers::database::WorkerDatabase;
use crate::request::RequestView;
use crate::run::outbox::{Outbox, Verdict};
use crate::tables::module::Context;
use std::cell::Cell;
use std::rc::Rc;

/// Everything of a worker that holds effects: its outbox, and those of the transactions of its requests.
#[derive(Clone)]
pub struct Effects {
    outbox: Outbox,
    database: Option<Rc<dyn WorkerDatabase>>,
}

impl Effects {
    /// Returns those of an isolate's worker.
    pub fn of(context: &Context) -> Option<Self> {
        let database = context.get::<Rc<dyn WorkerDatabase>>();
        Some(Self {
            outbox: (*context.get::<Outbox>()?).clone(),
            database: database.map(|database| Rc::clone(&*database)),
        })
    }

    /// Calls `effect` with the verdict on everything that it may depend on: at once where nothing is open. `request` is
    /// the one whose script causes it.
    ///
    /// # Errors
    /// The request's writes were rolled back.
    pub fn when_settled(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        effect: impl FnOnce(Verdict) + 'static,
    ) -> Result<(), Error> {
        let outboxes = self.open_outboxes(request)?;
        let left = Cell::new(outboxes.len());
        if left.get() == 0 {
            effect(Verdict::Committed);
            return Ok(());
        }
        let shared = Rc::new((left, Cell::new(Some(effect))));
        for outbox in outboxes {
            let shared = Rc::clone(&shared);
            outbox.hold(Box::new(move |verdict| {
                let (left, effect) = &*shared;
                left.set(left.get() - 1);
                if (verdict == Verdict::Failed || left.get() == 0)
                    && let Some(effect) = effect.take()
                {
                    effect(verdict);
                }
            }));
        }
        Ok(())
    }

    /// Reports whether an effect would be held now.
    ///
    /// # Errors
    /// As for [`Effects::when_settled`].
    pub fn are_held(&self, request: Option<&Rc<dyn RequestView>>) -> Result<bool, Error> {
        Ok(!self.open_outboxes(request)?.is_empty())
    }

    fn open_outboxes(&self, request: Option<&Rc<dyn RequestView>>) -> Result<Vec<Outbox>, Error> {
        let mut outboxes = Vec::new();
        if let (Some(database), Some(request)) = (&self.database, request)
            && database.has_transactions()
        {
            let behind = database.transactions_behind(request);
            outboxes = behind.ok_or_else(|| {
                Error::script("what this request wrote was rolled back: nothing is sent")
            })?;
        }
        outboxes.push(self.outbox.clone());
        outboxes.retain(Outbox::is_open);
        Ok(outboxes)
    }
}
