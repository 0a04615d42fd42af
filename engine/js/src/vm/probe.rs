//! A QuickJS runtime of its own, in which the places of QuickJS's data are found out.
//!
//! QuickJS has no functions for some of the data that this engine reads or writes. Their places are the same in every
//! runtime of a process, so they are looked for once, in a runtime that runs nothing else. Its allocator records each
//! block, and fills it with zeros: the probe reads an address only where all of the value lies in one live block.

pub(crate) mod places;

use crate::vm::memory::{CountingAllocator, Memory};
use crate::vm::sys::{Cx, RawValue};
use rquickjs::allocator::Allocator;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The memory that the probe may use, in bytes. It needs about 1 MiB.
const MEMORY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A runtime whose blocks are known.
pub(crate) struct Probe {
    blocks: Rc<Blocks>,
    context: rquickjs::Context,
}

impl Probe {
    /// Makes the runtime. `None` if there is no memory for it.
    pub(crate) fn new() -> Option<Self> {
        let blocks = Rc::new(Blocks::default());
        let allocator = RecordingAllocator {
            allocator: CountingAllocator(Memory::new(MEMORY_BYTES_MAX, Arc::default())),
            blocks: blocks.clone(),
        };
        let runtime = rquickjs::Runtime::new_with_alloc(allocator).ok()?;
        let context = rquickjs::Context::full(&runtime).ok()?;
        Some(Self { blocks, context })
    }

    /// The context. It has no [`Core`](crate::vm::isolate::Core).
    pub(crate) fn cx(&self) -> Cx<'_> {
        // SAFETY: the context lives as long as `self`, which the result borrows.
        unsafe { Cx::from_raw(self.context.as_raw().as_ptr()) }
    }

    /// Reads a number of 16 bits, if all of it lies in one live block.
    pub(crate) fn short(&self, address: usize) -> Option<u16> {
        self.read(address)
    }

    /// Reads a number of 32 bits, if all of it lies in one live block.
    pub(crate) fn int(&self, address: usize) -> Option<u32> {
        self.read(address)
    }

    /// Reads a word, if all of it lies in one live block.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        self.read(address)
    }

    /// Reads the tag of a script's value, and the integer in it, if all of the value lies in one live block.
    pub(crate) fn tag_and_int(&self, address: usize) -> Option<(u64, i32)> {
        const { assert!(size_of::<RawValue<'_>>() == 16, "a value has two words") };
        let tag = self.read::<u64>(address.checked_add(size_of::<u64>())?)?;
        Some((tag, self.read(address)?))
    }

    /// Reads some bytes, if all of them lie in one live block.
    pub(crate) fn bytes(&self, address: usize, count: usize) -> Option<Vec<u8>> {
        (0..count)
            .map(|at| self.read(address.checked_add(at)?))
            .collect()
    }

    /// Returns the number of bytes from an address to the end of the live block that it lies in.
    pub(crate) fn room(&self, address: usize) -> usize {
        self.blocks.find(address).map_or(0, |(_, room)| room)
    }

    /// Returns a pointer to an address, if it lies in a live block.
    pub(crate) fn pointer(&self, address: usize) -> Option<*mut u8> {
        self.blocks.find(address).map(|(place, _)| place)
    }

    /// Writes a number, if all of it lies in one live block. Reports whether it does.
    ///
    /// # Safety
    /// QuickJS must be sound with this number at this address.
    pub(crate) unsafe fn write_int(&self, address: usize, value: u32) -> bool {
        let Some((place, _)) = self
            .blocks
            .find(address)
            .filter(|(_, room)| *room >= size_of::<u32>())
        else {
            return false;
        };
        // SAFETY: the number lies in a live block. The caller promises that QuickJS accepts it.
        unsafe { place.cast::<u32>().write_unaligned(value) };
        true
    }

    fn read<T: Number>(&self, address: usize) -> Option<T> {
        let (place, room) = self.blocks.find(address)?;
        if room < size_of::<T>() {
            return None;
        }
        // SAFETY: the bytes lie in a live block, which was filled with zeros before QuickJS wrote to it. They may be
        // anything, and so may a number. QuickJS runs on this thread only, and runs nothing now.
        Some(unsafe { place.cast::<T>().read_unaligned() })
    }
}

/// A type of which all bytes are valid.
///
/// # Safety
/// Each combination of bytes must be a value of the type.
unsafe trait Number: Copy {}
// SAFETY: each combination of bytes is an integer.
unsafe impl Number for u8 {}
// SAFETY: each combination of bytes is an integer.
unsafe impl Number for u16 {}
// SAFETY: each combination of bytes is an integer.
unsafe impl Number for u32 {}
// SAFETY: each combination of bytes is an integer.
unsafe impl Number for i32 {}
// SAFETY: each combination of bytes is an integer.
unsafe impl Number for u64 {}
// SAFETY: each combination of bytes is an integer.
unsafe impl Number for usize {}

/// The live blocks of a runtime: the beginning and the length of each, by its address.
#[derive(Default)]
struct Blocks(RefCell<BTreeMap<usize, (*mut u8, usize)>>);

impl Blocks {
    fn add(&self, block: *mut u8, bytes: usize) {
        if !block.is_null() {
            self.0.borrow_mut().insert(block.addr(), (block, bytes));
        }
    }

    fn remove(&self, block: *mut u8) {
        self.0.borrow_mut().remove(&block.addr());
    }

    /// Returns a pointer to an address within a live block, and the number of bytes from there to the block's end.
    fn find(&self, address: usize) -> Option<(*mut u8, usize)> {
        let blocks = self.0.borrow();
        let (start, (block, bytes)) = blocks.range(..=address).next_back()?;
        let offset = address - start;
        // SAFETY: the offset is less than the length of the block.
        (offset < *bytes).then(|| (unsafe { block.add(offset) }, bytes - offset))
    }
}

/// Records the blocks that it hands out.
struct RecordingAllocator {
    allocator: CountingAllocator,
    blocks: Rc<Blocks>,
}

// SAFETY: each block comes from `CountingAllocator`, which keeps this contract, and goes back to it.
unsafe impl Allocator for RecordingAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.calloc(1, size)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let block = self.allocator.calloc(count, size);
        self.blocks.add(block, count.saturating_mul(size));
        block
    }

    // SAFETY: the caller gives a block of this allocator.
    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        self.blocks.remove(ptr);
        // SAFETY: the caller gives a block of this allocator, and all of those come from `self.allocator`.
        unsafe { self.allocator.dealloc(ptr) };
    }

    // SAFETY: the caller gives a block of this allocator, or null.
    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        let block = self.alloc(new_size);
        if !ptr.is_null() && !block.is_null() {
            // SAFETY: both are live blocks of this allocator, and different ones. So many bytes are in each of them.
            unsafe {
                let bytes = CountingAllocator::usable_size(ptr).min(new_size);
                block.copy_from_nonoverlapping(ptr, bytes);
                self.dealloc(ptr);
            }
        }
        block
    }

    // SAFETY: the caller gives a block of this allocator.
    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the caller gives a live block of this allocator, and all of those come from a `CountingAllocator`.
        unsafe { CountingAllocator::usable_size(ptr) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stay_within_live_blocks() {
        let blocks = Rc::new(Blocks::default());
        let mut allocator = RecordingAllocator {
            allocator: CountingAllocator(Memory::new(MEMORY_BYTES_MAX, Arc::default())),
            blocks: blocks.clone(),
        };
        let room = |address: usize| blocks.find(address).map(|(_, room)| room);
        let block = allocator.alloc(24);
        let start = block.addr();
        assert_eq!(room(start), Some(24));
        assert_eq!(room(start + 23), Some(1));
        assert_eq!(room(start + 24), None);
        assert_eq!(room(start - 1), None);
        // SAFETY: the block is live, and is not used after the call.
        let grown = unsafe { allocator.realloc(block, 100) };
        assert_eq!(room(grown.addr() + 40), Some(60));
        // SAFETY: the block is live, and is not used after the call.
        unsafe { allocator.dealloc(grown) };
        assert_eq!(room(grown.addr()), None);
    }
}
