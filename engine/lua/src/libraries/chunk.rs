//! The server's own chunks of Lua. The first isolate of a process compiles them, and the others load the bytecode of
//! that: half of what an isolate costs would be compiling the same texts again.

use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytecode by the address of its text, for as long as the process lives.
static COMPILED: Mutex<Vec<(usize, &'static [u8])>> = Mutex::new(Vec::new());

fn compiled() -> MutexGuard<'static, Vec<(usize, &'static [u8])>> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pushes the function that a chunk is. Raises if it does not compile; called under protection.
pub(crate) unsafe fn push(state: State, text: &'static str, name: &CStr) {
    let bytecode = bytecode_of(text);
    let chunk = bytecode.unwrap_or(text.as_bytes());
    // SAFETY: under protection; no destructors on this frame. Bytecode is what this process has written.
    unsafe {
        if luaL_loadbuffer(state, chunk.as_ptr().cast(), chunk.len(), name.as_ptr()) != LUA_OK {
            lua_error(state);
        }
        if bytecode.is_none() {
            keep(state, text);
        }
    }
}

fn bytecode_of(text: &'static str) -> Option<&'static [u8]> {
    let compiled = compiled();
    let found = compiled
        .iter()
        .find(|(address, _)| *address == text.as_ptr() as usize);
    found.map(|(_, bytecode)| *bytecode)
}

/// Keeps the bytecode of the function on top, with its names and lines.
unsafe fn keep(state: State, text: &'static str) {
    let mut bytecode: Vec<u8> = Vec::new();
    // SAFETY: LuaJIT writes a dump under protection of its own and returns a status: nothing unwinds over the vector.
    let status = unsafe { lua_dump_(state, write, (&raw mut bytecode).cast()) };
    if status == 0 {
        compiled().push((text.as_ptr() as usize, Vec::leak(bytecode)));
    }
}

unsafe extern "C-unwind" fn write(
    _: State,
    bytes: *const c_void,
    length: usize,
    out: *mut c_void,
) -> c_int {
    // SAFETY: called by `lua_dump` alone, with a piece of memory and the vector of `keep`.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast(), length);
        (*out.cast::<Vec<u8>>()).extend_from_slice(bytes);
    }
    0
}
