//! The entries, in the order of their last use, bounded by bytes.

use crate::limits::ENTRY_BYTES;
use hashlink::LinkedHashMap;
use sampan_host::topics::Payload;
use std::sync::Arc;
use std::time::Duration;

/// A value that takes room in a cache.
pub(crate) trait Weighed {
    /// Returns the bytes of the value.
    fn weight(&self) -> usize;
}

impl Weighed for Payload {
    fn weight(&self) -> usize {
        self.bytes().len()
    }
}

/// A value and the time until which it counts.
#[derive(Debug)]
pub(crate) struct Entry<V = Payload> {
    pub(crate) value: Arc<V>,
    /// In the time of [`now`](crate::store::now); without one it counts until other entries need its room.
    pub(crate) until: Option<Duration>,
}

impl<V> Clone for Entry<V> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            until: self.until,
        }
    }
}

/// The entries of a cache.
pub(crate) struct Entries<V = Payload> {
    by_key: LinkedHashMap<Arc<str>, Entry<V>>,
    bytes: usize,
    bytes_max: usize,
}

impl<V: Weighed> Entries<V> {
    /// Creates a cache of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            by_key: LinkedHashMap::new(),
            bytes: 0,
            bytes_max,
        }
    }

    /// Returns the size that an entry counts.
    pub(crate) fn size(key: &str, value: &V) -> usize {
        key.len() + value.weight() + ENTRY_BYTES
    }

    /// Returns the most bytes of all entries.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns the value of a key that counts at `now`. It was used last from now on.
    pub(crate) fn get(&mut self, key: &str, now: Duration) -> Option<Arc<V>> {
        self.entry(key, now).map(|entry| entry.value)
    }

    /// Returns the entry of a key, as [`Entries::get`] its value.
    pub(crate) fn entry(&mut self, key: &str, now: Duration) -> Option<Entry<V>> {
        let entry = self.by_key.get(key)?;
        if entry.until.is_some_and(|until| until <= now) {
            self.remove(key);
            return None;
        }
        let entry = entry.clone();
        self.by_key.to_back(key);
        Some(entry)
    }

    /// Keeps a value, and removes the entries that were used the longest ago where it needs their room. A value that is
    /// larger than the cache is not kept.
    pub(crate) fn insert(&mut self, key: Arc<str>, entry: Entry<V>) {
        self.remove(&key);
        let size = Self::size(&key, &entry.value);
        if size > self.bytes_max {
            return;
        }
        while self.bytes + size > self.bytes_max {
            let Some((oldest, entry)) = self.by_key.pop_front() else {
                break;
            };
            self.bytes -= Self::size(&oldest, &entry.value);
        }
        self.bytes += size;
        self.by_key.insert(key, entry);
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: &str) {
        if let Some((key, entry)) = self.by_key.remove_entry(key) {
            self.bytes -= Self::size(&key, &entry.value);
        }
    }

    /// Removes all keys.
    pub(crate) fn clear(&mut self) {
        self.by_key.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(bytes: usize, until: Option<u64>) -> Entry {
        Entry {
            value: Arc::new(Payload::Bytes(vec![0; bytes])),
            until: until.map(Duration::from_secs),
        }
    }

    fn has(entries: &mut Entries, key: &str) -> bool {
        entries.get(key, Duration::ZERO).is_some()
    }

    #[test]
    fn those_that_were_used_the_longest_ago_go_first() {
        let size = ENTRY_BYTES + 1 + 10;
        let mut entries = Entries::new(3 * size);
        for key in ["a", "b", "c"] {
            entries.insert(key.into(), entry(10, None));
        }
        assert!(has(&mut entries, "a"));
        entries.insert("d".into(), entry(10, None));
        let there = ["a", "b", "c", "d"].map(|key| has(&mut entries, key));
        assert_eq!(there, [true, false, true, true]);
        // One that needs the room of two.
        entries.insert("e".into(), entry(10 + size, None));
        let there = ["a", "c", "d", "e"].map(|key| has(&mut entries, key));
        assert_eq!(there, [false, false, true, true]);
        assert_eq!(entries.bytes, 3 * size);
    }

    #[test]
    fn a_value_that_is_too_large_takes_the_place_of_none() {
        let mut entries = Entries::new(2 * ENTRY_BYTES);
        entries.insert("a".into(), entry(10, None));
        entries.insert("b".into(), entry(2 * ENTRY_BYTES, None));
        assert!(has(&mut entries, "a") && !has(&mut entries, "b"));
        // What it would have replaced is gone all the same.
        entries.insert("a".into(), entry(2 * ENTRY_BYTES, None));
        assert!(!has(&mut entries, "a"));
        assert_eq!(entries.bytes, 0);
    }

    #[test]
    fn an_entry_counts_until_its_time_is_over() {
        let mut entries = Entries::new(10_000);
        entries.insert("a".into(), entry(1, Some(10)));
        assert!(entries.get("a", Duration::from_millis(9_999)).is_some());
        assert!(entries.get("a", Duration::from_secs(10)).is_none());
        assert_eq!(entries.bytes, 0);
        entries.insert("a".into(), entry(1, None));
        entries.clear();
        assert!(!has(&mut entries, "a"));
        assert_eq!(entries.bytes, 0);
    }
}
