//! The place of an error: the calls on the stack of a coroutine, and the functions that are missing from it.
//!
//! LuaJIT drops the frame of a function that ends with `return f(...)`. Such a tail call shows only where the
//! function that was called is still known: by the variable through which the caller called it, or by the isolate,
//! which knows its handlers.

use crate::vm::isolate::current;
use crate::vm::state::{State, push_ref};
use mlua_sys::lua51::*;
use sampan_host::Place;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;

/// The number of calls of a stack that are kept for the log.
const STACK_CALLS_MAX: usize = 20;

/// The maximum number of calls that are looked at. LuaJIT counts from the innermost call on for each, in C that nothing
/// stops, and code from `load` can be thousands of calls deep without a line of a project file.
pub(crate) const FRAMES_MAX: c_int = 200;

/// The name of the chunk that calls handlers (`chain.lua`). Where no line of the project stands in front of it, the
/// handler has ended with a call that took its place, and the function behind it is not at fault.
pub(crate) const CHAIN: &CStr = c"=[chain]";

/// Behind the place of a function whose frame is gone.
const TAIL_CALL: &str =
    ", which begins here and ended with a tail call (`return f(...)` leaves no line)";

/// One call on the stack.
struct Frame {
    source: String,
    line: c_int,
    name: Option<String>,
    /// The function that the caller called, if another one runs in its place: where it begins.
    replaced: Option<Place>,
}

impl Frame {
    fn place(&self) -> Option<Place> {
        let file = self.source.strip_prefix('@')?;
        (self.line > 0).then(|| Place {
            file: file.to_owned(),
            line: self.line as u32,
        })
    }
}

/// The innermost line of a project file on the stack of `thread`. If the handler ended with a tail call, and what it
/// called is not of the project, the line where the handler begins.
pub(crate) unsafe fn place_of(thread: State) -> Option<Place> {
    let mut place = None;
    // SAFETY: reading debug information of a thread that does not run.
    unsafe {
        each_frame(thread, |frame| {
            place = frame.place().or_else(|| frame.replaced.clone());
            place.is_none() && frame.source.as_bytes() != CHAIN.to_bytes()
        });
    }
    place
}

/// The calls on the stack of `thread`, innermost first, one a line. `raised` is where the error was raised, if that is
/// known: LuaJIT forgets the line of a function that failed itself, without a call.
pub(crate) unsafe fn stack_of(thread: State, raised: Option<&Place>) -> String {
    let mut out = String::new();
    let mut calls = 0;
    // SAFETY: reading debug information of a thread that does not run.
    unsafe {
        each_frame(thread, |frame| {
            let forgotten = raised.filter(|place| {
                calls == 0 && frame.line <= 0 && frame.source.strip_prefix('@') == Some(&place.file)
            });
            let name = |tail: &str| match &frame.name {
                Some(name) => format!(" in {name}{tail}"),
                None => tail.to_owned(),
            };
            if let Some(Place { file, line }) = frame.place().or_else(|| forgotten.cloned()) {
                // The name is the caller's word for the function that was replaced.
                let name = if frame.replaced.is_some() {
                    String::new()
                } else {
                    name("")
                };
                let _ = writeln!(out, "  {file}:{line}{name}");
            }
            if let Some(Place { file, line }) = &frame.replaced {
                let name = name(TAIL_CALL);
                let _ = writeln!(out, "  {file}:{line}{name}");
            }
            calls += 1;
            calls < STACK_CALLS_MAX
        });
    }
    out.truncate(out.trim_end().len());
    out
}

/// Shows the innermost calls to `each`, the last one first, until it returns false. Allocates nothing in Lua, so
/// nothing raises.
unsafe fn each_frame(thread: State, mut each: impl FnMut(&Frame) -> bool) {
    // SAFETY: `lua_getinfo` fills what it is asked for; the strings belong to prototypes on the stack. What is pushed
    // is popped again.
    unsafe {
        let mut record: lua_Debug = std::mem::zeroed();
        if lua_checkstack(thread, 8) == 0 {
            return;
        }
        for level in 0..FRAMES_MAX {
            let top = lua_gettop(thread);
            if lua_getstack(thread, level, &raw mut record) == 0
                || lua_getinfo(thread, c"fSnl".as_ptr(), &raw mut record) == 0
            {
                return;
            }
            let source = CStr::from_ptr(record.source).to_string_lossy().into_owned();
            let replaced = if source.as_bytes() == CHAIN.to_bytes() {
                None
            } else {
                replaced(thread, level, &record)
            };
            let frame = Frame {
                source,
                line: record.currentline,
                name: text(record.name),
                replaced,
            };
            lua_settop(thread, top);
            if !each(&frame) {
                return;
            }
        }
    }
}

unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: null or a string of a prototype on the stack.
    unsafe { (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned()) }
}

/// Returns the start of the function that the caller of the frame at `level` called, if that is not the one that runs
/// in the frame, which is on top.
unsafe fn replaced(thread: State, level: c_int, callee: &lua_Debug) -> Option<Place> {
    // SAFETY: the caller has room for eight and pops what is left.
    unsafe {
        let running = lua_gettop(thread);
        let mut caller: lua_Debug = std::mem::zeroed();
        let called = if lua_getstack(thread, level + 1, &raw mut caller) == 0 {
            push_handler(thread, running)
        } else if lua_getinfo(thread, c"fS".as_ptr(), &raw mut caller) == 0 {
            false
        } else if CStr::from_ptr(caller.source) == CHAIN {
            push_of_chain(thread, &caller, callee)
        } else {
            *caller.source == b'@' as c_char && push_named(thread, &caller, callee)
        };
        if !called
            || lua_type(thread, -1) != LUA_TFUNCTION
            || lua_rawequal(thread, -1, running) != 0
        {
            return None;
        }
        let mut called: lua_Debug = std::mem::zeroed();
        if lua_getinfo(thread, c">S".as_ptr(), &raw mut called) == 0
            || *called.source != b'@' as c_char
        {
            return None;
        }
        Some(Place {
            file: text(called.source.add(1))?,
            line: called.linedefined as u32,
        })
    }
}

/// Pushes the handler that runs in `thread`, if that is the coroutine of one. At `first` is the function that the
/// coroutine began with, or what took its place.
unsafe fn push_handler(thread: State, first: c_int) -> bool {
    let core = current();
    let number = core.watch.handler() as usize;
    let handler = core
        .handlers
        .get()
        .and_then(|handlers| handlers.get(number));
    // A coroutine of the script's own begins with a function of its own.
    let running = core.running.get();
    let (Some(&handler), true) = (handler, running.is_null() || running == thread) else {
        return false;
    };
    // SAFETY: `each_frame` has made room for eight values on the stack of `thread`, where `first` is a place. Reading
    // the registry raises nothing.
    unsafe {
        push_ref(thread, core.refs.get().stream);
        if lua_rawequal(thread, -1, first) != 0 {
            return false;
        }
        match core.worlds.get() {
            // The project's file runs, not its handler.
            Some(_) if !core.is_loaded.get() => return false,
            Some(worlds) => worlds.push_handler(thread, number as u32),
            None => push_ref(thread, handler),
        }
    }
    true
}

/// Pushes what the chain of middleware calls in the frame `caller`, whose function is on top: the handler or one of the
/// middleware.
unsafe fn push_of_chain(thread: State, caller: &lua_Debug, callee: &lua_Debug) -> bool {
    // SAFETY: the caller has room; names are those of `chain.lua`.
    unsafe {
        // The functions that the chain calls beside handlers: they look at results.
        let is_beside = !callee.name.is_null()
            && [c"to_response", c"answer_of", c"check_beside"]
                .contains(&CStr::from_ptr(callee.name));
        if is_beside {
            return false;
        }
        let function = lua_gettop(thread);
        if !push_upvalue(thread, function, c"count") || !push_local(thread, caller, c"at") {
            return false;
        }
        let at = lua_tonumber(thread, -1);
        if at > lua_tonumber(thread, -2) {
            return push_upvalue(thread, function, c"handler");
        }
        if !push_upvalue(thread, function, c"wraps") || lua_type(thread, -1) != LUA_TTABLE {
            return false;
        }
        lua_rawgeti(thread, -1, at as i64);
        true
    }
}

/// Pushes the value of the variable through which `caller`, whose function is on top, called `callee`.
unsafe fn push_named(thread: State, caller: &lua_Debug, callee: &lua_Debug) -> bool {
    if callee.name.is_null() || callee.namewhat.is_null() {
        return false;
    }
    // SAFETY: the caller has room; the names belong to a prototype on the stack.
    unsafe {
        let (name, kind) = (CStr::from_ptr(callee.name), CStr::from_ptr(callee.namewhat));
        let function = lua_gettop(thread);
        match kind.to_bytes() {
            b"local" => push_local(thread, caller, name),
            b"upvalue" => push_upvalue(thread, function, name),
            b"global" => {
                lua_getfenv(thread, function);
                push_field(thread, name)
            }
            _ => false,
        }
    }
}

unsafe fn push_local(thread: State, frame: &lua_Debug, name: &CStr) -> bool {
    // SAFETY: the caller has room for two values, and `frame` is that of a call on the stack. Names of local variables
    // are terminated strings of its prototype.
    unsafe {
        let mut found = 0;
        for at in 1.. {
            let local = lua_getlocal(thread, frame, at);
            if local.is_null() {
                break;
            }
            lua_pop(thread, 1);
            // A later one of the same name hides an earlier one.
            if CStr::from_ptr(local) == name {
                found = at;
            }
        }
        found > 0 && !lua_getlocal(thread, frame, found).is_null()
    }
}

pub(crate) unsafe fn push_upvalue(thread: State, function: c_int, name: &CStr) -> bool {
    // SAFETY: the caller has room for one value, and there is a function at `function`. Names of upvalues are
    // terminated strings that live as long as the function.
    unsafe {
        for at in 1.. {
            let upvalue = lua_getupvalue(thread, function, at);
            if upvalue.is_null() {
                return false;
            }
            if CStr::from_ptr(upvalue) == name {
                return true;
            }
            lua_pop(thread, 1);
        }
        false
    }
}

/// Pushes the field of the table on top, found without making a string.
pub(crate) unsafe fn push_field(thread: State, name: &CStr) -> bool {
    // SAFETY: the caller has room for three; `lua_next` is given keys of the table, so it does not raise.
    unsafe {
        lua_pushnil(thread);
        while lua_next(thread, -2) != 0 {
            if crate::vm::state::text_at(thread, -2) == name.to_bytes() {
                return true;
            }
            lua_pop(thread, 1);
        }
        false
    }
}
