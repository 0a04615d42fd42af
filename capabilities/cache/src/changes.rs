//! Changes that may depend on writes which are not committed: no other worker sees them before.

use crate::entries::Entry;
use crate::store::CacheStore;
use sampan_host::current_run::RunOwner;
use sampan_host::{CurrentRun, Effects, Error, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The changes of one worker, in their order.
#[derive(Clone, Default)]
pub(crate) struct Changes(Rc<ChangesState>);

#[derive(Default)]
struct ChangesState {
    waiting: RefCell<Vec<Change>>,
    next: Cell<u64>,
}

/// A change that is not made yet.
struct Change {
    number: u64,
    key: Arc<str>,
    /// The new entry; without one the key is removed.
    entry: Option<Entry>,
    /// The run whose transaction it may depend on: only that run sees it.
    owner: Option<RunOwner>,
}

/// The cache as one isolate sees it.
pub(crate) struct IsolateCache {
    pub(crate) store: Arc<CacheStore>,
    pub(crate) changes: Changes,
    pub(crate) effects: Effects,
    pub(crate) current: Option<CurrentRun>,
}

impl Changes {
    /// Returns the last change of a key that a run sees, with its number: the new entry, or nothing if the key is
    /// removed.
    fn seen(&self, key: &str, owner: Option<&RunOwner>) -> Option<(u64, Option<Entry>)> {
        let waiting = self.0.waiting.borrow();
        let is_seen = |change: &&Change| {
            let is_mine = match (&change.owner, owner) {
                (None, _) => true,
                (Some(of), Some(owner)) => of.is(owner),
                (Some(_), None) => false,
            };
            is_mine && *change.key == *key
        };
        let change = waiting.iter().rev().find(is_seen)?;
        Some((change.number, change.entry.clone()))
    }

    fn add(&self, key: Arc<str>, entry: Option<Entry>, owner: Option<RunOwner>) -> u64 {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        self.0.waiting.borrow_mut().push(Change {
            number,
            key,
            entry,
            owner,
        });
        number
    }

    fn remove(&self, number: u64) {
        let mut waiting = self.0.waiting.borrow_mut();
        let removed = waiting.iter().position(|change| change.number == number);
        let removed = removed.map(|at| waiting.remove(at));
        // The run that it belongs to may be the last of its kind, so no borrow is held when it is dropped.
        drop(waiting);
        drop(removed);
    }
}

impl IsolateCache {
    fn owner(&self) -> Option<RunOwner> {
        self.current.as_ref().and_then(CurrentRun::owner)
    }

    /// Returns the last change of a key that is not made yet, as this run sees it.
    pub(crate) fn change_seen(&self, key: &str) -> Option<Option<Entry>> {
        self.last_change(key).map(|(_, entry)| entry)
    }

    /// Reports whether this run sees a change of a key that was made since the moment with this number.
    pub(crate) fn is_changed_since(&self, key: &str, moment: u64) -> bool {
        self.last_change(key)
            .is_some_and(|(number, _)| number >= moment)
    }

    /// Returns the number of the moment now.
    pub(crate) fn moment(&self) -> u64 {
        self.changes.0.next.get()
    }

    fn last_change(&self, key: &str) -> Option<(u64, Option<Entry>)> {
        if self.changes.0.waiting.borrow().is_empty() {
            return None;
        }
        self.changes.seen(key, self.owner().as_ref())
    }

    /// Keeps a value or removes a key, when everything is committed that this may depend on.
    ///
    /// # Errors
    /// Fails if the writes of the run were rolled back.
    pub(crate) fn change(&self, key: Arc<str>, entry: Option<Entry>) -> Result<(), Error> {
        let store = Arc::clone(&self.store);
        let shown = (Arc::clone(&key), entry.clone());
        self.when_committed(Some(shown), move || store.change(&key, entry))
    }

    /// Calls `effect` when everything is committed that it may depend on, and not at all if that fails. Until then this
    /// worker sees the change `shown`.
    ///
    /// # Errors
    /// Fails if the writes of the run were rolled back.
    pub(crate) fn when_committed(
        &self,
        shown: Option<(Arc<str>, Option<Entry>)>,
        effect: impl FnOnce() + 'static,
    ) -> Result<(), Error> {
        if !self.effects.are_held(None)? {
            effect();
            return Ok(());
        }
        let Some((key, entry)) = shown else {
            return self.effects.when_settled(None, move |verdict| {
                if verdict == Verdict::Committed {
                    effect();
                }
            });
        };
        let owner = match self.effects.are_in_transaction(None)? {
            true => self.owner(),
            false => None,
        };
        let changes = self.changes.clone();
        let number = changes.add(key, entry, owner);
        let withdrawn = Withdrawn { changes, number };
        self.effects.when_settled(None, move |verdict| {
            drop(withdrawn);
            if verdict == Verdict::Committed {
                effect();
            }
        })
    }
}

/// Removes a change from those that wait, also where its outbox is dropped.
struct Withdrawn {
    changes: Changes,
    number: u64,
}

impl Drop for Withdrawn {
    fn drop(&mut self) {
        self.changes.remove(self.number);
    }
}
