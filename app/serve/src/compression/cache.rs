//! Compressed bodies by what they were before. A body is found by its hash and then compared: two that have one hash
//! are still two.

use foldhash::fast::RandomState;
use hashlink::LruCache;
use sampan_host::request::Coding;
use std::hash::BuildHasher;
use std::sync::Arc;

/// The size of an entry without its bodies, in bytes.
const ENTRY_BYTES: usize = 160;
/// The part of all room that one body may take.
const PART: usize = 8;

/// The bodies that were asked for last.
pub(super) struct BodyCache {
    /// Seeded at random, so that a client cannot choose bodies with one hash.
    hasher: RandomState,
    entries: LruCache<(u64, u8), Entry, RandomState>,
    bytes: usize,
    bytes_max: usize,
}

struct Entry {
    plain: Box<[u8]>,
    /// `None` where it would be no smaller.
    compressed: Option<Arc<[u8]>>,
}

impl Entry {
    fn bytes(&self) -> usize {
        let compressed = self.compressed.as_ref().map_or(0, |bytes| bytes.len());
        ENTRY_BYTES + self.plain.len() + compressed
    }
}

impl BodyCache {
    /// An empty one that holds so many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            hasher: RandomState::default(),
            // What counts are bytes.
            entries: LruCache::with_hasher(usize::MAX, RandomState::default()),
            bytes: 0,
            bytes_max,
        }
    }

    /// The hash of a body.
    pub(super) fn hash(&self, plain: &[u8]) -> u64 {
        self.hasher.hash_one(plain)
    }

    /// Returns the encoded body in a coding, if that is known.
    pub(super) fn get(
        &mut self,
        hash: u64,
        coding: Coding,
        plain: &[u8],
    ) -> Option<Option<Arc<[u8]>>> {
        let entry = self.entries.get(&(hash, coding as u8))?;
        (*entry.plain == *plain).then(|| entry.compressed.clone())
    }

    /// Keeps the compressed form of a body, in place of those that were used least recently.
    pub(super) fn put(
        &mut self,
        hash: u64,
        coding: Coding,
        plain: &[u8],
        compressed: Option<Arc<[u8]>>,
    ) {
        let entry = Entry {
            plain: plain.into(),
            compressed,
        };
        let bytes = entry.bytes();
        if bytes > self.bytes_max / PART {
            return;
        }
        self.bytes += bytes;
        if let Some(old) = self.entries.insert((hash, coding as u8), entry) {
            self.bytes -= old.bytes();
        }
        while self.bytes > self.bytes_max
            && let Some((_, oldest)) = self.entries.remove_lru()
        {
            self.bytes -= oldest.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(cache: &mut BodyCache, plain: &[u8]) -> Option<Option<Arc<[u8]>>> {
        let hash = cache.hash(plain);
        cache.get(hash, Coding::Gzip, plain)
    }

    fn keep(cache: &mut BodyCache, plain: &[u8]) {
        let hash = cache.hash(plain);
        cache.put(hash, Coding::Gzip, plain, Some(plain[..1].into()));
    }

    #[test]
    fn a_body_with_the_hash_of_another_is_not_taken_for_it() {
        let mut cache = BodyCache::new(1 << 20);
        cache.put(7, Coding::Gzip, b"mine", Some(b"m".as_slice().into()));
        assert_eq!(
            cache.get(7, Coding::Gzip, b"mine").flatten().as_deref(),
            Some(&b"m"[..])
        );
        assert!(cache.get(7, Coding::Gzip, b"your").is_none());
        assert!(cache.get(7, Coding::Zstd, b"mine").is_none());
        assert!(cache.get(8, Coding::Gzip, b"mine").is_none());
    }

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let mut cache = BodyCache::new(20_000);
        let page = |number: u32| format!("{number:0>1000}").into_bytes();
        keep(&mut cache, &page(0));
        for number in 1..1000 {
            keep(&mut cache, &page(number));
            assert!(known(&mut cache, &page(0)).is_some(), "{number}");
            assert!(cache.bytes <= cache.bytes_max);
        }
        assert!(known(&mut cache, &page(1)).is_none());
        assert!(known(&mut cache, &page(999)).is_some());
        let counted: usize = cache.entries.iter().map(|(_, entry)| entry.bytes()).sum();
        assert_eq!(cache.bytes, counted);
        keep(&mut cache, &[b'x'; 10_000]);
        assert!(
            known(&mut cache, &[b'x'; 10_000]).is_none(),
            "one body takes not all"
        );
        keep(&mut cache, &page(999));
        let counted: usize = cache.entries.iter().map(|(_, entry)| entry.bytes()).sum();
        assert_eq!(cache.bytes, counted);
    }
}
