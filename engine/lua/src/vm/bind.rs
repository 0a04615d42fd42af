//! The binder: makes Lua functions of the rows of any module.

use crate::values::layout::{SlotValue, Table};
use crate::values::{json_write, shown, value};
use crate::vm::isolate::{Wait, current};
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, push_text};
use mlua_sys::lua51::*;
use sampan_host::{
    Args, Error, ErrorKind, Function, FunctionKind, LocalFuture, Module, Type, Value, Words,
};
use std::ffi::{CStr, c_int, c_void};

unsafe extern "C-unwind" {
    /// LuaJIT's: whether the running coroutine can yield here.
    pub(crate) fn lua_isyieldable(state: State) -> c_int;
}

/// What Lua calls things.
pub(crate) const WORDS: Words = Words {
    map: "a table",
    list: "a list",
    spell: str::to_owned,
};

/// What waiting in the wrong place is answered with.
pub(crate) const CANNOT_WAIT: &CStr =
    c"cannot wait here: not while a file loads, and not inside a callback of table.sort or string.gsub";

/// Its address marks a yield that is meant for the host.
static MARK: u8 = 0;

/// Pushes the mark of the host's yields.
pub(crate) unsafe fn push_mark(state: State) {
    // SAFETY: a light pointer that nobody follows.
    unsafe { lua_pushlightuserdata(state, (&raw const MARK).cast_mut().cast::<c_void>()) };
}

/// A bracket that is open.
#[derive(Clone, Copy)]
pub(crate) struct OpenBracket {
    module: &'static str,
    function: &'static str,
    /// The coroutine that it was opened in.
    state: State,
}

/// Why the running coroutine cannot wait, if it cannot.
pub(crate) unsafe fn cannot_wait(state: State) -> Option<String> {
    let core = current();
    if let Some(open) = core.brackets.borrow().last() {
        return Some(format!(
            "cannot wait inside {}.{}",
            open.module, open.function
        ));
    }
    // SAFETY: as for the caller.
    (!unsafe { can_wait(state) }).then(|| CANNOT_WAIT.to_string_lossy().into_owned())
}

/// Whether the running coroutine can wait.
unsafe fn can_wait(state: State) -> bool {
    let core = current();
    // SAFETY: asks about a running coroutine.
    core.brackets.borrow().is_empty()
        && unsafe { lua_isyieldable(state) } != 0
        && core.is_loaded.get()
}

/// `host.check_yield()`: raises if the running coroutine is a handler's, or would leave a bracket that is open in it.
pub(crate) unsafe extern "C-unwind" fn check_yield(state: State) -> c_int {
    // SAFETY: two stages.
    unsafe {
        let core = current();
        let checked = guard(|| {
            if core.running.get() == state {
                let text = "coroutine.yield: not inside a coroutine of your own";
                return Err(Error::script(text));
            }
            let brackets = core.brackets.borrow();
            match brackets.iter().rev().find(|open| open.state == state) {
                None => Ok(Value::Null),
                Some(open) => Err(Error::script(format!(
                    "coroutine.yield: cannot yield out of {}.{}",
                    open.module, open.function
                ))),
            }
        });
        match checked {
            Ok(_) => 0,
            failed => give_result(state, failed),
        }
    }
}

/// Suspends the running coroutine, and every one around it, up to the host. To be returned from a C function.
pub(crate) unsafe fn yield_to_host(state: State) -> c_int {
    // SAFETY: the caller has asked `lua_isyieldable` and returns this at once.
    unsafe {
        push_mark(state);
        lua_yield(state, 1)
    }
}

/// Pushes a list of all rows, for the prelude: `{ module, name, kind, call, leave, count }`. Under protection.
pub(crate) unsafe fn push_rows(state: State, modules: &'static [&'static Module]) {
    // SAFETY: under protection; no destructors.
    unsafe {
        lua_createtable(state, 0, 0);
        let mut count = 0;
        for (at, module) in modules.iter().enumerate() {
            for (row, function) in module.functions.iter().enumerate() {
                lua_createtable(state, 0, 7);
                push_text(state, module.name.as_bytes());
                lua_setfield(state, -2, c"module".as_ptr());
                push_text(state, function.name.as_bytes());
                lua_setfield(state, -2, c"name".as_ptr());
                lua_pushnumber(state, function.params.len() as f64);
                lua_setfield(state, -2, c"count".as_ptr());
                let is_shown = function.params.iter().any(|param| param.ty == Type::Shown);
                lua_pushboolean(state, c_int::from(is_shown));
                lua_setfield(state, -2, c"shown".as_ptr());
                let (kind, call): (&[u8], lua_CFunction) = match function.kind {
                    FunctionKind::Sync(_) => (b"sync", call_sync),
                    FunctionKind::Prompt { .. } => (b"prompt", call_prompt),
                    FunctionKind::Tag(_) => {
                        lua_pop(state, 1);
                        continue;
                    }
                    FunctionKind::Async(_) => (b"async", call_async),
                    FunctionKind::Bracket { .. } => (b"bracket", call_sync),
                };
                push_text(state, kind);
                lua_setfield(state, -2, c"kind".as_ptr());
                push_row(state, at, row, call);
                lua_setfield(state, -2, c"call".as_ptr());
                push_row(state, at, row, call_leave);
                lua_setfield(state, -2, c"leave".as_ptr());
                count += 1;
                lua_rawseti(state, -2, count);
            }
        }
    }
}

unsafe fn push_row(state: State, module: usize, row: usize, call: lua_CFunction) {
    // SAFETY: under protection.
    unsafe {
        lua_pushnumber(state, module as f64);
        lua_pushnumber(state, row as f64);
        lua_pushcclosure(state, call, 2);
    }
}

/// The row that the running C function stands for.
unsafe fn row(state: State) -> (&'static Module, &'static Function) {
    // SAFETY: the upvalues were set by `push_row`.
    let (module, row) = unsafe {
        (
            lua_tonumber(state, lua_upvalueindex(1)) as usize,
            lua_tonumber(state, lua_upvalueindex(2)) as usize,
        )
    };
    let module = current().modules[module];
    (module, &module.functions[row])
}

/// The arguments of the running C function, checked.
unsafe fn arguments(state: State, module: &Module, function: &Function) -> Result<Args, Error> {
    // SAFETY: as for what is called.
    unsafe { read_arguments(state, module, function) }.map_err(|error| {
        // SAFETY: looks at the stack and at a table on it, and calls nothing.
        if unsafe { has_colon(state, function) } {
            let name = WORDS.function(module, function);
            return Error::script(format!(
                "{name}: write {name}(...) with a dot, not with a colon"
            ));
        }
        error
    })
}

/// Whether the first argument is the module itself, as a colon passes it.
#[cold]
unsafe fn has_colon(state: State, function: &Function) -> bool {
    // SAFETY: the table stays on the stack, and nothing of Lua runs meanwhile.
    unsafe {
        lua_type(state, 1) == LUA_TTABLE && Table::at(state, 1).nodes().iter().any(|node| {
            !node.value.is_nil()
                && matches!(node.key.see(), SlotValue::Text(name) if name == function.name.as_bytes())
                && matches!(node.value.see(), SlotValue::Other("function"))
        })
    }
}

unsafe fn read_arguments(
    state: State,
    module: &Module,
    function: &Function,
) -> Result<Args, Error> {
    // SAFETY: reads the height of the stack.
    let given = unsafe { lua_gettop(state) } as usize;
    let mut values = Vec::with_capacity(function.params.len());
    for (index, param) in function.params.iter().enumerate().take(given) {
        let at = index as c_int + 1;
        // SAFETY: room was made by the caller.
        let value = unsafe {
            match param.ty {
                Type::Json => json_write::text(state, at),
                Type::Shown => Ok(shown::read(state, at)),
                _ => value::read(state, at),
            }
        };
        values.push(value.map_err(|error| {
            let argument = WORDS.argument(module.name, function, index);
            Error::new(error.kind(), format!("{argument}: {}", error.message()))
        })?);
    }
    Args::check_in(&WORDS, module.name, function, values, |index| {
        // SAFETY: looks at the stack.
        match unsafe { lua_type(state, index as c_int + 1) } {
            LUA_TLIGHTUSERDATA => "app.null",
            _ => "nil",
        }
    })
}

/// Makes the room that reading arguments needs. May raise.
unsafe fn make_room(state: State) {
    // SAFETY: under protection, before anything is alive that would have to be dropped.
    unsafe {
        if lua_checkstack(state, value::STACK_SLOTS) == 0 {
            luaL_error(state, c"stack overflow".as_ptr());
        }
    }
}

/// Second stage: pushes or raises what the first left in the isolate.
unsafe fn give_result(state: State, result: Result<Value, Error>) -> c_int {
    // SAFETY: the value is moved into the isolate before anything can raise, and dropped when it has been pushed.
    unsafe {
        let cell = current().result.get();
        let is_error = result.is_err();
        *cell = Some(result);
        if is_error {
            raise_result(state);
        }
        if let Some(Ok(value)) = &*cell {
            value::push(state, value);
        }
        *cell = None;
        1
    }
}

/// A synchronous row, or the `enter` of a bracket.
unsafe extern "C-unwind" fn call_sync(state: State) -> c_int {
    // SAFETY: two stages.
    unsafe {
        make_room(state);
        let result = guard(|| {
            let (module, function) = row(state);
            let args = arguments(state, module, function)?;
            match function.kind {
                FunctionKind::Sync(body) => body(&current().context, args),
                FunctionKind::Bracket { enter, .. } => {
                    let token = enter(&current().context, args)?;
                    current().brackets.borrow_mut().push(OpenBracket {
                        module: module.name,
                        function: function.name,
                        state,
                    });
                    Ok(token)
                }
                FunctionKind::Prompt { .. } | FunctionKind::Async(_) | FunctionKind::Tag(_) => {
                    Ok(Value::Null)
                }
            }
        });
        give_result(state, result)
    }
}

/// The `leave` of a bracket: called with what `enter` returned and whether the function succeeded.
unsafe extern "C-unwind" fn call_leave(state: State) -> c_int {
    // SAFETY: two stages.
    unsafe {
        make_room(state);
        let result = guard(|| {
            let (_, function) = row(state);
            current().brackets.borrow_mut().pop();
            let token = value::read(state, 1)?;
            let succeeded = lua_toboolean(state, 2) != 0;
            let FunctionKind::Bracket { leave, .. } = function.kind else {
                return Ok(Value::Null);
            };
            match leave(&current().context, token, succeeded) {
                // What the function raised is more telling than what `leave` says on top of it.
                Err(error) if !succeeded => (current().report)(error),
                left => left?,
            }
            Ok(Value::Null)
        });
        give_result(state, result)
    }
}

/// An asynchronous row: starts the operation and suspends the coroutine. The prelude unpacks what comes back.
unsafe extern "C-unwind" fn call_async(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        make_room(state);
        let core = current();
        let begun = guard(|| {
            let (module, function) = row(state);
            if let Some(why) = cannot_wait(state) {
                return Err(Error::script(format!(
                    "{}.{}: {why}",
                    module.name, function.name
                )));
            }
            let args = arguments(state, module, function)?;
            let operation: LocalFuture<Result<Value, Error>> = match function.kind {
                FunctionKind::Async(body) => body(&core.context, args),
                _ => return Err(Error::script("not an asynchronous function")),
            };
            *core.wait.borrow_mut() = Some(Wait::Operation(operation));
            Ok(())
        });
        if let Err(error) = begun {
            return give_result(state, Err(error));
        }
        yield_to_host(state)
    }
}

/// A row that returns at once where it can: pushes nothing and the value. Where that would take too long and the coroutine can
/// wait, it is suspended like one of an asynchronous row, and what comes back is whether that succeeded, then the value or the error.
unsafe extern "C-unwind" fn call_prompt(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        make_room(state);
        let core = current();
        let mut waits = false;
        let result = guard(|| {
            let (module, function) = row(state);
            let FunctionKind::Prompt { body, later, .. } = function.kind else {
                return Ok(Value::Null);
            };
            let may_wait = can_wait(state);
            let args = arguments(state, module, function)?.waiting(may_wait);
            let error = match body(&core.context, args) {
                Err(error) if error.kind() == ErrorKind::TooLong => error,
                done => return done,
            };
            if let Some(why) = cannot_wait(state) {
                let said = error.message();
                let text = format!("{said} ({}.{}: {why})", module.name, function.name);
                return Err(error.with_message(text));
            }
            // The arguments are still on the stack.
            let operation = later(&core.context, arguments(state, module, function)?);
            *core.wait.borrow_mut() = Some(Wait::Operation(operation));
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
