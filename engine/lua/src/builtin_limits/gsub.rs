//! `string.gsub`, as LuaJIT has it.

use super::matcher::{Captured, Matcher};
use super::pattern::anchor;
use super::{error, push_captured, push_captures, raise, text_argument};
use crate::vm::isolate::is_stack_used_up;
use crate::vm::limits::must_stop;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// `string.gsub(s, pattern, replacement [, n])`
// SAFETY: called by Lua alone, with the arguments on its stack.
pub(super) unsafe extern "C-unwind" fn gsub(state: State) -> c_int {
    // SAFETY: called by Lua; nothing on these frames has a destructor. The strings of the arguments stay where they
    // are: no script reaches the stack of a function in C. The buffer is used as the reference says: what it has pushed
    // stays on top of the stack between two of its calls.
    unsafe {
        let (subject, pattern) = (text_argument(state, 1), text_argument(state, 2));
        let kind = lua_type(state, 3);
        let n_max = luaL_optinteger(state, 4, subject.len() as lua_Integer + 1) as i32;
        let (is_anchored, pattern) = anchor(pattern);
        let replacement = match kind {
            LUA_TNUMBER | LUA_TSTRING => text_argument(state, 3),
            LUA_TFUNCTION | LUA_TTABLE => &[],
            _ => {
                luaL_argerror(state, 3, c"string/function/table expected".as_ptr());
                return 0;
            }
        };
        if is_stack_used_up() {
            error(state, c"stack overflow (gsub inside of its own callbacks)");
        }
        let mut buffer = MaybeUninit::<luaL_Buffer>::uninit();
        let buffer = buffer.as_mut_ptr();
        luaL_buffinit(state, buffer);
        let mut matcher = Matcher::new(subject, pattern, must_stop);
        // Where the search goes on, and how much of the subject is in the buffer.
        let (mut at, mut copied, mut n) = (0, 0, 0);
        while n < n_max {
            let (start, end) = match matcher.search(at, is_anchored) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(fault) => raise(state, fault),
            };
            n += 1;
            add(buffer, subject.get(copied..start).unwrap_or_default());
            copied = end;
            if let LUA_TFUNCTION | LUA_TTABLE = kind {
                let whole = subject.get(start..end).unwrap_or_default();
                add_result(state, buffer, &matcher, whole, start, kind);
            } else {
                add_replacement(state, buffer, &matcher, replacement, start, end);
            }
            // A match of nothing must not be found again.
            at = if end > start { end } else { start + 1 };
            if is_anchored {
                break;
            }
        }
        if n == 0 {
            lua_pushvalue(state, 1);
        } else {
            add(buffer, subject.get(copied..).unwrap_or_default());
            luaL_pushresult(buffer);
        }
        lua_pushinteger(state, lua_Integer::from(n));
        2
    }
}

/// # Safety
/// The buffer was begun, and what it has pushed is on top of the stack.
#[inline]
unsafe fn add(buffer: *mut luaL_Buffer, text: &[u8]) {
    // SAFETY: the buffer was begun and is on top, by this function's contract; it copies the bytes.
    unsafe { luaL_addlstring(buffer, text.as_ptr().cast(), text.len()) };
}

/// Adds the replacement text of a match, with captures in the place of `%0` to `%9`.
///
/// # Safety
/// The buffer must have been begun in `state`, and what it has pushed must be on top of the stack. Nothing on the
/// frames up to the protected call may have a destructor: this may raise.
unsafe fn add_replacement(
    state: State,
    buffer: *mut luaL_Buffer,
    matcher: &Matcher<'_>,
    replacement: &[u8],
    start: usize,
    end: usize,
) {
    let mut rest = replacement;
    // SAFETY: nothing on this frame has a destructor when Lua raises. The buffer is on top of the stack; a position is
    // pushed and added at once.
    unsafe {
        while let Some(escape) = memchr::memchr(b'%', rest) {
            add(buffer, rest.get(..escape).unwrap_or_default());
            // Behind a `%` at the end comes the NUL that ends every string.
            let digit = rest.get(escape + 1).copied().unwrap_or(0);
            rest = rest.get(escape + 2..).unwrap_or_default();
            let captured = match digit {
                b'0' => matcher.whole(start, end),
                b'1'..=b'9' => match matcher.value(usize::from(digit - b'1'), start, end) {
                    Ok(captured) => captured,
                    Err(fault) => raise(state, fault),
                },
                other => {
                    luaL_addchar(buffer, other as _);
                    continue;
                }
            };
            match captured {
                Captured::Text(text) => add(buffer, text),
                position @ Captured::Position(_) => {
                    push_captured(state, position);
                    luaL_addvalue(buffer);
                }
            }
        }
        add(buffer, rest);
    }
}

/// Adds what the function or the table in argument 3 has for a match.
///
/// # Safety
/// The buffer must have been begun in `state`, and what it has pushed must be on top of the stack. Nothing on the
/// frames up to the protected call may have a destructor: this may raise.
unsafe fn add_result(
    state: State,
    buffer: *mut luaL_Buffer,
    matcher: &Matcher<'_>,
    whole: &[u8],
    start: usize,
    kind: c_int,
) {
    let end = start + whole.len();
    // SAFETY: nothing on this frame has a destructor when Lua raises. Whatever is pushed is taken off or added to the
    // buffer before the function returns.
    unsafe {
        if kind == LUA_TFUNCTION {
            lua_pushvalue(state, 3);
            let values = push_captures(state, matcher, start, end);
            lua_call(state, values, 1);
        } else {
            match matcher.value(0, start, end) {
                Ok(captured) => push_captured(state, captured),
                Err(fault) => raise(state, fault),
            }
            lua_gettable(state, 3);
        }
        if lua_toboolean(state, -1) == 0 {
            lua_pop(state, 1);
            add(buffer, whole);
            return;
        }
        if lua_isstring(state, -1) == 0 {
            let kind = luaL_typename(state, -1);
            luaL_error(state, c"invalid replacement value (a %s)".as_ptr(), kind);
        }
        luaL_addvalue(buffer);
    }
}
