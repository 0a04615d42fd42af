//! The memory of an isolate: counted, limited, and running out in good order.
//!
//! QuickJS keeps small blocks in arenas of its own, so what arrives here is arenas and large blocks. A large block
//! beyond the limit is refused, which is an error that a script can catch. An arena beyond it is still given, from a
//! reserve, so that errors can be made and destructors run; but the script that needed it is stopped.

use crate::vm::interrupts::PollCounter;
use rquickjs::allocator::Allocator;
use rquickjs::qjs;
use sampan_host::Watch;
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;

/// The memory for errors and destructors may use beyond the limit, in bytes.
const RESERVE_BYTES: usize = 1024 * 1024;

/// Blocks up to this size, in bytes, may come from the reserve. An arena of QuickJS has 4 KiB.
const SMALL_BYTES_MAX: usize = 20 * 1024;

/// The threshold of a runtime that does not collect, in bytes.
pub(crate) const NEVER_COLLECT: usize = usize::MAX;

/// Before each block stands its size.
const HEADER_BYTES: usize = 16;

/// The memory of an isolate, and its limit.
pub(crate) struct Memory {
    used: Cell<usize>,
    limit: usize,
    is_exhausted: Cell<bool>,
    /// The poll counter of the context, to stop a script at once.
    counter: Cell<Option<PollCounter>>,
    /// The runtime that uses it; null until there is one.
    runtime: Cell<*mut qjs::JSRuntime>,
    watch: Arc<Watch>,
}

impl Memory {
    /// Memory of at most `limit` bytes.
    pub(crate) fn new(limit: usize, watch: Arc<Watch>) -> Rc<Self> {
        let (used, is_exhausted, counter) = (Cell::new(0), Cell::new(false), Cell::new(None));
        Rc::new(Self {
            used,
            limit,
            is_exhausted,
            counter,
            runtime: Cell::new(null_mut()),
            watch,
        })
    }

    /// The bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    /// Reports whether the reserve has been touched.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// A new run may try again.
    #[inline]
    pub(crate) fn begin(&self) {
        if self.is_exhausted.get() {
            self.is_exhausted.set(false);
        }
    }

    /// Names the runtime that uses this memory, and the poll counter of its context.
    ///
    /// # Safety
    /// Both must stay alive until [`Self::part`] is called.
    pub(crate) unsafe fn serve(&self, runtime: *mut qjs::JSRuntime, counter: Option<PollCounter>) {
        self.runtime.set(runtime);
        self.counter.set(counter);
    }

    /// Forgets the runtime and the counter, which are about to be freed.
    pub(crate) fn part(&self) {
        self.runtime.set(null_mut());
        self.counter.set(None);
    }

    /// Counts a block that grows from `old` to `new` bytes; false if that is too much.
    #[inline]
    fn grow(&self, old: usize, new: usize) -> bool {
        let used = self.used.get() - old + new;
        if new > old {
            if used > self.limit && !self.allows(used, new) {
                return self.refuse();
            }
            // Built-ins that fill a buffer without polling end here when the script must stop.
            if new > SMALL_BYTES_MAX && self.watch.must_stop() {
                return self.refuse();
            }
        }
        self.used.set(used);
        true
    }

    /// Counts a block that was made elsewhere; false if that is too much.
    pub(crate) fn adopt(&self, bytes: usize) -> bool {
        self.grow(0, bytes)
    }

    /// Such a block is gone, or no longer here.
    pub(crate) fn release(&self, bytes: usize) {
        self.grow(bytes, 0);
    }

    /// QuickJS answers a refusal with an error object, which may be reason enough to collect; and it may ask for the
    /// block while the shape of an object is in no list of its collector (`resize_properties`), which crashes a
    /// collection. So nothing is collected until the run has ended.
    #[cold]
    fn refuse(&self) -> bool {
        if !self.runtime.get().is_null() {
            // SAFETY: the runtime is alive (`serve`). This sets a number.
            unsafe { qjs::JS_SetGCThreshold(self.runtime.get(), NEVER_COLLECT as _) };
        }
        false
    }

    #[cold]
    fn allows(&self, used: usize, size: usize) -> bool {
        if size > SMALL_BYTES_MAX || used > self.limit + RESERVE_BYTES {
            return false;
        }
        self.is_exhausted.set(true);
        if let Some(counter) = self.counter.get() {
            counter.expire();
        }
        true
    }
}

/// The allocator of QuickJS.
pub(crate) struct CountingAllocator(pub(crate) Rc<Memory>);

impl CountingAllocator {
    fn take(&self, size: usize, allocate: unsafe fn(Layout) -> *mut u8) -> *mut u8 {
        let Some(total) = size.checked_add(HEADER_BYTES) else {
            return null_mut();
        };
        let Ok(layout) = Layout::from_size_align(total, HEADER_BYTES) else {
            return null_mut();
        };
        if !self.0.grow(0, total) {
            return null_mut();
        }
        // SAFETY: the layout has a size; the header lies before the block that is handed out.
        unsafe {
            let block = allocate(layout);
            if block.is_null() {
                self.0.grow(total, 0);
                return block;
            }
            block.cast::<usize>().write(total);
            block.add(HEADER_BYTES)
        }
    }
}

// SAFETY: blocks have the size asked for, are aligned to 16 bytes and carry their size; `realloc` keeps their content.
unsafe impl Allocator for CountingAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.take(size, std::alloc::alloc)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        count
            .checked_mul(size)
            .map_or(null_mut(), |size| self.take(size, std::alloc::alloc_zeroed))
    }

    // SAFETY: the caller gives a block of this allocator.
    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the block came from here, so its header and its layout are known.
        unsafe {
            let block = ptr.sub(HEADER_BYTES);
            let total = block.cast::<usize>().read();
            self.0.grow(total, 0);
            std::alloc::dealloc(
                block,
                Layout::from_size_align_unchecked(total, HEADER_BYTES),
            );
        }
    }

    // SAFETY: the caller gives a block of this allocator, or null.
    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        if ptr.is_null() {
            return self.alloc(new_size);
        }
        let Some(total) = new_size.checked_add(HEADER_BYTES) else {
            return null_mut();
        };
        if Layout::from_size_align(total, HEADER_BYTES).is_err() {
            return null_mut();
        }
        // SAFETY: the block came from here; the new size is a valid layout.
        unsafe {
            let block = ptr.sub(HEADER_BYTES);
            let old = block.cast::<usize>().read();
            if !self.0.grow(old, total) {
                return null_mut();
            }
            let moved = std::alloc::realloc(
                block,
                Layout::from_size_align_unchecked(old, HEADER_BYTES),
                total,
            );
            if moved.is_null() {
                self.0.grow(total, old);
                return moved;
            }
            moved.cast::<usize>().write(total);
            moved.add(HEADER_BYTES)
        }
    }

    // SAFETY: the caller gives a block of this allocator.
    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the caller gives a live block of this allocator, which has its whole size in a header in front of it.
        unsafe { ptr.sub(HEADER_BYTES).cast::<usize>().read() - HEADER_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_and_limited() {
        let memory = Memory::new(100_000, Arc::default());
        let mut counted = CountingAllocator(memory.clone());
        // SAFETY: blocks are used as they were asked for and released once.
        unsafe {
            let block = counted.alloc(50_000);
            block.write_bytes(7, 50_000);
            assert_eq!(CountingAllocator::usable_size(block), 50_000);
            assert!(counted.alloc(60_000).is_null() && !memory.is_exhausted());
            let block = counted.realloc(block, 90_000);
            assert_eq!(block.add(49_999).read(), 7);
            assert!(counted.realloc(block, 100_000).is_null());
            let small = counted.calloc(100, 100);
            assert!(!small.is_null() && small.add(9_999).read() == 0 && memory.is_exhausted());
            counted.dealloc(small);
            counted.dealloc(block);
        }
        assert_eq!(memory.used(), 0);
    }
}
