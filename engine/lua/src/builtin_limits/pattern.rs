//! `string.find`, `string.match` and `string.gmatch`, as LuaJIT has them.

use super::matcher::{MatchFailure, Matcher};
use super::{push_captures, raise, text_argument};
use crate::vm::limits::must_stop;
use crate::vm::state::{State, text_at};
use mlua_sys::lua51::*;
use std::ffi::c_int;

/// `string.find(s, pattern [, init [, plain]])`
pub(super) unsafe extern "C-unwind" fn find(state: State) -> c_int {
    // SAFETY: called by Lua; nothing on these frames has a destructor.
    unsafe {
        let (subject, pattern) = (text_argument(state, 1), text_argument(state, 2));
        let Some(from) = start(state, subject.len()) else {
            lua_pushnil(state);
            return 1;
        };
        if lua_toboolean(state, 4) != 0 || is_plain(pattern) {
            return match find_plain(subject.get(from..).unwrap_or_default(), pattern) {
                Ok(Some(at)) => {
                    lua_pushinteger(state, (from + at + 1) as lua_Integer);
                    lua_pushinteger(state, (from + at + pattern.len()) as lua_Integer);
                    2
                }
                Ok(None) => {
                    lua_pushnil(state);
                    1
                }
                Err(fault) => raise(state, fault),
            };
        }
        let (is_anchored, pattern) = anchor(pattern);
        let mut matcher = Matcher::new(subject, pattern, must_stop);
        match matcher.search(from, is_anchored) {
            Ok(Some((start, end))) => {
                lua_pushinteger(state, (start + 1) as lua_Integer);
                lua_pushinteger(state, end as lua_Integer);
                if matcher.level() == 0 {
                    return 2;
                }
                2 + push_captures(state, &matcher, start, end)
            }
            Ok(None) => {
                lua_pushnil(state);
                1
            }
            Err(fault) => raise(state, fault),
        }
    }
}

/// `string.match(s, pattern [, init])`
pub(super) unsafe extern "C-unwind" fn match_(state: State) -> c_int {
    // SAFETY: called by Lua; nothing on these frames has a destructor.
    unsafe {
        let (subject, pattern) = (text_argument(state, 1), text_argument(state, 2));
        let Some(from) = start(state, subject.len()) else {
            lua_pushnil(state);
            return 1;
        };
        let (is_anchored, pattern) = anchor(pattern);
        let mut matcher = Matcher::new(subject, pattern, must_stop);
        match matcher.search(from, is_anchored) {
            Ok(Some((start, end))) => push_captures(state, &matcher, start, end),
            Ok(None) => {
                lua_pushnil(state);
                1
            }
            Err(fault) => raise(state, fault),
        }
    }
}

/// `string.gmatch(s, pattern)`. `^` stands for itself here.
pub(super) unsafe extern "C-unwind" fn gmatch(state: State) -> c_int {
    // SAFETY: Lua calls this under protection with room for `LUA_MINSTACK` values; the frame has no destructor.
    unsafe {
        text_argument(state, 1);
        text_argument(state, 2);
        lua_settop(state, 2);
        lua_pushinteger(state, 0);
        lua_pushcclosure(state, next_match, 3);
        1
    }
}

/// The function returned by `gmatch`. Its upvalues are the subject, the pattern, and where to go on.
unsafe extern "C-unwind" fn next_match(state: State) -> c_int {
    // SAFETY: called by Lua; the closure keeps both strings; nothing on these frames has a destructor.
    unsafe {
        let subject = text_at(state, lua_upvalueindex(1));
        let pattern = text_at(state, lua_upvalueindex(2));
        let from = lua_tointeger(state, lua_upvalueindex(3)) as usize;
        let mut matcher = Matcher::new(subject, pattern, must_stop);
        match matcher.search(from, false) {
            Ok(Some((start, end))) => {
                // A match of nothing must not be found again.
                let next = if end == start { end + 1 } else { end };
                lua_pushinteger(state, next as lua_Integer);
                lua_replace(state, lua_upvalueindex(3));
                push_captures(state, &matcher, start, end)
            }
            Ok(None) => 0,
            Err(fault) => raise(state, fault),
        }
    }
}

/// Returns the start of the search according to argument 3, counted from zero; nothing if that is behind the end.
#[inline]
unsafe fn start(state: State, length: usize) -> Option<usize> {
    // SAFETY: reads an argument; raises if it is no number.
    let init = unsafe {
        match lua_type(state, 3) {
            LUA_TNONE | LUA_TNIL => return Some(0),
            _ => to_int(luaL_checknumber(state, 3)),
        }
    };
    let from = match usize::try_from(init) {
        Ok(init) => init.saturating_sub(1),
        Err(_) => length.saturating_sub(init.unsigned_abs() as usize),
    };
    (from <= length).then_some(from)
}

/// A number as an integer of 32 bits: what is none becomes the smallest, as LuaJIT's own conversion has it on x86-64.
fn to_int(number: f64) -> i32 {
    if number > -2_147_483_649.0 && number < 2_147_483_648.0 {
        number as i32
    } else {
        i32::MIN
    }
}

/// Reports whether no character of the pattern means anything but itself.
#[inline]
fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|c| b"^$*+?.([%-".contains(c))
}

/// Returns the position of `wanted` in `text`.
#[inline]
fn find_plain(text: &[u8], wanted: &[u8]) -> Result<Option<usize>, MatchFailure> {
    const CANDIDATES_MAX: usize = 8;
    const WANTED_MAX: usize = 256;
    let Some((&first, others)) = wanted.split_first() else {
        return Ok(Some(0));
    };
    // A few candidates are tried as they come, which is all that most searches need.
    let mut from = 0;
    if wanted.len() <= WANTED_MAX {
        for _ in 0..CANDIDATES_MAX {
            let rest = text.get(from..).unwrap_or_default();
            let Some(at) = memchr::memchr(first, rest) else {
                return Ok(None);
            };
            let behind = rest.get(at + 1..).unwrap_or_default();
            if behind.starts_with(others) {
                return Ok(Some(from + at));
            }
            from += at + 1;
        }
    }
    find_far(text, wanted, from)
}

/// Searches window by window, in time in proportion to the length of the text as a rule, so that it can be stopped in
/// between. Of a long text that is wanted the search knows the head; the rest is compared where that is.
#[cold]
fn find_far(text: &[u8], wanted: &[u8], mut from: usize) -> Result<Option<usize>, MatchFailure> {
    const WINDOW: usize = 1024 * 1024;
    const HEAD: usize = 64 * 1024;
    let (head, others) = wanted.split_at(wanted.len().min(HEAD));
    let finder = memchr::memmem::Finder::new(head);
    while from + wanted.len() <= text.len() {
        let end = text.len().min(from + WINDOW + head.len() - 1);
        if let Some(at) = finder.find(text.get(from..end).unwrap_or_default()) {
            from += at;
            let behind = text.get(from + head.len()..).unwrap_or_default();
            if behind.starts_with(others) {
                return Ok(Some(from));
            }
            from += 1;
        } else {
            from += WINDOW;
        }
        if must_stop() {
            return Err(MatchFailure::Stopped);
        }
    }
    Ok(None)
}

/// Reports whether the pattern matches only where the search begins, and what follows the `^` that says so.
#[inline]
pub(super) fn anchor(pattern: &[u8]) -> (bool, &[u8]) {
    match pattern.split_first() {
        Some((b'^', rest)) => (true, rest),
        _ => (false, pattern),
    }
}
