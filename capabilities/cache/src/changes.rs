//! Changes that may depend on writes which are not committed: no other worker sees them before.

use crate::counts::added;
use crate::entries::Entry;
use crate::server::ServerCache;
use crate::store::CacheStore;
use sampan_host::current_run::RunOwner;
use sampan_host::{CurrentRun, Effects, Error, Verdict};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The changes of one worker.
#[derive(Clone, Default)]
pub(crate) struct Changes(Rc<ChangesState>);

#[derive(Default)]
struct ChangesState {
    /// By the key and the number, which is their order.
    waiting: RefCell<HashMap<Arc<str>, BTreeMap<u64, Change>>>,
    next: Cell<u64>,
}

/// A change that is not made yet.
struct Change {
    /// The new entry; without one the key is removed.
    entry: Option<Entry>,
    /// The run whose transaction it may depend on: only that run sees it.
    owner: Option<RunOwner>,
}

impl Change {
    fn is_seen_by(&self, owner: Option<&RunOwner>) -> bool {
        match (&self.owner, owner) {
            (None, _) => true,
            (Some(of), Some(owner)) => of.is(owner),
            (Some(_), None) => false,
        }
    }
}

/// The cache as one isolate sees it.
pub(crate) struct IsolateCache {
    /// The values; where processes share them on a server, those alone that are being made here.
    pub(crate) store: Arc<CacheStore>,
    /// The values on a server.
    pub(crate) server: Option<ServerCache>,
    pub(crate) changes: Changes,
    pub(crate) effects: Effects,
    pub(crate) current: Option<CurrentRun>,
}

impl Changes {
    /// Returns the last change of a key that a run sees, with its number: the new entry, or nothing if the key is
    /// removed.
    fn seen(&self, key: &str, owner: Option<&RunOwner>) -> Option<(u64, Option<Entry>)> {
        let waiting = self.0.waiting.borrow();
        let mut of_key = waiting.get(key)?.iter().rev();
        let (number, change) = of_key.find(|(_, change)| change.is_seen_by(owner))?;
        Some((*number, change.entry.clone()))
    }

    /// Returns the number of changes of a key that a run sees.
    fn count_seen(&self, key: &str, owner: Option<&RunOwner>) -> usize {
        let waiting = self.0.waiting.borrow();
        let of_key = waiting.get(key).into_iter().flat_map(BTreeMap::values);
        of_key.filter(|change| change.is_seen_by(owner)).count()
    }

    fn add(&self, key: Arc<str>, entry: Option<Entry>, owner: Option<RunOwner>) -> u64 {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        let mut waiting = self.0.waiting.borrow_mut();
        let of_key = waiting.entry(key).or_default();
        of_key.insert(number, Change { entry, owner });
        number
    }

    fn remove(&self, key: &str, number: u64) {
        let mut waiting = self.0.waiting.borrow_mut();
        let Some(of_key) = waiting.get_mut(key) else {
            return;
        };
        let removed = of_key.remove(&number);
        if of_key.is_empty() {
            waiting.remove(key);
        }
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

    /// Returns the number of changes of a key that are not made yet, as this run sees them.
    pub(crate) fn changes_seen(&self, key: &str) -> usize {
        self.changes.count_seen(key, self.owner().as_ref())
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

    /// Adds to the number of a key, when everything is committed that this may depend on, and returns the sum: where
    /// that is later, the one that this worker sees. A key that is new counts until `until`.
    ///
    /// # Errors
    /// The value is not a whole number, or the sum is too large. Fails if the writes of the run were rolled back.
    pub(crate) fn add(
        &self,
        key: Arc<str>,
        by: i64,
        until: Option<Duration>,
    ) -> Result<i64, Error> {
        if !self.effects.are_held(None)? {
            return self.store.add(&key, by, until);
        }
        let seen = self.change_seen(&key);
        let before = seen.unwrap_or_else(|| self.store.entry(&key));
        let (sum, entry) = added(before.as_ref(), by, until)?;
        let (store, shown) = (Arc::clone(&self.store), (Arc::clone(&key), Some(entry)));
        self.when_committed(Some(shown), move || {
            // Another worker may have kept another value meanwhile: that one stays.
            let _ = store.add(&key, by, until);
        })?;
        Ok(sum)
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
        let number = changes.add(Arc::clone(&key), entry, owner);
        let withdrawn = Withdrawn {
            changes,
            key,
            number,
        };
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
    key: Arc<str>,
    number: u64,
}

impl Drop for Withdrawn {
    fn drop(&mut self) {
        self.changes.remove(&self.key, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::topics::Payload;

    fn entry(text: &str) -> Option<Entry> {
        Some(Entry {
            value: Arc::new(Payload::Text(text.to_owned())),
            until: None,
        })
    }

    #[test]
    fn the_last_change_of_a_key_is_seen_until_it_is_made() {
        let changes = Changes::default();
        let seen = || {
            let seen = changes.seen("k", None);
            seen.map(|(_, entry)| entry.and_then(|entry| entry.value.text().map(str::to_owned)))
        };
        let key: Arc<str> = "k".into();
        let first = changes.add(Arc::clone(&key), entry("a"), None);
        let second = changes.add(Arc::clone(&key), None, None);
        changes.add("other".into(), entry("b"), None);
        assert_eq!(seen(), Some(None));
        changes.remove("k", second);
        assert_eq!(seen(), Some(Some("a".to_owned())));
        changes.remove("k", first);
        assert_eq!(seen(), None);
        assert_eq!(changes.0.waiting.borrow().len(), 1);
    }

    /// Takes many minutes if a change looks at those before it.
    #[test]
    fn a_million_changes_are_made_in_their_order() {
        const COUNT: usize = 1_000_000;
        let changes = Changes::default();
        let keys = |at: usize| -> Arc<str> { format!("k{}", at % (COUNT / 2)).into() };
        let numbers: Vec<u64> = (0..COUNT)
            .map(|at| changes.add(keys(at), None, None))
            .collect();
        for (at, number) in numbers.into_iter().enumerate() {
            assert!(changes.seen(&keys(at), None).is_some());
            changes.remove(&keys(at), number);
        }
        assert!(changes.0.waiting.borrow().is_empty());
    }
}
