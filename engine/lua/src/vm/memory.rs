//! The memory of a Lua state: counted and limited.

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// The counters of a state's allocator.
pub(crate) struct Memory {
    used: Cell<usize>,
    max: usize,
}

impl Memory {
    /// Creates counters for at most `max` bytes, of which none is used yet.
    pub(super) fn new(max: usize) -> Self {
        Self {
            used: Cell::new(0),
            max,
        }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }
}

/// LuaJIT's allocator interface over Rust's global allocator, refusing what would pass the limit.
pub(super) unsafe extern "C" fn allocate(
    ud: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    /// The alignment of blocks of LuaJIT's own allocator (`MALLOC_ALIGNMENT` in `lj_alloc.c`), in bytes. With a greater
    /// one the process's allocator leaves its short path for every second block.
    const ALIGN: usize = 8;
    // SAFETY: `ud` is the `Memory` of this state, which outlives it; `block` and `old` describe a block that this
    // function returned; sizes of live blocks are valid layouts because they were when they were allocated.
    unsafe {
        let memory = &*ud.cast::<Memory>();
        let old = if block.is_null() { 0 } else { old };
        if new == 0 {
            if old > 0 {
                memory.used.set(memory.used.get() - old);
                alloc::dealloc(block.cast(), Layout::from_size_align_unchecked(old, ALIGN));
            }
            return ptr::null_mut();
        }
        let used = memory.used.get() - old + new;
        if new > old && used > memory.max {
            return ptr::null_mut();
        }
        let fresh = if old == 0 {
            alloc::alloc(Layout::from_size_align_unchecked(new, ALIGN))
        } else {
            alloc::realloc(
                block.cast(),
                Layout::from_size_align_unchecked(old, ALIGN),
                new,
            )
        };
        if !fresh.is_null() {
            memory.used.set(used);
        }
        fresh.cast()
    }
}
