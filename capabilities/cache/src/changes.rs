//! Changes that may depend on writes which are not committed: no other worker sees them before.

use crate::counts::added;
use crate::entries::{Entry, Weighed};
use crate::limits::{CHANGE_BYTES, CHANGES_BYTES_MIN, ENTRY_BYTES};
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
    /// The keys of those with large values, by their numbers.
    large: RefCell<BTreeMap<u64, Arc<str>>>,
    /// The bytes of all of them.
    bytes: Cell<usize>,
    next: Cell<u64>,
}

/// A change that is not made yet.
struct Change {
    /// The new entry; without one the key is removed.
    entry: Option<Entry>,
    /// True if reads before the commit see it.
    is_shown: bool,
    /// The run whose transaction it may depend on: only that run sees it.
    owner: Option<RunOwner>,
}

impl Change {
    fn is_seen_by(&self, owner: Option<&RunOwner>) -> bool {
        if !self.is_shown {
            return false;
        }
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

    /// Keeps a change, and returns its number. Where all have more than `bytes_max` bytes then, the large values that
    /// wait the longest are given up: their changes remove their keys.
    ///
    /// # Errors
    /// The others need as much.
    fn add(&self, key: &Arc<str>, change: Change, bytes_max: usize) -> Result<u64, Error> {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        let value_bytes = large_bytes(change.entry.as_ref());
        if value_bytes > 0 {
            let mut large = self.0.large.borrow_mut();
            large.insert(number, Arc::clone(key));
        }
        let bytes = self.0.bytes.get() + key.len() + CHANGE_BYTES + value_bytes;
        self.0.bytes.set(bytes);
        let mut waiting = self.0.waiting.borrow_mut();
        let of_key = waiting.entry(Arc::clone(key)).or_default();
        of_key.insert(number, change);
        drop(waiting);
        while self.0.bytes.get() > bytes_max {
            if !self.give_up_value() {
                self.remove(key, number);
                return Err(too_many(bytes_max));
            }
        }
        Ok(number)
    }

    /// Gives the large value up that waits the longest. Reports whether there was one.
    fn give_up_value(&self) -> bool {
        let Some((number, key)) = self.0.large.borrow_mut().pop_first() else {
            return false;
        };
        let mut waiting = self.0.waiting.borrow_mut();
        let of_key = waiting.get_mut(&key);
        let change = of_key.and_then(|of_key| of_key.get_mut(&number));
        let entry = change.and_then(|change| change.entry.take());
        let bytes = self.0.bytes.get() - large_bytes(entry.as_ref());
        self.0.bytes.set(bytes);
        true
    }

    /// Removes a change, and returns its entry.
    fn remove(&self, key: &str, number: u64) -> Option<Entry> {
        let mut waiting = self.0.waiting.borrow_mut();
        let of_key = waiting.get_mut(key)?;
        let removed = of_key.remove(&number)?;
        if of_key.is_empty() {
            waiting.remove(key);
        }
        // The run that it belongs to may be the last of its kind, so no borrow is held when it is dropped.
        drop(waiting);
        self.0.large.borrow_mut().remove(&number);
        let bytes = key.len() + CHANGE_BYTES + large_bytes(removed.entry.as_ref());
        self.0.bytes.set(self.0.bytes.get() - bytes);
        removed.entry
    }
}

/// Returns the bytes of a value; none of a small one, which is never given up.
fn large_bytes(entry: Option<&Entry>) -> usize {
    let bytes = entry.map_or(0, |entry| entry.value.weight());
    if bytes > ENTRY_BYTES { bytes } else { 0 }
}

#[cold]
fn too_many(bytes_max: usize) -> Error {
    Error::script(format!(
        "the changes of the cache that wait for commits need more than {bytes_max} bytes: change fewer keys between a \
         write and its commit, or raise bytes_max in [cache]"
    ))
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
        let (store, changed) = (Arc::clone(&self.store), Arc::clone(&key));
        self.when_committed(&key, entry, true, move |entry| {
            store.change(&changed, entry);
        })
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
        let (store, changed) = (Arc::clone(&self.store), Arc::clone(&key));
        self.when_committed(&key, Some(entry), true, move |_| {
            // Another worker may have kept another value meanwhile: that one stays.
            if store.add(&changed, by, until).is_err() {
                store.note_unmade(&changed, false);
            }
        })?;
        Ok(sum)
    }

    /// Calls `effect` with the entry of a key when everything is committed that this may depend on, and not at all if
    /// that fails. Until then this worker sees the change if it `is_shown`. Where too much waits, the entry is given
    /// up, and there is none.
    ///
    /// # Errors
    /// Fails if the writes of the run were rolled back, or too much waits that cannot be given up.
    pub(crate) fn when_committed(
        &self,
        key: &Arc<str>,
        entry: Option<Entry>,
        is_shown: bool,
        effect: impl FnOnce(Option<Entry>) + 'static,
    ) -> Result<(), Error> {
        if !self.effects.are_held(None)? {
            effect(entry);
            return Ok(());
        }
        let owner = match self.effects.are_in_transaction(None)? {
            true => self.owner(),
            false => None,
        };
        let change = Change {
            entry,
            is_shown,
            owner,
        };
        let bytes_max = self.store.bytes_max().max(CHANGES_BYTES_MIN);
        let waiting = WaitingChange {
            number: self.changes.add(key, change, bytes_max)?,
            changes: self.changes.clone(),
            store: Arc::clone(&self.store),
            key: Arc::clone(key),
            is_committed: false,
        };
        self.effects.when_settled(None, move |verdict| {
            if verdict == Verdict::Committed {
                effect(waiting.committed());
            }
        })
    }
}

/// A change that waits. Dropped before its commit, it is removed from those that wait, and never made.
struct WaitingChange {
    changes: Changes,
    store: Arc<CacheStore>,
    key: Arc<str>,
    number: u64,
    is_committed: bool,
}

impl WaitingChange {
    /// Ends the wait, and returns the entry.
    fn committed(mut self) -> Option<Entry> {
        self.is_committed = true;
        self.changes.remove(&self.key, self.number)
    }
}

impl Drop for WaitingChange {
    fn drop(&mut self) {
        if !self.is_committed {
            self.changes.remove(&self.key, self.number);
            self.store.note_unmade(&self.key, true);
        }
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

    fn change(entry: Option<Entry>) -> Change {
        Change {
            entry,
            is_shown: true,
            owner: None,
        }
    }

    #[test]
    fn the_last_change_of_a_key_is_seen_until_it_is_made() {
        let changes = Changes::default();
        let seen = || {
            let seen = changes.seen("k", None);
            seen.map(|(_, entry)| entry.and_then(|entry| entry.value.text().map(str::to_owned)))
        };
        let add = |key: &str, entry| changes.add(&key.into(), change(entry), usize::MAX);
        let first = add("k", entry("a")).expect("room");
        let second = add("k", None).expect("room");
        add("other", entry("b")).expect("room");
        assert_eq!(seen(), Some(None));
        changes.remove("k", second);
        assert_eq!(seen(), Some(Some("a".to_owned())));
        changes.remove("k", first);
        assert_eq!(seen(), None);
        assert_eq!(changes.0.waiting.borrow().len(), 1);
    }

    #[test]
    fn large_values_that_wait_too_long_are_given_up() {
        const BYTES_MAX: usize = 100_000;
        let changes = Changes::default();
        let large = "x".repeat(BYTES_MAX / 10);
        let add = |key: usize, text: &str| {
            changes.add(&key.to_string().into(), change(entry(text)), BYTES_MAX)
        };
        let numbers: Vec<_> = (0..100)
            .map(|key| add(key, &large).expect("room"))
            .collect();
        assert!(changes.0.bytes.get() <= BYTES_MAX);
        let seen = |key: usize| changes.seen(&key.to_string(), None);
        // The key of one that was given up is removed.
        assert!(matches!(seen(0), Some((_, None))));
        assert!(matches!(seen(99), Some((_, Some(_)))));
        for (key, number) in numbers.iter().enumerate() {
            let entry = changes.remove(&key.to_string(), *number);
            assert_eq!(entry.is_some(), key > 95, "{key}");
            assert!(changes.remove(&key.to_string(), *number).is_none());
        }
        assert_eq!(changes.0.bytes.get(), 0);
        assert!(changes.0.large.borrow().is_empty());
        // Small ones are not given up.
        let count = (0..).take_while(|key| add(*key, "1").is_ok()).count();
        assert!((150..200).contains(&count), "{count}");
        let before = changes.0.bytes.get();
        let error = add(1_000, &large).expect_err("no room");
        assert!(error.message().contains("bytes_max"), "{error}");
        assert_eq!(changes.0.bytes.get(), before);
        assert!(seen(1_000).is_none() && changes.0.large.borrow().is_empty());
    }

    /// Takes many minutes if a change looks at those before it.
    #[test]
    fn a_million_changes_are_made_in_their_order() {
        const COUNT: usize = 1_000_000;
        let changes = Changes::default();
        let keys = |at: usize| -> Arc<str> { format!("k{}", at % (COUNT / 2)).into() };
        let numbers: Vec<u64> = (0..COUNT)
            .map(|at| changes.add(&keys(at), change(None), usize::MAX))
            .map(|number| number.expect("room"))
            .collect();
        for (at, number) in numbers.into_iter().enumerate() {
            assert!(changes.seen(&keys(at), None).is_some());
            changes.remove(&keys(at), number);
        }
        assert!(changes.0.waiting.borrow().is_empty());
    }
}
