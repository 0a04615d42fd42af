//! Room on the stacks of Lua.

use crate::vm::isolate::current;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use sampan_host::{Error, ErrorKind};
use std::ffi::{CStr, c_int};

/// The text with which LuaJIT itself fails where it has no memory (`LJ_ERR_ERRMEM` in `lj_errmsg.h`).
pub(crate) const NO_MEMORY: &CStr = c"not enough memory";
const NO_STACK: &CStr = c"stack overflow";

/// The reason why a stack cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackFull {
    /// The isolate has no memory for it.
    Memory,
    /// The number of values is the greatest that LuaJIT allows.
    Depth,
}

impl From<StackFull> for Error {
    fn from(full: StackFull) -> Self {
        match full {
            StackFull::Memory => current().limits.out_of_memory(),
            StackFull::Depth => Self::new(ErrorKind::Script, NO_STACK.to_string_lossy()),
        }
    }
}

/// Makes room for `count` more values on the stack of `state`. Never raises.
///
/// # Safety
/// The state must be one of the current isolate's.
pub(crate) unsafe fn make_room(state: State, count: c_int) -> Result<(), StackFull> {
    // SAFETY: the state is alive, as the caller promises. `lua_checkstack` catches its own errors.
    if unsafe { lua_checkstack(state, count) } != 0 {
        return Ok(());
    }
    // SAFETY: as for this function.
    unsafe { try_again(state, count) }
}

/// Tries once more, and finds the reason: LuaJIT does not tell it.
///
/// # Safety
/// As for [`make_room`].
#[cold]
unsafe fn try_again(state: State, count: c_int) -> Result<(), StackFull> {
    let memory = &current().memory;
    let refusals = memory.refusals();
    // SAFETY: the state is alive, as the caller promises. `lua_checkstack` catches its own errors.
    if unsafe { lua_checkstack(state, count) } != 0 {
        Ok(())
    } else if memory.refusals() == refusals {
        Err(StackFull::Depth)
    } else {
        Err(StackFull::Memory)
    }
}

/// Makes room for `count` more values on the stack of `state`, or raises.
///
/// # Safety
/// As for [`make_room`], and the caller must be under protection, with nothing on its frame that has a destructor.
pub(crate) unsafe fn need_room(state: State, count: c_int) {
    // SAFETY: as for this function.
    unsafe {
        if let Err(full) = make_room(state, count) {
            raise_full(state, full);
        }
    }
}

/// Raises the error of a stack that is full.
///
/// # Safety
/// The caller must be under protection on `state`, with nothing on its frame that has a destructor.
#[cold]
pub(crate) unsafe fn raise_full(state: State, full: StackFull) -> ! {
    // SAFETY: an error may leave the caller's frame, as it promises. The message of memory has no place in front of it,
    // so that `error::from_top` knows it. `lua_error` does not return.
    unsafe {
        match full {
            StackFull::Memory => {
                lua_pushstring(state, NO_MEMORY.as_ptr());
            }
            StackFull::Depth => {
                luaL_where(state, 1);
                lua_pushstring(state, NO_STACK.as_ptr());
                lua_concat(state, 2);
            }
        }
        lua_error(state)
    }
}
