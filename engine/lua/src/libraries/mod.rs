//! The libraries of scripts that are more than a choice of LuaJIT's functions: modules, environments, `debug`, `utf8`,
//! `string.buffer`, and what the sandbox refuses. Each is a chunk of Lua.

pub(crate) mod chunk;
pub(crate) mod traceback;

use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::ffi::{CStr, c_int};

/// Names and texts, in the order in which they run: a later one may use what an earlier one made.
const CHUNKS: [(&CStr, &str); 6] = [
    (c"=[environments]", include_str!("environments.lua")),
    (c"=[debug]", include_str!("debug.lua")),
    (c"=[utf8]", include_str!("utf8.lua")),
    (c"=[buffer]", include_str!("buffer.lua")),
    (c"=[refused]", include_str!("refused.lua")),
    (c"=[modules]", include_str!("modules.lua")),
];

/// The other chunks of Lua that are the server's.
const OTHERS: [&str; 7] = [
    "[sampan]",
    "[chain]",
    "[rows]",
    "[pattern]",
    "[sandbox]",
    "[worlds]",
    "[copy]",
];

/// Reports whether `name`, as it stands in a message, is a chunk of the server's, whose lines tell a reader of the log
/// nothing.
pub(crate) fn is_own_chunk(name: &str) -> bool {
    let is_library = |(chunk, _): &(&CStr, &str)| &chunk.to_bytes()[1..] == name.as_bytes();
    OTHERS.contains(&name) || CHUNKS.iter().any(is_library)
}

/// Adds the libraries to the globals of the scripts. The three indices are of LuaJIT's own globals, the host's table
/// and the globals of the scripts. May raise; called under protection.
pub(crate) unsafe fn open(state: State, own: c_int, host: c_int, env: c_int) {
    // SAFETY: under protection; no destructors on this frame.
    unsafe {
        for (name, text) in CHUNKS {
            chunk::push(state, text, name);
            lua_pushvalue(state, own);
            lua_pushvalue(state, host);
            lua_pushvalue(state, env);
            lua_call(state, 3, 0);
        }
    }
}

/// `host.interpreted(fn)`: a function that calls `fn` through C, so that LuaJIT never compiles it.
pub(crate) unsafe extern "C-unwind" fn interpreted(state: State) -> c_int {
    // SAFETY: called under protection; no destructors on this frame.
    unsafe {
        lua_settop(state, 1);
        lua_pushcclosure(state, call_interpreted, 1);
        1
    }
}

unsafe extern "C-unwind" fn call_interpreted(state: State) -> c_int {
    // SAFETY: Lua calls this with the function as its first upvalue and room for `LUA_MINSTACK` more values. What the
    // call raises passes a frame without destructors.
    unsafe {
        lua_pushvalue(state, lua_upvalueindex(1));
        lua_insert(state, 1);
        lua_call(state, lua_gettop(state) - 1, LUA_MULTRET);
        lua_gettop(state)
    }
}
