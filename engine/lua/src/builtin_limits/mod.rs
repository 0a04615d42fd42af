//! Built-in functions that could run for long without being interrupted, and what bounds them.
//!
//! Hooks reach a script between two of its instructions, not inside of a function in C. [`install`] replaces those of
//! LuaJIT's functions that could take long there: the searches of `string` by ones that count their steps (`find.lua`
//! leaves plain text to LuaJIT's own), and two of `table` by wrappers in `table.lua`.

mod classes;
mod gsub;
mod matcher;
mod pattern;

use crate::libraries::chunk;
use crate::vm::limits;
use crate::vm::state::{State, push_text};
use mlua_sys::lua51::*;
use std::ffi::{CStr, c_int};

const TABLE: &str = include_str!("table.lua");
const FIND: &str = include_str!("find.lua");

/// The functions of `string` that are replaced.
const STRING: [(&CStr, lua_CFunction); 4] = [
    (c"find", pattern::find),
    (c"match", pattern::match_),
    (c"gmatch", pattern::gmatch),
    (c"gsub", gsub::gsub),
];

/// Replaces the functions in the libraries of the globals at `globals`, before any script has run.
///
/// # Safety
/// This may raise, so it must run under protection. The table of globals must lie at `globals`.
pub(crate) unsafe fn install(state: State, globals: c_int) {
    // SAFETY: the caller runs this under protection, and nothing on this frame has a destructor.
    unsafe {
        lua_getfield(state, globals, c"string".as_ptr());
        lua_getfield(state, -1, c"find".as_ptr());
        fill_string(state, lua_gettop(state) - 1);
        lua_pop(state, 1);
        chunk::push(state, TABLE, c"=[table]");
        lua_getfield(state, globals, c"table".as_ptr());
        lua_call(state, 1, 0);
    }
}

/// Pops LuaJIT's own `string.find` and sets the functions of [`STRING`] in the table at `string`.
///
/// # Safety
/// This may raise, so it must run under protection. `string.find` must be on top, and a table at `string`.
pub(crate) unsafe fn fill_string(state: State, string: c_int) {
    // SAFETY: the caller runs this under protection, and nothing on this frame has a destructor.
    unsafe {
        for (name, function) in STRING {
            lua_pushcfunction(state, function);
            lua_setfield(state, string, name.as_ptr());
        }
        chunk::push(state, FIND, c"=[string]");
        lua_insert(state, -2);
        lua_getfield(state, string, c"find".as_ptr());
        lua_call(state, 2, 1);
        lua_setfield(state, string, c"find".as_ptr());
    }
}

/// Raises what a match that was given up becomes in the script, with LuaJIT's own words.
///
/// # Safety
/// `state` must run on this thread in a C function under protection, whose frame has nothing to destroy.
unsafe fn raise(state: State, fault: matcher::MatchFailure) -> ! {
    use matcher::MatchFailure;
    let text = match fault {
        // SAFETY: called by a C function with nothing to destroy.
        MatchFailure::Stopped => unsafe { limits::raise_stop(state) },
        MatchFailure::TooComplex => c"pattern too complex",
        MatchFailure::TooManyCaptures => c"too many captures",
        MatchFailure::CaptureIndex => c"invalid capture index",
        MatchFailure::CaptureUnfinished => c"unfinished capture",
        MatchFailure::CaptureNotOpen => c"invalid pattern capture",
        MatchFailure::EndsWithEscape => c"malformed pattern (ends with '%%')",
        MatchFailure::SetNotClosed => c"malformed pattern (missing ']')",
        MatchFailure::BalanceIncomplete => c"unbalanced pattern",
        MatchFailure::FrontierWithoutSet => c"missing '[' after '%%f' in pattern",
    };
    // SAFETY: the caller has nothing to destroy; the text is a terminated format without arguments.
    unsafe { error(state, text) }
}

/// Raises an error at the place of the caller, as LuaJIT's own functions do.
///
/// # Safety
/// `state` must run on this thread in a C function under protection, whose frame has nothing to destroy.
unsafe fn error(state: State, format: &CStr) -> ! {
    // SAFETY: `luaL_error` does not return; the caller has nothing to destroy.
    unsafe {
        luaL_error(state, format.as_ptr());
    }
    unreachable!("luaL_error does not return")
}

/// The text of an argument, which a number becomes in place. Raises for any other value. It lives as long as the
/// argument stays on the stack.
///
/// # Safety
/// `state` must run on this thread in a C function under protection, whose frame has nothing to destroy.
/// The argument must stay on the stack for as long as the result is used.
#[inline]
unsafe fn text_argument<'a>(state: State, index: c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the string stays on the stack while the result is used, by this function's contract, and does not move.
    unsafe {
        let start = luaL_checklstring(state, index, &raw mut length);
        std::slice::from_raw_parts(start.cast(), length)
    }
}

/// Pushes the value of a capture.
///
/// # Safety
/// `state` must run on this thread in a C function under protection, whose frame has nothing to destroy.
/// The stack must have room for one value.
#[inline]
unsafe fn push_captured(state: State, captured: matcher::Captured<'_>) {
    // SAFETY: the caller has made room. A string may raise for lack of memory.
    unsafe {
        match captured {
            matcher::Captured::Text(text) => push_text(state, text),
            matcher::Captured::Position(position) => {
                lua_pushinteger(state, position as lua_Integer);
            }
        }
    }
}

/// Pushes all captures of a match, or the whole match if the pattern has none: how many values there are.
unsafe fn push_captures(
    state: State,
    matcher: &matcher::Matcher<'_>,
    start: usize,
    end: usize,
) -> c_int {
    let values = matcher.level().max(1);
    // SAFETY: makes room for the values and pushes them.
    unsafe {
        luaL_checkstack_(state, values as c_int, c"too many captures".as_ptr());
        for index in 0..values {
            match matcher.value(index, start, end) {
                Ok(captured) => push_captured(state, captured),
                Err(fault) => raise(state, fault),
            }
        }
    }
    values as c_int
}
