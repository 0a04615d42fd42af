//! Members of objects in the order of their names.

use crate::values::layout::StackSlot;
use std::cmp::Ordering;

/// A member that waits for its turn.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    /// The first eight bytes of the name, in which most names differ, as a number that sorts like them.
    prefix: u64,
    name: *const u8,
    length: usize,
    pub(super) value: StackSlot,
}

impl Member {
    #[inline]
    pub(super) fn new(name: &[u8], value: StackSlot) -> Self {
        let mut start = [0; 8];
        let length = name.len().min(8);
        start[..length].copy_from_slice(&name[..length]);
        Self {
            prefix: u64::from_be_bytes(start),
            name: name.as_ptr(),
            length: name.len(),
            value,
        }
    }

    /// Returns the waiting value.
    pub(super) fn value(self) -> StackSlot {
        self.value
    }

    /// # Safety
    /// The table that has the name must be alive for `'a`.
    #[inline]
    pub(super) unsafe fn name<'a>(self) -> &'a [u8] {
        // SAFETY: the caller promises that the table is alive, and the table keeps its name; Lua's strings do not move.
        unsafe { std::slice::from_raw_parts(self.name, self.length) }
    }
}

impl Ord for Member {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| {
            // SAFETY: both are members of a table that is being written.
            unsafe { self.name().cmp(other.name()) }
        })
    }
}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Member {}
