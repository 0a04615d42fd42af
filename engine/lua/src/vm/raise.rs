//! From errors of the contract to what scripts catch.

use crate::vm::isolate::current;
use crate::vm::stack::{CHAIN, FRAMES_MAX, stack_of};
use crate::vm::state::{State, guard, push_ref, push_text, text_at};
use mlua_sys::lua51::*;
use sampan_host::{Details, Error, ErrorKind, Hint, Place};
use std::ffi::{CStr, c_char, c_int};

/// Second stage of a C function that failed: raises the error in `current().result`. Errors of the script itself become
/// plain strings with the caller's place in front, others tables with `message` and `status`.
pub(crate) unsafe fn raise_result(state: State) -> ! {
    // SAFETY: the error stays in `result`, which is no local of this frame, until its parts are pushed; then it is
    // dropped before
    // `lua_error` unwinds.
    unsafe {
        push_error(state, Some(state));
        *current().result.get() = None;
        lua_error(state)
    }
}

/// Returns the innermost line of a project file that runs in `at`: the file, without the `@` in front of it, and the
/// line. The file belongs to a prototype on the stack.
unsafe fn line_in(at: State) -> Option<(*const c_char, c_int)> {
    // SAFETY: `at` is alive, and these functions only look at its stack. They fill `record`, for which zeros are valid,
    // and its source is a terminated string of a prototype on that stack.
    unsafe {
        let mut record: lua_Debug = std::mem::zeroed();
        for level in 0..FRAMES_MAX {
            if lua_getstack(at, level, &raw mut record) == 0
                || lua_getinfo(at, c"Sl".as_ptr(), &raw mut record) == 0
                || CStr::from_ptr(record.source) == CHAIN
            {
                return None;
            }
            if record.currentline > 0 && *record.source == b'@' as c_char {
                return Some((record.source.add(1), record.currentline));
            }
        }
        None
    }
}

/// Returns the place of the innermost line of a project file that runs in `at`.
pub(crate) unsafe fn place_in(at: State) -> Option<Place> {
    // SAFETY: the text lives as long as its prototype, which is on the stack.
    unsafe {
        let (file, line) = line_in(at)?;
        Some(Place {
            file: CStr::from_ptr(file).to_string_lossy().into_owned(),
            line: u32::try_from(line).ok()?,
        })
    }
}

/// Pushes the text `file:line` of the innermost line of a project file that runs in `at`, or an empty one, onto
/// `state`.
unsafe fn push_where(state: State, at: State) {
    // SAFETY: the text is made of what belongs to a prototype on the stack.
    unsafe {
        match line_in(at) {
            Some((file, line)) => {
                lua_pushfstring(state, c"%s:%d".as_ptr(), file, line);
            }
            None => push_text(state, b""),
        }
    }
}

/// Pushes the error in `current().result` as scripts see it: one that has details as an object, one of the script
/// itself as text, others as tables with `message` and `status`. `at` is the thread whose place it is given. May raise
/// for lack of memory.
pub(crate) unsafe fn push_error(state: State, at: Option<State>) {
    // SAFETY: reads through the cell; nothing else touches it while this C function runs.
    unsafe {
        let Some(Err(error)) = &*current().result.get() else {
            push_text(state, b"unknown error");
            return;
        };
        match (error.place(), at) {
            // The error was raised in a function that was called back.
            (Some(place), _) => {
                push_text(state, place.file.as_bytes());
                lua_pushfstring(
                    state,
                    c"%s:%d".as_ptr(),
                    lua_tostring(state, -1),
                    place.line as c_int,
                );
                lua_remove(state, -2);
            }
            (None, Some(at)) => push_where(state, at),
            (None, None) => push_text(state, b""),
        }
        if let Some(details) = error.details() {
            push_detailed(state, at, error, details);
            return;
        }
        if !text_at(state, -1).is_empty() {
            push_text(state, b": ");
            lua_concat(state, 2);
        }
        push_message(state, error);
        lua_concat(state, 2);
        let status = error.kind().status();
        if matches!(error.kind(), ErrorKind::Script | ErrorKind::Load) {
            return;
        }
        lua_createtable(state, 0, 2);
        lua_pushnumber(state, f64::from(status));
        lua_setfield(state, -2, c"status".as_ptr());
        // Messages of other errors may be meant for clients, whom places in the script do not concern.
        if status == 500 {
            lua_pushvalue(state, -2);
        } else {
            push_message(state, error);
        }
        lua_setfield(state, -2, c"message".as_ptr());
        set_meta(state, error.kind());
        lua_remove(state, -2);
    }
}

/// Pushes the message, with what Lua may have to do with it.
unsafe fn push_message(state: State, error: &Error) {
    // SAFETY: under protection; the text belongs to the isolate.
    unsafe {
        push_text(state, error.message().as_bytes());
        let hint: &[u8] = match error.hint() {
            None => return,
            Some(Hint::ShortList) => b" (a nil at the end of a table is lost: use app.null)",
            Some(Hint::MissingMember) => b" (a nil in a table is lost: use app.null)",
            Some(Hint::NoMembers) => {
                b" (a nil in a table is lost: write assert(value, \"what is missing\") where there may be one)"
            }
        };
        push_text(state, hint);
        lua_concat(state, 2);
    }
}

/// Returns the state whose place the error in `current().result` is given when it ends the waiting of `thread`. Texts
/// get none, because their message may be
/// all that the script looks at.
pub(crate) unsafe fn waiting_place(thread: State) -> Option<State> {
    // SAFETY: reads through the cell; nothing else touches it now.
    match unsafe { &*current().result.get() } {
        Some(Err(error)) if error.details().is_some() => Some(thread),
        _ => None,
    }
}

/// Replaces the place on top by an error object that has it. Its text is the place and the message, see `errors.lua`.
unsafe fn push_detailed(state: State, at: Option<State>, error: &Error, details: &Details) {
    // SAFETY: the error belongs to the isolate, the stack's text to its scratch; nothing on this frame has to be
    // dropped.
    unsafe {
        lua_createtable(state, 0, 8);
        if !text_at(state, -2).is_empty() {
            lua_pushvalue(state, -2);
            lua_setfield(state, -2, c"place".as_ptr());
        }
        lua_remove(state, -2);
        push_message(state, error);
        lua_setfield(state, -2, c"message".as_ptr());
        if !matches!(error.kind(), ErrorKind::Script | ErrorKind::Load) {
            lua_pushnumber(state, f64::from(error.kind().status()));
            lua_setfield(state, -2, c"status".as_ptr());
        }
        set_details(state, details);
        if let Some(at) = at {
            let scratch = &mut *current().scratch.get();
            scratch.clear();
            let _ = guard(|| {
                scratch.add(stack_of(at, None).as_bytes());
                Ok(())
            });
            if let Some(stack) = scratch.first() {
                push_text(state, stack);
                lua_setfield(state, -2, c"stack".as_ptr());
            }
        }
        set_meta(state, error.kind());
    }
}

/// Gives the table on top the fields of `details`, which must not be dropped if this raises.
pub(crate) unsafe fn set_details(state: State, details: &Details) {
    let text = |name: &CStr, text: &str| {
        // SAFETY: under protection; the text belongs to the caller's caller.
        unsafe {
            push_text(state, text.as_bytes());
            lua_setfield(state, -2, name.as_ptr());
        }
    };
    text(c"code", &details.code);
    if let Some(table) = &details.table {
        text(c"table", table);
    }
    if let Some(constraint) = &details.constraint {
        text(c"constraint", constraint);
    }
    if !details.columns.is_empty() {
        // SAFETY: under protection; the texts belong to the caller's caller, and nothing on this frame has a
        // destructor.
        unsafe {
            lua_createtable(state, details.columns.len() as c_int, 0);
            for (at, column) in (1..).zip(&details.columns) {
                push_text(state, column.as_bytes());
                lua_rawseti(state, -2, at);
            }
            lua_setfield(state, -2, c"columns".as_ptr());
        }
    }
}

/// Gives the table on top the metatable of errors of this kind.
pub(crate) unsafe fn set_meta(state: State, kind: ErrorKind) {
    // SAFETY: both are on the stack; the caller has room for one.
    unsafe {
        push_ref(
            state,
            current().refs.get().error_metas[kind.mark().unwrap_or(0)],
        );
        lua_setmetatable(state, -2);
    }
}
