//! `debug.traceback`, as LuaJIT writes it but without the lines of the server's own Lua.
//!
//! A function of C, because little of the stack is left where it is called for a stack overflow.

use super::is_own_chunk;
use crate::vm::isolate::current;
use crate::vm::state::{State, guard, push_text, text_at};
use mlua_sys::lua51::*;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;

/// The maximum number of innermost calls are shown.
const INNERMOST_CALLS_MAX: c_int = 12;
/// The maximum number of outermost calls are shown behind them.
const OUTERMOST_CALLS_MAX: c_int = 10;

/// `debug.traceback([thread,] [message [, level]])`: the message and the calls on the stack. A message of another type,
/// also nil, is returned as given.
pub(crate) unsafe extern "C-unwind" fn traceback(state: State) -> c_int {
    // SAFETY: two stages. The text lies in the isolate's scratch when it is pushed; nothing else on this frame has a
    // destructor then.
    unsafe {
        let other = lua_tothread(state, 1);
        let (thread, message) = if other.is_null() {
            (state, 1)
        } else {
            (other, 2)
        };
        let is_given = lua_gettop(state) >= message;
        lua_settop(state, message + 1);
        let kind = lua_type(state, message);
        let is_text = match kind {
            LUA_TNIL => !is_given,
            LUA_TSTRING | LUA_TNUMBER => true,
            _ => false,
        };
        // Hooks are off while a message handler runs, so a script that is told to stop would not be stopped in it.
        if !is_text || current().watch.must_stop() {
            lua_pushvalue(state, message);
            return 1;
        }
        if kind == LUA_TNUMBER {
            lua_tolstring(state, message, std::ptr::null_mut());
        }
        let level = match lua_type(state, message + 1) {
            LUA_TNUMBER => {
                lua_tonumber(state, message + 1).clamp(0.0, f64::from(c_int::MAX)) as c_int
            }
            _ => c_int::from(thread == state),
        };
        let scratch = &mut *current().scratch.get();
        scratch.clear();
        let made = guard(|| {
            let mut text = String::from_utf8_lossy(text_at(state, message)).into_owned();
            if kind != LUA_TNIL {
                text.push('\n');
            }
            text.push_str("stack traceback:");
            write_calls(thread, level, &mut text);
            scratch.add(text.as_bytes());
            Ok(())
        });
        match made {
            Ok(()) => push_text(state, scratch.get(0)),
            Err(_) => lua_pushvalue(state, message),
        }
        1
    }
}

/// Writes the calls of `thread` from `level` on, innermost first, one a line.
unsafe fn write_calls(thread: State, level: c_int, text: &mut String) {
    // SAFETY: reads debug information; `lua_getinfo` pushes nothing for these fields, and the strings belong to
    // prototypes on the stack.
    unsafe {
        let mut record: lua_Debug = std::mem::zeroed();
        let depth = depth_of(thread);
        let mut at = level;
        while at < depth {
            if at - level == INNERMOST_CALLS_MAX && depth - at > OUTERMOST_CALLS_MAX {
                text.push_str("\n\t...");
                at = depth - OUTERMOST_CALLS_MAX;
            }
            if lua_getstack(thread, at, &raw mut record) == 0 {
                return;
            }
            at += 1;
            if lua_getinfo(thread, c"Snl".as_ptr(), &raw mut record) != 0 {
                write_call(&record, text);
            }
        }
    }
}

/// Returns how many calls are on the stack of `thread`.
unsafe fn depth_of(thread: State) -> c_int {
    // SAFETY: the thread is alive, and `lua_getstack` only looks at its stack. Zeros are a valid record.
    unsafe {
        let mut record: lua_Debug = std::mem::zeroed();
        let (mut there, mut beyond) = (0, 1);
        while lua_getstack(thread, beyond, &raw mut record) != 0 {
            (there, beyond) = (beyond, beyond * 2);
        }
        while there < beyond {
            let middle = there + (beyond - there) / 2;
            match lua_getstack(thread, middle, &raw mut record) {
                0 => beyond = middle,
                _ => there = middle + 1,
            }
        }
        there
    }
}

unsafe fn write_call(record: &lua_Debug, text: &mut String) {
    // SAFETY: the fields that `lua_getinfo` was asked for are strings that end with zero, or null.
    unsafe {
        let of = |field: *const c_char| match field.is_null() {
            true => String::new(),
            false => CStr::from_ptr(field).to_string_lossy().into_owned(),
        };
        let source = CStr::from_ptr(record.short_src.as_ptr()).to_string_lossy();
        if record.currentline > 0 && is_own_chunk(&source) {
            return;
        }
        let _ = write!(text, "\n\t{source}:");
        if record.currentline > 0 {
            let _ = write!(text, "{}:", record.currentline);
        }
        let name = of(record.name);
        let _ = match (of(record.what).as_str(), name.as_str()) {
            ("main", "") => write!(text, " in main chunk"),
            ("C", "") => write!(text, " in a built-in function"),
            (_, "") => write!(text, " in function <{source}:{}>", record.linedefined),
            _ => write!(text, " in function '{name}'"),
        };
    }
}
