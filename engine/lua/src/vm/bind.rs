//! The binder: makes Lua functions of the rows of any module.

mod arguments;
pub(crate) mod bracket;
pub(crate) mod call_site;
pub(crate) mod callback;
pub(crate) mod results;
pub(crate) mod row;
pub(crate) mod wait;

use crate::values::objects;
use crate::values::reader::slots::LuaReader;
use crate::values::value;
use crate::vm::bind::arguments::arguments;
use crate::vm::bind::callback::Functions;
use crate::vm::bind::results::{OF_REQUESTS, give_result, give_results, numbered, row};
use crate::vm::bind::row::{BoundRow, WORDS};
use crate::vm::bind::wait::{can_wait, cannot_wait, wait_for, yield_to_host};
use crate::vm::isolate::room::need_room;
use crate::vm::isolate::{Core, current, samples};
use crate::vm::state::{State, guard, push_text};
use mlua_sys::lua51::*;
use sampan_host::{
    Error, ErrorKind, Function, FunctionKind, Module, Prompt, RowOwner, Type, Value,
};
use std::ffi::{CStr, c_int};

/// Pushes a list of the rows of all modules, for the prelude. Under protection.
pub(crate) unsafe fn push_modules(state: State, modules: &'static [&'static Module]) {
    // SAFETY: the caller runs under protection, and nothing on this frame has a destructor that an error would skip.
    unsafe {
        lua_createtable(state, 0, 0);
        for (at, module) in modules.iter().enumerate() {
            push_rows(state, at, module.owner(), module.functions);
            let methods = module.request_methods;
            push_rows(state, OF_REQUESTS + at, RowOwner::REQUEST, methods);
        }
    }
}

/// Pushes a list of all classes, for the prelude: `{ name, meta, rows, is_keyed }`. Under protection.
pub(crate) unsafe fn push_classes(state: State, core: &Core) {
    // SAFETY: under protection; a `BoundClass` has no destructor, and the list of them lies in the isolate.
    unsafe {
        lua_createtable(state, 0, 0);
        let modules = core.modules.iter();
        let classes = modules.flat_map(|module| module.classes.iter().copied());
        for (at, class) in classes.enumerate() {
            lua_createtable(state, 0, 4);
            push_text(state, class.name.as_bytes());
            lua_setfield(state, -2, c"name".as_ptr());
            objects::push_meta(state, core, class);
            lua_setfield(state, -2, c"meta".as_ptr());
            lua_createtable(state, 0, 0);
            push_rows(state, core.modules.len() + at, class.owner(), class.methods);
            lua_setfield(state, -2, c"rows".as_ptr());
            lua_pushboolean(state, c_int::from(class.is_keyed));
            lua_setfield(state, -2, c"is_keyed".as_ptr());
            lua_rawseti(state, -2, at as i64 + 1);
        }
    }
}

/// Adds rows to the list on top: `{ owner, mark, name, kind, call, leave, open, count, fewest, nth, shown, answers }`.
/// `table` is the number of their table, see [`Core::table`](crate::vm::isolate::Core::table). Under protection.
pub(crate) unsafe fn push_rows(
    state: State,
    table: usize,
    owner: RowOwner<'static>,
    functions: &'static [Function],
) {
    // SAFETY: the caller runs under protection, and nothing on this frame has a destructor that an error would skip.
    unsafe {
        for (at, function) in functions.iter().enumerate() {
            let (kind, call, leave): (&[u8], lua_CFunction, lua_CFunction) = match function.kind {
                FunctionKind::Sync(_) | FunctionKind::Reading(_) => {
                    (b"sync", call_sync, bracket::call_leave)
                }
                FunctionKind::Prompt { .. }
                | FunctionKind::ReadingPrompt(_)
                | FunctionKind::ReadingWaiting(_)
                | FunctionKind::Waiting(_) => (b"prompt", call_prompt, bracket::call_leave),
                FunctionKind::Async(_) => (b"async", call_async, bracket::call_leave),
                FunctionKind::Bracket { .. } => {
                    (b"bracket", bracket::call_enter, bracket::call_leave)
                }
                FunctionKind::WaitingBracket { .. } => (
                    b"waiting_bracket",
                    bracket::call_enter,
                    bracket::call_leave_waiting,
                ),
                FunctionKind::AsyncBracket { .. } => {
                    (b"async_bracket", call_async, bracket::call_leave_later)
                }
                FunctionKind::Fill { .. } => (b"fill", call_async, bracket::call_leave_later),
                FunctionKind::Tag(_) | FunctionKind::WaitingTag(_) => continue,
            };
            lua_createtable(state, 0, 12);
            let text = |name: &CStr, text: &[u8]| {
                push_text(state, text);
                lua_setfield(state, -2, name.as_ptr());
            };
            text(c"owner", owner.name.as_bytes());
            text(
                c"mark",
                if owner.is_class { WORDS.method } else { "." }.as_bytes(),
            );
            text(c"name", function.name.as_bytes());
            text(c"kind", kind);
            let count = function.params.len() as f64;
            let receiver = f64::from(u8::from(owner.is_class));
            let optional = function.params.iter().filter(|param| param.optional);
            let fewest = receiver + count - optional.count() as f64;
            for (name, number) in [
                (c"count", receiver + count),
                (c"fewest", fewest),
                (c"nth", count + 1.0),
            ] {
                lua_pushnumber(state, number);
                lua_setfield(state, -2, name.as_ptr());
            }
            let is_shown = function.params.iter().any(|param| param.ty == Type::Shown);
            lua_pushboolean(state, c_int::from(is_shown));
            lua_setfield(state, -2, c"shown".as_ptr());
            lua_pushboolean(state, c_int::from(function.returns == Type::Answer));
            lua_setfield(state, -2, c"answers".as_ptr());
            for (name, function) in [
                (c"call", call),
                (c"leave", leave),
                (c"open", bracket::note_open),
            ] {
                push_row(state, table, at, function);
                lua_setfield(state, -2, name.as_ptr());
            }
            lua_rawseti(state, -2, lua_objlen(state, -2) as i64 + 1);
        }
    }
}

unsafe fn push_row(state: State, table: usize, row: usize, call: lua_CFunction) {
    // SAFETY: the caller runs under protection, and nothing on this frame has a destructor that an error would skip.
    unsafe {
        lua_pushnumber(state, table as f64);
        lua_pushnumber(state, row as f64);
        // The table that holds the function, see `prelude.lua`.
        lua_pushnil(state);
        lua_pushcclosure(state, call, 3);
    }
}

/// The row that the function on top stands for, if it is one of ours for a row. Needs room for two values.
pub(crate) unsafe fn row_on_top(state: State) -> Option<BoundRow> {
    let rows: [lua_CFunction; 7] = [
        call_sync,
        call_prompt,
        call_async,
        bracket::call_enter,
        bracket::call_leave,
        bracket::call_leave_waiting,
        bracket::call_leave_later,
    ];
    // SAFETY: the upvalues were set by `push_row`; what is pushed is popped.
    unsafe {
        let function = lua_tocfunction(state, -1)?;
        if !rows.iter().any(|row| std::ptr::fn_addr_eq(*row, function)) {
            return None;
        }
        lua_getupvalue(state, -1, 1);
        lua_getupvalue(state, -2, 2);
        let (table, row) = (lua_tonumber(state, -2), lua_tonumber(state, -1));
        lua_pop(state, 2);
        Some(numbered(table as usize, row as usize))
    }
}

/// First stage of a row that a coroutine has called: functions of the script that the body calls run on top of it.
///
/// # Safety
/// The row's C function must run in `state`, on this thread.
pub(crate) unsafe fn called_by<T>(
    state: State,
    body: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let core = current();
    let outer = core.calling.replace(state);
    let mut result = guard(body);
    core.calling.set(outer);
    if let Err(error) = &mut result
        && error.wants_name()
    {
        // SAFETY: the row's C function runs in `state`, as the caller promises.
        error.put_name(&unsafe { row(state) }.name());
    }
    if core.watch.samples().is_some() {
        // SAFETY: the row's C function runs in `state`, as the caller promises.
        unsafe { samples::after_row(core, state) };
    }
    result
}

/// A synchronous row.
unsafe extern "C-unwind" fn call_sync(state: State) -> c_int {
    // SAFETY: the body runs within `called_by`; `give_result` moves what it gives into the isolate before it may raise.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        let row = row(state);
        let references = callback::anchor(state, &row);
        let result = called_by(state, || {
            let args = arguments(state, row, callback::own(references, row))?;
            match row.function.kind {
                FunctionKind::Sync(body) => body(&current().context, args),
                FunctionKind::Reading(body) => {
                    let (core, first) = (current(), row.before() as c_int + 1);
                    LuaReader::with(core, state, first, row, |reader| {
                        body(&core.context, args, reader)
                    })
                }
                _ => Ok(Value::Null),
            }
        });
        match row.function.returns {
            Type::Results(_) | Type::Answer => give_results(state, result),
            _ => give_result(state, result),
        }
    }
}

/// An asynchronous row, or the `enter` of a bracket that waits: starts the operation and suspends the coroutine. The
/// prelude unpacks what comes back.
unsafe extern "C-unwind" fn call_async(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        let row = row(state);
        let references = callback::anchor(state, &row);
        let begun = called_by(state, || {
            let functions = callback::own(references, row);
            if let Some(why) = cannot_wait(state) {
                return Err(Error::script(format!("{}: {why}", row.name())));
            }
            let args = arguments(state, row, functions)?;
            let context = &current().context;
            let held = args.hold(context)?;
            wait_for(held.during(match row.function.kind {
                FunctionKind::Async(body) => body(context, args),
                FunctionKind::AsyncBracket { enter, .. } | FunctionKind::Fill { enter, .. } => {
                    enter(context, args)
                }
                _ => return Err(Error::script("not an asynchronous function")),
            }));
            Ok(())
        });
        if let Err(error) = begun {
            return give_result(state, Err(error));
        }
        yield_to_host(state)
    }
}

/// A row that returns at once where it can: pushes nothing and the value. Where that would take too long, or the body
/// waits, and the coroutine can wait, it is suspended like one of an asynchronous row, and what comes back is whether
/// that succeeded, then the value or the error.
unsafe extern "C-unwind" fn call_prompt(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        let core = current();
        let mut waits = false;
        let result = called_by(state, || {
            let row = row(state);
            let may_wait = can_wait(state);
            let args = || arguments(state, row, Functions::new());
            let prompt = match row.function.kind {
                FunctionKind::ReadingPrompt(body) | FunctionKind::ReadingWaiting(body) => {
                    let (args, first) = (args()?.waiting(may_wait), row.before() as c_int + 1);
                    let held = args.hold(&core.context)?;
                    let prompt = LuaReader::with(core, state, first, row, |reader| {
                        body(&core.context, args, reader)
                    })?;
                    Some((prompt, held))
                }
                FunctionKind::Waiting(body) => {
                    let args = args()?.waiting(may_wait);
                    let held = args.hold(&core.context)?;
                    Some((body(&core.context, args)?, held))
                }
                _ => None,
            };
            match prompt {
                Some((Prompt::Done(value), _)) => return Ok(value),
                Some((Prompt::Waits(future), held)) => {
                    if let Some(why) = cannot_wait(state) {
                        return Err(Error::script(format!("{}: {why}", row.name())));
                    }
                    wait_for(held.during(future));
                    waits = true;
                    return Ok(Value::Null);
                }
                None => {}
            }
            let FunctionKind::Prompt { body, later, .. } = row.function.kind else {
                return Ok(Value::Null);
            };
            let args = args()?.waiting(may_wait);
            let error = match body(&core.context, args) {
                Err(error) if error.kind() == ErrorKind::TooLong => error,
                done => return done,
            };
            if let Some(why) = cannot_wait(state) {
                let text = format!("{} ({}: {why})", error.message(), row.name());
                return Err(error.with_message(text));
            }
            // The arguments are still on the stack.
            let args = arguments(state, row, Functions::new())?;
            let held = args.hold(&core.context)?;
            wait_for(held.during(later(&core.context, args)));
            waits = true;
            Ok(Value::Null)
        });
        if waits {
            return yield_to_host(state);
        }
        lua_pushnil(state);
        1 + give_result(state, result)
    }
}
