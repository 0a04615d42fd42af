//! The cache of a process: its entries, and the values that are being made.

use crate::counts::added;
use crate::entries::{Entries, Entry, Weighed};
use sampan_host::topics::Payload;
use sampan_host::{Error, clock};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The end of the making of a value.
#[derive(Debug)]
pub(crate) enum Made<V = Payload> {
    /// The value.
    Value(Arc<V>),
    /// The function has failed.
    Failed,
}

impl<V> Clone for Made<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Value(value) => Self::Value(Arc::clone(value)),
            Self::Failed => Self::Failed,
        }
    }
}

/// A channel to the end of the making of a value, which closes without a word if that was given up.
pub(crate) type Making<V = Payload> = watch::Receiver<Option<Made<V>>>;

/// The answer to those who want a value.
pub(crate) enum Begun<V: Weighed = Payload> {
    /// The value that is there.
    There(Arc<V>),
    /// Another handler makes it.
    Waits(Making<V>),
    /// The right to make it.
    Fills(Filling<V>),
}

/// The cache of a process.
pub(crate) struct CacheStore<V = Payload>(Mutex<State<V>>);

struct State<V> {
    entries: Entries<V>,
    /// The values that are being made, each with the number of its filling.
    fillings: HashMap<Arc<str>, (u64, Making<V>)>,
    next: u64,
    /// The keys whose values are being made for one run alone.
    alone: HashMap<Arc<str>, AloneKey>,
}

/// A key whose value is being made for one run alone.
#[derive(Default)]
struct AloneKey {
    /// The number of those fillings.
    fillings: usize,
    /// The number of changes of the key since the first of them was begun.
    changes: u64,
}

/// The right to make a value, on one worker. Dropping it lets the next one try.
pub(crate) struct Filling<V: Weighed = Payload> {
    store: Arc<CacheStore<V>>,
    key: Arc<str>,
    number: u64,
    sender: watch::Sender<Option<Made<V>>>,
    /// Set if no one waits for it, because it knows of changes that the others do not see yet: the number of changes of
    /// the key after which its value is outdated.
    alone: Option<u64>,
}

/// Returns the time by which entries expire: since the start, or, where tests may set the time of day, that.
pub(crate) fn now() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    match clock::is_settable() {
        true => clock::since_1970(),
        false => START.elapsed(),
    }
}

impl<V: Weighed> CacheStore<V> {
    /// Creates an empty cache of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self(Mutex::new(State {
            entries: Entries::new(bytes_max),
            fillings: HashMap::new(),
            next: 0,
            alone: HashMap::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the most bytes of all entries.
    pub(crate) fn bytes_max(&self) -> usize {
        self.lock().entries.bytes_max()
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Arc<V>> {
        self.lock().entries.get(key, now())
    }

    /// Returns the entry of a key.
    pub(crate) fn entry(&self, key: &str) -> Option<Entry<V>> {
        self.lock().entries.entry(key, now())
    }

    /// Keeps a value, or removes the key. A value that is being made from what was true before is not kept then.
    pub(crate) fn change(&self, key: &Arc<str>, entry: Option<Entry<V>>) {
        self.lock().change(key, entry);
    }

    /// Takes note of a change that was seen before its commit and is not made: it counts as one that was. If the writes
    /// that it depends on are lost, a value that was made from it is outdated.
    pub(crate) fn note_unmade(&self, key: &str, are_writes_lost: bool) {
        if let Some(alone) = self.lock().alone.get_mut(key) {
            alone.changes += if are_writes_lost { 2 } else { 1 };
        }
    }

    /// Removes all keys.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.fillings.clear();
        let alone = state.alone.values_mut();
        alone.for_each(|alone| alone.changes += 1);
        state.entries.clear();
    }

    /// Returns the making of a value that is not there.
    pub(crate) fn making(&self, key: &str) -> Option<Making<V>> {
        let mut state = self.lock();
        match state.entries.get(key, now()) {
            Some(_) => None,
            None => state.fillings.get(key).map(|(_, making)| making.clone()),
        }
    }

    /// Looks for a value, and for those who make it; has the caller make it where there are none.
    pub(crate) fn begin(self: &Arc<Self>, key: &Arc<str>) -> Begun<V> {
        let mut state = self.lock();
        if let Some(value) = state.entries.get(key, now()) {
            return Begun::There(value);
        }
        if let Some((_, receiver)) = state.fillings.get(key) {
            return Begun::Waits(receiver.clone());
        }
        let (sender, receiver) = watch::channel(None);
        let number = state.next;
        state.next += 1;
        state.fillings.insert(Arc::clone(key), (number, receiver));
        Begun::Fills(Filling {
            store: Arc::clone(self),
            key: Arc::clone(key),
            number,
            sender,
            alone: None,
        })
    }

    /// Has the caller make a value for itself alone: it sees `seen` changes of the key that are not made yet.
    pub(crate) fn begin_alone(self: &Arc<Self>, key: &Arc<str>, seen: usize) -> Filling<V> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let alone = state.alone.entry(Arc::clone(key)).or_default();
        alone.fillings += 1;
        let outdated_after = alone.changes + seen as u64;
        Filling {
            store: Arc::clone(self),
            key: Arc::clone(key),
            number,
            sender: watch::channel(None).0,
            alone: Some(outdated_after),
        }
    }
}

impl CacheStore {
    /// Adds to the number of a key, and returns the sum. A key that is new counts until `until`.
    ///
    /// # Errors
    /// The value is not a whole number, or the sum is too large. Nothing is changed then.
    pub(crate) fn add(
        &self,
        key: &Arc<str>,
        by: i64,
        until: Option<Duration>,
    ) -> Result<i64, Error> {
        let mut state = self.lock();
        let before = state.entries.entry(key, now());
        let (sum, entry) = added(before.as_ref(), by, until)?;
        state.change(key, Some(entry));
        Ok(sum)
    }
}

impl<V: Weighed> State<V> {
    fn change(&mut self, key: &Arc<str>, entry: Option<Entry<V>>) {
        self.fillings.remove(key);
        if let Some(alone) = self.alone.get_mut(key) {
            alone.changes += 1;
        }
        match entry {
            Some(entry) => self.entries.insert(Arc::clone(key), entry),
            None => self.entries.remove(key),
        }
    }
}

impl<V: Weighed> Filling<V> {
    /// Returns the key.
    pub(crate) fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// Gives the value to those who wait. It is kept, unless the key was changed since it was begun.
    pub(crate) fn finish(self, entry: Entry<V>) {
        let value = Arc::clone(&entry.value);
        let mut state = self.store.lock();
        let is_current = self.is_current(&state);
        // It counts also where it is not kept: those who have seen it before its commit expect that.
        if let Some(alone) = state.alone.get_mut(&self.key) {
            alone.changes += 1;
        }
        if is_current {
            state.fillings.remove(&self.key);
            state.entries.insert(Arc::clone(&self.key), entry);
        }
        drop(state);
        self.give(value);
    }

    /// Reports whether others may wait for the value.
    pub(crate) fn is_awaited(&self) -> bool {
        self.alone.is_none()
    }

    /// Lets the next one try, where others may have seen the value before its commit.
    pub(crate) fn give_up(self) {
        self.store.note_unmade(&self.key, false);
    }

    /// Gives the value to those who wait, and does not keep it.
    pub(crate) fn give(self, value: Arc<V>) {
        self.sender.send_replace(Some(Made::Value(value)));
    }

    /// Tells those who wait that the function has failed. One of them may make the value by then.
    pub(crate) fn fail(self) {
        let sender = self.sender.clone();
        drop(self);
        sender.send_replace(Some(Made::Failed));
    }

    /// Reports whether the key was not changed since the filling was begun, but for the changes that its run saw.
    fn is_current(&self, state: &State<V>) -> bool {
        if let Some(outdated_after) = self.alone {
            let alone = state.alone.get(&self.key);
            return alone.is_some_and(|alone| alone.changes <= outdated_after);
        }
        let known = state.fillings.get(&self.key);
        known.is_some_and(|(number, _)| *number == self.number)
    }
}

impl<V: Weighed> Drop for Filling<V> {
    fn drop(&mut self) {
        let mut state = self.store.lock();
        match self.alone {
            None if self.is_current(&state) => {
                state.fillings.remove(&self.key);
            }
            None => {}
            Some(_) => {
                if let Some(alone) = state.alone.get_mut(&self.key) {
                    alone.fillings -= 1;
                    if alone.fillings == 0 {
                        state.alone.remove(&self.key);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
