//! The memory of a Lua state: counted and limited.
//!
//! Where there is none, LuaJIT puts its message on top of the stack. Functions that it has in assembler, such as
//! `tostring` and `string.sub`, leave the top where it was in a call before, which may be below their own frame: the
//! message would be written over the links of frames, and crash the process (`lj_err_mem` in its sources). So the top
//! is put right before LuaJIT is told. No function of its API does that, so it is done where it lies. A check at start
//! makes sure of the places.

use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The words of a coroutine (`lua_State` in `lj_obj.h`) that have the address of what all coroutines share, the base of
/// the frame that runs, and the top of the stack.
const SHARED_WORD: usize = 2;
const BASE_WORD: usize = 4;
const TOP_WORD: usize = 5;

/// The coroutine that runs is in one of so many words of what all share (`global_State`), which has some more.
const SHARED_WORDS: usize = 64;

/// The counters of a state's allocator.
pub(crate) struct Memory {
    used: Cell<usize>,
    max: usize,
    refusals: Cell<usize>,
    /// The place where LuaJIT has the coroutine that runs; null until that is known.
    running: Cell<*const State>,
}

impl Memory {
    /// Creates counters for at most `max` bytes, of which none is used yet.
    pub(super) fn new(max: usize) -> Self {
        Self {
            used: Cell::new(0),
            max,
            refusals: Cell::new(0),
            running: Cell::new(ptr::null()),
        }
    }

    /// Looks for the coroutine that runs where LuaJIT has it. Reports whether all is in place. Under protection.
    pub(crate) unsafe fn find_running(&self, state: State) -> bool {
        let mut noted = u64::MAX;
        // SAFETY: under protection; nothing on this frame has a destructor. The coroutines are on the stack while they
        // run, and the mask outlives them. What all coroutines share lives as long as the state.
        unsafe {
            // The collector has a coroutine in words of its own while it looks at it.
            lua_gc(state, LUA_GCSTOP, 0);
            for _ in 0..2 {
                let thread = lua_newthread(state);
                lua_pushcfunction(thread, note_running);
                lua_pushlightuserdata(thread, (&raw mut noted).cast());
                if lua_resume_(thread, 1) != LUA_OK {
                    noted = 0;
                }
                lua_pop(state, 1);
            }
            lua_gc(state, LUA_GCRESTART, 0);
            if noted.count_ones() != 1 {
                return false;
            }
            let shared = state.cast::<*const State>().add(SHARED_WORD).read();
            self.running
                .set(shared.add(noted.trailing_zeros() as usize));
        }
        true
    }

    /// Counts a request for memory that is not met, and puts the top of the stack right.
    #[cold]
    fn refuse(&self) {
        self.refusals.set(self.refusals.get() + 1);
        self.raise_top();
    }

    /// Puts the top of the stack right that LuaJIT is about to put its message on: not below the frame that runs.
    fn raise_top(&self) {
        // SAFETY: LuaJIT has the coroutine that runs there, or null (`find_running`). It is alive, and nothing else
        // uses its words while LuaJIT asks for memory. A top that is not below the base stays; one that is belongs to
        // no value.
        unsafe {
            let Some(running) = self.running.get().as_ref() else {
                return;
            };
            if running.is_null() {
                return;
            }
            let words = running.cast::<usize>();
            let base = words.add(BASE_WORD).read();
            if words.add(TOP_WORD).read() < base {
                words.add(TOP_WORD).write(base);
            }
        }
    }

    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    /// The number of requests for memory that were not met.
    pub(crate) fn refusals(&self) -> usize {
        self.refusals.get()
    }
}

/// In a coroutine: leaves those bits in the mask that is argument 1 that stand for words with this coroutine; none
/// where its base and top are not in place.
unsafe extern "C-unwind" fn note_running(state: State) -> c_int {
    // SAFETY: `find_running` passed a mask, which lives longer. The words lie in structures of LuaJIT that are larger
    // and alive.
    unsafe {
        let noted = &mut *lua_touserdata(state, 1).cast::<u64>();
        let words = state.cast::<usize>();
        let height = || {
            let (base, top) = (words.add(BASE_WORD).read(), words.add(TOP_WORD).read());
            top.wrapping_sub(base) / size_of::<u64>()
        };
        let before = height();
        lua_pushnil(state);
        if (before, height()) != (1, 2) {
            *noted = 0;
        }
        let shared = state.cast::<*const State>().add(SHARED_WORD).read();
        for at in 0..SHARED_WORDS {
            if shared.add(at).read() != state {
                *noted &= !(1 << at);
            }
        }
        0
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
            memory.refuse();
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
        if fresh.is_null() {
            memory.refuse();
        } else {
            memory.used.set(used);
        }
        fresh.cast()
    }
}
