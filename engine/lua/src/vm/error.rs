//! From Lua errors to the errors of the contract.

mod advice;
pub(crate) mod raised;

use crate::libraries;
use crate::values::{shown, value::STACK_SLOTS};
use crate::vm::isolate::current;
use crate::vm::isolate::room::{NO_MEMORY, make_room};
use crate::vm::stack::{place_of, stack_of};
use crate::vm::state::{State, guard, key, push_ref, push_text, text_at};
use mlua_sys::lua51::*;
use raised::Raised;
use sampan_host::json::write_value;
use sampan_host::{Details, Error, ErrorKind, Place};
use std::ffi::{CStr, c_int};

/// An error that left a protected call.
pub(crate) struct UncaughtError(pub(crate) Error);

/// The message handler of brackets: notes where its argument, the error, was raised. It is the registry's `raised`
/// then.
pub(crate) unsafe extern "C-unwind" fn note_raised(state: State) -> c_int {
    // SAFETY: reads debug information of this thread; writes to an existing slot of the registry. Nothing here raises.
    unsafe {
        let core = current();
        lua_settop(state, 1);
        if !is_raised(state) && !is_stop_noted() {
            let noted = guard(|| {
                let (place, stack) = (place_of(state), stack_of(state, None));
                let is_stop = core.watch.must_stop();
                *core.raised.borrow_mut() = Some(Raised {
                    place,
                    stack,
                    is_stop,
                });
                Ok(())
            });
            if noted.is_ok() {
                lua_pushvalue(state, 1);
                lua_rawseti(state, LUA_REGISTRYINDEX, i64::from(core.refs.get().raised));
            }
        }
        1
    }
}

/// `host.take_raised(error)`: the file, the line and the stack where the error was raised, if that is noted. For a
/// bracket that waits before it passes the error on: meanwhile others run, and the note is gone.
pub(crate) unsafe extern "C-unwind" fn take_raised(state: State) -> c_int {
    // SAFETY: two stages; the texts lie in the isolate when they are pushed.
    unsafe {
        lua_settop(state, 1);
        if !is_raised(state) {
            return 0;
        }
        let core = current();
        let scratch = &mut *core.scratch.get();
        scratch.clear();
        let line = guard(|| {
            let Some(Raised { place, stack, .. }) = core.raised.take() else {
                return Ok(0);
            };
            let file = place.as_ref().map_or("", |place| &place.file);
            scratch.add(file.as_bytes());
            scratch.add(stack.as_bytes());
            Ok(place.as_ref().map_or(0, |place| place.line))
        });
        let Ok(line) = line else { return 0 };
        push_text(state, scratch.get(0));
        lua_pushnumber(state, f64::from(line));
        push_text(state, scratch.get(1));
        3
    }
}

/// `host.give_raised(error, file, line, stack)`: notes it again.
pub(crate) unsafe extern "C-unwind" fn give_raised(state: State) -> c_int {
    // SAFETY: reads the arguments; writes to an existing slot of the registry. Nothing here raises.
    unsafe {
        lua_settop(state, 4);
        let core = current();
        let noted = guard(|| {
            let text = |index| String::from_utf8_lossy(text_at(state, index)).into_owned();
            let (file, line) = (text(2), lua_tonumber(state, 3) as u32);
            *core.raised.borrow_mut() = Some(Raised {
                place: (line > 0).then_some(Place { file, line }),
                stack: text(4),
                is_stop: false,
            });
            Ok(())
        });
        if noted.is_ok() {
            lua_settop(state, 1);
            lua_rawseti(state, LUA_REGISTRYINDEX, i64::from(core.refs.get().raised));
        }
        0
    }
}

/// Reports whether it is noted where the script was that is told to stop.
fn is_stop_noted() -> bool {
    let raised = current().raised.borrow();
    raised.as_ref().is_some_and(|raised| raised.is_stop)
}

/// Reports whether the value on top of the stack is the error that was noted last.
unsafe fn is_raised(state: State) -> bool {
    // SAFETY: reads only; the caller has room for one.
    unsafe {
        if current().raised.borrow().is_none() {
            return false;
        }
        push_ref(state, current().refs.get().raised);
        let same = lua_rawequal(state, -1, -2) != 0;
        lua_pop(state, 1);
        same
    }
}

/// Makes an error of the value on top of `from`, the thread that failed; its stack is still as it was. `main` is the
/// thread under whose protection this runs, or whose protected call just ended.
pub(crate) unsafe fn from_top(main: State, from: State, status: c_int) -> UncaughtError {
    // SAFETY: only reads of values on the stack; nothing here allocates in Lua, so nothing raises.
    unsafe {
        // Caught and raised again, as a bracket does it, it is a text like any other.
        if status == LUA_ERRMEM || text_at(from, -1) == NO_MEMORY.to_bytes() {
            return UncaughtError(current().limits.out_of_memory());
        }
        if let Err(full) = make_room(from, 4) {
            return UncaughtError(full.into());
        }
        let error = match lua_type(from, -1) {
            LUA_TSTRING => {
                let text = String::from_utf8_lossy(text_at(from, -1));
                advice::advised(from, from_text(&text))
            }
            LUA_TTABLE => from_table(main, from),
            LUA_TNUMBER => Error::script(lua_tonumber(from, -1).to_string()),
            kind => {
                let name = CStr::from_ptr(lua_typename(from, kind)).to_string_lossy();
                Error::script(format!("the script raised an error with a {name} value"))
            }
        };
        let raised = if is_raised(from) || is_stop_noted() {
            current().raised.take()
        } else {
            None
        };
        let (place, stack) = match raised {
            Some(raised) => (raised.place, raised.stack),
            None if main == from => (place_of(from), String::new()),
            None => (place_of(from), stack_of(from, error.place())),
        };
        let error = match error.place() {
            Some(_) => error,
            None => error.at(place),
        };
        UncaughtError(if stack.is_empty() || error.stack().is_some() {
            error
        } else {
            error.with_stack(stack)
        })
    }
}

/// Splits `file:line: message` as Lua writes it.
pub(crate) fn from_text(text: &str) -> Error {
    let mut parts = text.splitn(3, ':');
    if let (Some(file), Some(line), Some(message)) = (parts.next(), parts.next(), parts.next())
        && let (Ok(line), true) = (line.parse(), !file.is_empty())
    {
        let message = message.strip_prefix(' ').unwrap_or(message);
        if libraries::is_own_chunk(file) {
            return Error::script(message);
        }
        return Error::script(message).at(Some(Place {
            file: file.to_owned(),
            line,
        }));
    }
    Error::script(text)
}

/// An error table: `message` and `status` count, and what `raise::push_error` puts there; others of ours carry a place
/// in their message.
unsafe fn from_table(main: State, from: State) -> Error {
    // SAFETY: reads of the table on top with raw access; strings are not made, because the keys are in the registry.
    // Values that are moved to `main` are popped again.
    unsafe {
        push_member(from, key::STATUS);
        let status = lua_tonumber(from, -1);
        lua_pop(from, 1);
        let kind = if status.fract() == 0.0 && (400.0..600.0).contains(&status) {
            // A script may give an error of ours another status.
            kind_of_meta(from)
                .filter(|kind| f64::from(kind.status()) == status)
                .unwrap_or(ErrorKind::Status(status as u16))
        } else {
            ErrorKind::Script
        };
        let message = text_member(from, key::MESSAGE).or_else(|| own_text(main, from));
        let message = match message {
            Some(message) => message,
            // The client would be shown what the table holds.
            None if kind.is_public() => String::new(),
            None => contents(main, from),
        };
        let Some(code) = text_member(from, key::CODE) else {
            return from_text(&message).with_kind(kind);
        };
        let place = text_member(from, key::PLACE);
        let place = place.and_then(|place| from_text(&format!("{place}: ")).place().cloned());
        let error = Error::new(kind, message).at(place).with_details(Details {
            code: code.into(),
            table: text_member(from, key::TABLE),
            columns: columns_of(from),
            constraint: text_member(from, key::CONSTRAINT),
        });
        match text_member(from, key::STACK) {
            Some(stack) => error.with_stack(stack),
            None => error,
        }
    }
}

/// Longer texts of an error are cut.
const TEXT_BYTES_MAX: usize = 8 * 1024;

fn cut(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

/// Returns the text that `__tostring` of the table on top of `from` gives. It runs on `main`, as a part of the run that
/// failed, so not where that has been told to stop or has ended.
unsafe fn own_text(main: State, from: State) -> Option<String> {
    // SAFETY: room is made on `main` first; the script's function runs under a protected call of its own, with nothing
    // on this frame to be dropped.
    unsafe {
        if main == from || current().watch.must_stop() || lua_checkstack(main, 8) == 0 {
            return None;
        }
        if lua_getmetatable(from, -1) == 0 {
            return None;
        }
        push_member(from, key::TOSTRING);
        lua_remove(from, -2);
        if lua_type(from, -1) != LUA_TFUNCTION {
            lua_pop(from, 1);
            return None;
        }
        lua_pushvalue(from, -2);
        lua_xmove(from, main, 2);
        let called = lua_pcall(main, 1, 1, 0) == LUA_OK && lua_type(main, -1) == LUA_TSTRING;
        let text = called.then(|| cut(String::from_utf8_lossy(text_at(main, -1)).into_owned()));
        lua_pop(main, 1);
        text
    }
}

/// The table on top of `from` as the log shows it.
unsafe fn contents(main: State, from: State) -> String {
    /// More than what is shown can have.
    const DEPTH_MAX: usize = 64;
    const NO_MESSAGE: &str = "the script raised an error with a table that has no message";
    // SAFETY: room is made on the stack that is read from; a run that has ended left the table on its own.
    unsafe {
        if lua_checkstack(main, STACK_SLOTS) == 0 {
            return NO_MESSAGE.to_owned();
        }
        lua_pushvalue(from, -1);
        if main != from {
            lua_xmove(from, main, 1);
        }
        let value = shown::read(main, lua_gettop(main));
        lua_pop(main, 1);
        let mut text = Vec::new();
        match write_value(&mut text, &value, DEPTH_MAX) {
            Ok(()) => cut(format!("uncaught {}", String::from_utf8_lossy(&text))),
            Err(_) => NO_MESSAGE.to_owned(),
        }
    }
}

/// Pushes the member of the table on top that has this key.
unsafe fn push_member(state: State, name: usize) {
    // SAFETY: a raw read; the caller has room for two.
    unsafe {
        push_ref(state, current().refs.get().keys[name]);
        lua_rawget(state, -2);
    }
}

/// The member of the table on top that has this key, if it is text.
unsafe fn text_member(state: State, name: usize) -> Option<String> {
    // SAFETY: there is a table on top, and room for two values; the text is copied while it is on the stack.
    unsafe {
        push_member(state, name);
        let text = (lua_type(state, -1) == LUA_TSTRING)
            .then(|| String::from_utf8_lossy(text_at(state, -1)).into_owned());
        lua_pop(state, 1);
        text
    }
}

/// The texts in the `columns` of the table on top.
unsafe fn columns_of(state: State) -> Vec<String> {
    /// The largest number of texts: as many as SQLite has in an index, and more than a script needs.
    const COLUMNS_MAX: usize = 2_000;
    let mut columns = Vec::new();
    // SAFETY: there is a table on top, and room for two values; texts are copied while they are on the stack.
    unsafe {
        push_member(state, key::COLUMNS);
        if lua_type(state, -1) == LUA_TTABLE {
            for at in 1..=lua_objlen(state, -1).min(COLUMNS_MAX) {
                lua_rawgeti(state, -1, at as i64);
                if lua_type(state, -1) == LUA_TSTRING {
                    columns.push(String::from_utf8_lossy(text_at(state, -1)).into_owned());
                }
                lua_pop(state, 1);
            }
        }
        lua_pop(state, 1);
    }
    columns
}

/// The kind that the metatable of the table on top tells.
unsafe fn kind_of_meta(state: State) -> Option<ErrorKind> {
    // SAFETY: reads only; the caller has room for two.
    unsafe {
        if lua_getmetatable(state, -1) == 0 {
            return None;
        }
        let metas = current().refs.get().error_metas;
        let found = metas.iter().position(|meta| {
            push_ref(state, *meta);
            let same = lua_rawequal(state, -1, -2) != 0;
            lua_pop(state, 1);
            same
        });
        lua_pop(state, 1);
        found.and_then(ErrorKind::marked)
    }
}

#[cfg(test)]
mod tests;
