//! Numbers for what C holds: an index, a generation that changes when the place is used again, and the kind.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kind of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleKind {
    Server = 1,
    Scripts = 2,
    Reply = 3,
    Request = 4,
    Stream = 5,
}

/// Bits of a number: 4 of the kind, 32 of the generation, 4 of the shard, 24 of the index.
const INDEX_BITS: u32 = 24;
const SHARD_BITS: u32 = 4;
const SHARDS: usize = 1 << SHARD_BITS;

/// A table of one kind, in parts with a lock each. Places are never given back to the system, so the generations of the
/// past are known.
pub(crate) struct Handles<T> {
    kind: HandleKind,
    shards: [Mutex<Shard<T>>; SHARDS],
}

struct Shard<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    /// The reason why the one before ended, as its owner calls it.
    end: i32,
    value: Option<T>,
}

/// The reason why a number is not a valid handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHandle {
    /// The number was never valid, or long ago.
    Unknown,
    /// The handle ended with this status.
    Ended(i32),
}

impl<T> Handles<T> {
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Self {
            kind,
            shards: [const {
                Mutex::new(Shard {
                    slots: Vec::new(),
                    free: Vec::new(),
                })
            }; SHARDS],
        }
    }

    fn shard(&self, shard: usize) -> MutexGuard<'_, Shard<T>> {
        let shard = &self.shards[shard % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value, in this shard; `None` if there are as many as can be.
    pub(crate) fn insert(&self, shard: usize, value: T) -> Option<u64> {
        let shard_index = shard % SHARDS;
        let mut shard = self.shard(shard);
        let index = match shard.free.pop() {
            Some(index) => index,
            None if shard.slots.len() >> INDEX_BITS == 0 => {
                shard.slots.push(Slot {
                    generation: 1,
                    end: 0,
                    value: None,
                });
                shard.slots.len() as u32 - 1
            }
            None => return None,
        };
        let slot = &mut shard.slots[index as usize];
        slot.value = Some(value);
        let number = u64::from(slot.generation) << (INDEX_BITS + SHARD_BITS)
            | (shard_index as u64) << INDEX_BITS
            | u64::from(index);
        Some((self.kind as u64) << 60 | number)
    }

    /// Does something with a value under its lock. What `with` gives as second ends the value, for the reason that it
    /// says.
    pub(crate) fn with<R>(
        &self,
        handle: u64,
        with: impl FnOnce(&mut T) -> (R, Option<i32>),
    ) -> Result<R, NoHandle> {
        if handle >> 60 != self.kind as u64 {
            return Err(NoHandle::Unknown);
        }
        let index = (handle & ((1 << INDEX_BITS) - 1)) as usize;
        let generation = (handle >> (INDEX_BITS + SHARD_BITS)) as u32;
        let mut shard = self.shard((handle >> INDEX_BITS) as usize);
        let Some(slot) = shard.slots.get_mut(index) else {
            return Err(NoHandle::Unknown);
        };
        if slot.generation != generation {
            return Err(match slot.generation.wrapping_sub(generation) {
                1 => NoHandle::Ended(slot.end),
                _ => NoHandle::Unknown,
            });
        }
        let Some(value) = &mut slot.value else {
            return Err(NoHandle::Unknown);
        };
        let (result, end) = with(value);
        let ended = end.map(|end| {
            slot.end = end;
            slot.generation = slot.generation.wrapping_add(1).max(1);
            slot.value.take()
        });
        if ended.is_some() {
            shard.free.push(index as u32);
        }
        // Its destructor may come back here.
        drop(shard);
        drop(ended);
        Ok(result)
    }

    /// Takes a value out. The number stands for nothing from now on.
    pub(crate) fn remove(&self, handle: u64) -> Result<T, NoHandle>
    where
        T: Clone,
    {
        self.with(handle, |value| (value.clone(), Some(0)))
    }

    /// The value of a number.
    pub(crate) fn get(&self, handle: u64) -> Result<T, NoHandle>
    where
        T: Clone,
    {
        self.with(handle, |value| (value.clone(), None))
    }

    /// Ends all values of which that is to be said.
    pub(crate) fn end_where(&self, is_to_end: impl Fn(&T) -> bool, end: i32) {
        for shard in 0..SHARDS {
            let mut ended = Vec::new();
            let mut shard = self.shard(shard);
            let Shard { slots, free } = &mut *shard;
            for (index, slot) in slots.iter_mut().enumerate() {
                if slot.value.as_ref().is_some_and(&is_to_end) {
                    slot.end = end;
                    slot.generation = slot.generation.wrapping_add(1).max(1);
                    ended.extend(slot.value.take());
                    free.push(index as u32);
                }
            }
            drop(shard);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_one_value_and_never_for_the_next() {
        static TABLE: Handles<&str> = Handles::new(HandleKind::Reply);
        let first = TABLE.insert(0, "first").expect("room");
        assert_eq!(TABLE.get(first), Ok("first"));
        assert_eq!(TABLE.remove(first), Ok("first"));
        assert_eq!(TABLE.remove(first), Err(NoHandle::Ended(0)));
        let second = TABLE.insert(0, "second").expect("room");
        assert_ne!(first, second);
        assert_eq!(TABLE.get(first), Err(NoHandle::Ended(0)));
        TABLE.end_where(|_| true, 7);
        assert_eq!(TABLE.get(second), Err(NoHandle::Ended(7)));
        assert_eq!(TABLE.get(first), Err(NoHandle::Unknown));
        for other in [0, 1, u64::MAX, second ^ 1 << 60, second | 1 << 20] {
            assert_eq!(TABLE.get(other), Err(NoHandle::Unknown), "{other:x}");
        }
    }
}
