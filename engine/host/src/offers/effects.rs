//! Effects that leave the process only when the writes are committed that they may depend on.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::offers::database::WorkerDatabase;
use crate::request::RequestView;
use crate::run::current_run::{CurrentRun, RunOwner};
use crate::run::outbox::{Outbox, Verdict};
use crate::tables::module::Context;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The verdict for a future that waits for it.
#[derive(Default)]
struct Told {
    verdict: Cell<Option<Verdict>>,
    waker: RefCell<Option<Waker>>,
}

/// Everything that an effect may depend on, as it was when the effect was caused.
pub struct Dependencies(Vec<Outbox>);

impl Dependencies {
    /// Calls `effect` with the verdict on all of it: at once where nothing is open.
    pub fn when_settled(self, effect: impl FnOnce(Verdict) + 'static) {
        let Self(outboxes) = self;
        let left = Cell::new(outboxes.len());
        if left.get() == 0 {
            return effect(Verdict::Committed);
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
    }
}

/// Everything of a worker that holds effects: its outbox, and those of the transactions of its runs.
#[derive(Clone)]
pub struct Effects {
    outbox: Outbox,
    database: Option<Rc<dyn WorkerDatabase>>,
    current: Option<CurrentRun>,
}

impl Effects {
    /// Returns those of an isolate's worker.
    pub fn of(context: &Context) -> Option<Self> {
        let database = context.get::<Rc<dyn WorkerDatabase>>();
        Some(Self {
            outbox: (*context.get::<Outbox>()?).clone(),
            database: database.map(|database| Rc::clone(&*database)),
            current: context.get::<CurrentRun>().map(|run| (*run).clone()),
        })
    }

    /// Returns those of an isolate's worker, which are looked up once. For calls of scripts: while capabilities are set
    /// up the database may be missing yet.
    pub fn kept(context: &Context) -> Option<Rc<Self>> {
        if let Some(kept) = context.get::<Self>() {
            return Some(kept);
        }
        context.put(Self::of(context)?);
        context.get()
    }

    /// Calls `effect` with the verdict on everything that it may depend on: at once where nothing is open. `request` is
    /// the one whose script causes it; without one it is the run that goes on now.
    ///
    /// # Errors
    /// Fails if what the request or the run wrote was rolled back.
    pub fn when_settled(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        effect: impl FnOnce(Verdict) + 'static,
    ) -> Result<(), Error> {
        self.dependencies(request)?.when_settled(effect);
        Ok(())
    }

    /// Returns what an effect may depend on now.
    ///
    /// # Errors
    /// As for [`Effects::when_settled`].
    pub fn dependencies(
        &self,
        request: Option<&Rc<dyn RequestView>>,
    ) -> Result<Dependencies, Error> {
        self.open_outboxes(request).map(Dependencies)
    }

    /// Waits for the verdict on everything that an effect may depend on now. A part of a group that is rolled back has
    /// failed, even if the group is committed.
    ///
    /// # Errors
    /// As for [`Effects::when_settled`].
    pub fn settled(
        &self,
        request: Option<&Rc<dyn RequestView>>,
    ) -> Result<LocalFuture<Verdict>, Error> {
        let told: Rc<Told> = Rc::default();
        let teller = Rc::clone(&told);
        self.when_settled(request, move |verdict| {
            teller.verdict.set(Some(verdict));
            if let Some(waker) = teller.waker.take() {
                waker.wake();
            }
        })?;
        Ok(Box::pin(poll_fn(move |cx| match told.verdict.get() {
            Some(verdict) => Poll::Ready(verdict),
            None => {
                *told.waker.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
        })))
    }

    /// Reports whether an effect would be held now.
    ///
    /// # Errors
    /// As for [`Effects::when_settled`].
    pub fn are_held(&self, request: Option<&Rc<dyn RequestView>>) -> Result<bool, Error> {
        let transactions = self.transactions(request)?;
        Ok(self.outbox.is_open() || transactions.iter().any(Outbox::is_open))
    }

    /// Reports whether an effect would be held for a transaction now: waiting for its end would keep it from ending.
    ///
    /// # Errors
    /// As for [`Effects::when_settled`].
    pub fn are_in_transaction(&self, request: Option<&Rc<dyn RequestView>>) -> Result<bool, Error> {
        Ok(!self.transactions(request)?.is_empty())
    }

    fn transactions(&self, request: Option<&Rc<dyn RequestView>>) -> Result<Vec<Outbox>, Error> {
        let owner = match request {
            Some(request) => Some(RunOwner::Request(Rc::clone(request))),
            None => self.current.as_ref().and_then(CurrentRun::owner),
        };
        let (Some(database), Some(owner)) = (&self.database, owner) else {
            return Ok(Vec::new());
        };
        let behind = database.transactions_behind(&owner);
        let behind = behind.filter(|_| !database.has_lost(&owner));
        behind.ok_or_else(|| {
            Error::script("what this request wrote was rolled back: nothing is sent")
        })
    }

    fn open_outboxes(&self, request: Option<&Rc<dyn RequestView>>) -> Result<Vec<Outbox>, Error> {
        let mut outboxes = self.transactions(request)?;
        outboxes.push(self.outbox.clone());
        outboxes.retain(Outbox::is_open);
        Ok(outboxes)
    }
}
