//! From Lua errors to the errors of the contract, and back.

use crate::state::{self, State, current, key, push_ref, push_text, text_at};
use mlua_sys::lua51::*;
use sampan_host::{Error, ErrorKind, Place, ScriptLimits};
use std::ffi::{CStr, c_int};

/// An error that left a protected call.
pub(crate) struct Fault(pub(crate) Error);

impl Fault {
    pub(crate) fn stopped(limits: &ScriptLimits) -> Self {
        let text = format!(
            "the script ran longer than script_millis_max ({} ms) and was stopped",
            limits.script_millis_max
        );
        Self(Error::new(ErrorKind::Stopped, text))
    }
}

/// How many calls of a stack are kept for the log.
const STACK_CALLS_MAX: usize = 20;

/// Makes an error of the value on top of `from`, the thread that failed; its stack is still as it was. `main` is the thread
/// under whose protection this runs, or whose protected call just ended.
pub(crate) unsafe fn from_top(main: State, from: State, status: c_int) -> Fault {
    // SAFETY: only reads of values on the stack; nothing here allocates in Lua, so nothing raises.
    unsafe {
        if status == LUA_ERRMEM {
            let text = "the script needs more memory than its isolate may use (memory_bytes_max)";
            return Fault(Error::new(ErrorKind::Memory, text));
        }
        if lua_checkstack(from, 4) == 0 {
            return Fault(Error::new(ErrorKind::Script, "stack overflow"));
        }
        let error = match lua_type(from, -1) {
            LUA_TSTRING => from_text(&String::from_utf8_lossy(text_at(from, -1))),
            LUA_TTABLE => from_table(from),
            LUA_TNUMBER => Error::script(lua_tonumber(from, -1).to_string()),
            kind => {
                let name = CStr::from_ptr(lua_typename(from, kind)).to_string_lossy();
                Error::script(format!("the script raised an error with a {name} value"))
            }
        };
        let error = match error.place() {
            Some(_) => error,
            None => {
                let place = place_of(from);
                error.at(place)
            }
        };
        let stack = if main == from {
            String::new()
        } else {
            stack_of(from)
        };
        Fault(if stack.is_empty() {
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
        return Error::script(message).at(Some(Place {
            file: file.to_owned(),
            line,
        }));
    }
    Error::script(text)
}

/// An error table: `message` and `status` count; ours carry a place in their message as well.
unsafe fn from_table(from: State) -> Error {
    // SAFETY: reads of the table on top with raw access; strings are not made, because the keys are in the registry.
    unsafe {
        let field = |name: usize| {
            push_ref(from, current_refs().keys[name]);
            lua_rawget(from, -2);
        };
        field(key::MESSAGE);
        let message = match lua_type(from, -1) {
            LUA_TSTRING => String::from_utf8_lossy(text_at(from, -1)).into_owned(),
            _ => "the script raised an error with a table that has no message".to_owned(),
        };
        lua_pop(from, 1);
        field(key::STATUS);
        let status = lua_tonumber(from, -1);
        lua_pop(from, 1);
        let kind = if status.fract() == 0.0 && (400.0..600.0).contains(&status) {
            ErrorKind::Status(status as u16)
        } else {
            ErrorKind::Script
        };
        let error = from_text(&message);
        Error::new(kind, error.message()).at(error.place().cloned())
    }
}

fn current_refs() -> state::Refs {
    current().refs.get()
}

/// The innermost line of a project file on the stack of `thread`.
unsafe fn place_of(thread: State) -> Option<Place> {
    // SAFETY: reading debug information of a thread that does not run.
    unsafe {
        let mut place = None;
        each_level(thread, |source, line, _| {
            if line > 0 && source.starts_with('@') && place.is_none() {
                place = Some(Place {
                    file: source[1..].to_owned(),
                    line: line as u32,
                });
            }
            place.is_none()
        });
        place
    }
}

/// The calls on the stack of `thread`, innermost first, one a line.
unsafe fn stack_of(thread: State) -> String {
    let mut out = String::new();
    let mut calls = 0;
    // SAFETY: as above.
    unsafe {
        each_level(thread, |source, line, name| {
            if line > 0 && source.starts_with('@') {
                let name = name.map(|n| format!(" in {n}")).unwrap_or_default();
                out.push_str(&format!("  {}:{line}{name}\n", &source[1..]));
            }
            calls += 1;
            calls < STACK_CALLS_MAX
        });
    }
    out.truncate(out.trim_end().len());
    out
}

/// Shows source, line and name of each call to `each`, until it returns false.
unsafe fn each_level(thread: State, mut each: impl FnMut(&str, c_int, Option<String>) -> bool) {
    // SAFETY: `lua_getinfo` fills what "Snl" asks for; the strings belong to prototypes on the stack.
    unsafe {
        let mut record: lua_Debug = std::mem::zeroed();
        for level in 0.. {
            if lua_getstack(thread, level, &raw mut record) == 0
                || lua_getinfo(thread, c"Snl".as_ptr(), &raw mut record) == 0
            {
                return;
            }
            let source = CStr::from_ptr(record.source).to_string_lossy();
            let name = (!record.name.is_null())
                .then(|| CStr::from_ptr(record.name).to_string_lossy().into_owned());
            if !each(&source, record.currentline, name) {
                return;
            }
        }
    }
}

/// Second stage of a C function that failed: raises the error in `current().result`. Errors of the script itself become plain
/// strings with the caller's place in front, others tables with `message` and `status`.
pub(crate) unsafe fn raise_result(state: State) -> ! {
    // SAFETY: the error stays in `result`, which is no local of this frame, until its parts are pushed; then it is dropped before
    // `lua_error` unwinds.
    unsafe {
        push_error(state);
        *current().result.get() = None;
        lua_error(state)
    }
}

/// Pushes the error in `current().result` as scripts see it. May raise for lack of memory.
pub(crate) unsafe fn push_error(state: State) {
    // SAFETY: reads through the cell; nothing else touches it while this C function runs.
    unsafe {
        let Some(Err(error)) = &*current().result.get() else {
            push_text(state, b"unknown error");
            return;
        };
        luaL_where(state, 1);
        push_text(state, error.message().as_bytes());
        lua_concat(state, 2);
        let status = error.kind().status();
        if status == 500 {
            return;
        }
        lua_createtable(state, 0, 2);
        lua_pushnumber(state, f64::from(status));
        lua_setfield(state, -2, c"status".as_ptr());
        push_text(state, error.message().as_bytes());
        lua_setfield(state, -2, c"message".as_ptr());
        push_ref(state, current().refs.get().error_meta);
        lua_setmetatable(state, -2);
        lua_remove(state, -2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_split_from_the_message() {
        let error = from_text("lib/users.lua:12: no such user: 7");
        assert_eq!(error.to_string(), "lib/users.lua:12: no such user: 7");
        assert_eq!(
            (error.message(), error.place().map(|p| p.line)),
            ("no such user: 7", Some(12))
        );
        assert_eq!(from_text("a: b: c").message(), "a: b: c");
        assert_eq!(from_text("plain").place(), None);
    }
}
