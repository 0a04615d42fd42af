//! The binder: makes Lua functions of the rows of any module.

mod arguments;
pub(crate) mod bracket;
pub(crate) mod callback;

pub(crate) use arguments::arguments;

use crate::values::reader::LuaReader;
use crate::values::value;
use crate::vm::isolate::{Wait, current, samples};
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, push_text};
use callback::Functions;
use mlua_sys::lua51::*;
use sampan_host::{
    Class, Error, ErrorKind, Function, FunctionKind, LocalFuture, Module, RowOwner, Type, Value,
    Words,
};
use std::ffi::{CStr, c_int, c_void};

unsafe extern "C-unwind" {
    /// LuaJIT's: whether the running coroutine can yield here.
    pub(crate) fn lua_isyieldable(state: State) -> c_int;
}

/// The names of things in Lua.
pub(crate) const WORDS: Words = Words {
    map: "a table",
    list: "a list",
    method: ":",
    spell: str::to_owned,
};

/// The error of waiting in the wrong place is answered with.
pub(crate) const CANNOT_WAIT: &CStr =
    c"cannot wait here: not while a file loads, and not inside a function that is called back, as by table.sort or \
     string.gsub";

/// The address that marks a yield that is meant for the host.
static MARK: u8 = 0;

/// Pushes the mark of the host's yields.
pub(crate) unsafe fn push_mark(state: State) {
    // SAFETY: a light pointer that nobody follows.
    unsafe { lua_pushlightuserdata(state, (&raw const MARK).cast_mut().cast::<c_void>()) };
}

/// Why the running coroutine cannot wait, if it cannot.
pub(crate) unsafe fn cannot_wait(state: State) -> Option<String> {
    let core = current();
    if let Some(open) = core.brackets.borrow().last() {
        return Some(format!("cannot wait inside {}", open.name()));
    }
    // SAFETY: the state is that of the running coroutine, which is all that `can_wait` needs.
    if unsafe { can_wait(state) } {
        return None;
    }
    Some(match core.called_back_by.get() {
        Some(row) => format!(
            "cannot wait here: not inside a function that {} calls",
            row.name()
        ),
        None => CANNOT_WAIT.to_string_lossy().into_owned(),
    })
}

/// Reports whether the running coroutine can wait.
pub(crate) unsafe fn can_wait(state: State) -> bool {
    let core = current();
    // SAFETY: asks about a running coroutine.
    core.brackets.borrow().is_empty()
        && unsafe { lua_isyieldable(state) } != 0
        && core.is_loaded.get()
}

/// Suspends the running coroutine, and every one around it, up to the host. To be returned from a C function.
pub(crate) unsafe fn yield_to_host(state: State) -> c_int {
    // SAFETY: the caller has asked `lua_isyieldable` and returns this at once.
    unsafe {
        push_mark(state);
        lua_yield(state, 1)
    }
}

/// Leaves what the coroutine waits for, which is to yield next.
pub(crate) fn wait_for(operation: LocalFuture<Result<Value, Error>>) {
    *current().wait.borrow_mut() = Some(Wait::Operation(operation));
}

/// The number of a table of methods of requests is this and the number of their module.
const OF_REQUESTS: usize = 1 << 20;

/// Pushes a list of the rows of all modules, for the prelude. Under protection.
pub(crate) unsafe fn push_modules(state: State, modules: &'static [&'static Module]) {
    // SAFETY: under protection; no destructors.
    unsafe {
        lua_createtable(state, 0, 0);
        for (at, module) in modules.iter().enumerate() {
            push_rows(state, at, module.owner(), module.functions);
            let methods = module.request_methods;
            push_rows(state, OF_REQUESTS + at, RowOwner::REQUEST, methods);
        }
    }
}

/// Adds rows to the list on top: `{ owner, mark, name, kind, call, leave, open, count, nth, shown, answers }`. `table`
/// is the number of their table, see [`Core::table`](crate::vm::isolate::Core::table). Under protection.
pub(crate) unsafe fn push_rows(
    state: State,
    table: usize,
    owner: RowOwner<'static>,
    functions: &'static [Function],
) {
    // SAFETY: under protection; no destructors.
    unsafe {
        for (at, function) in functions.iter().enumerate() {
            let (kind, call, leave): (&[u8], lua_CFunction, lua_CFunction) = match function.kind {
                FunctionKind::Sync(_) | FunctionKind::Reading(_) => {
                    (b"sync", call_sync, bracket::call_leave)
                }
                FunctionKind::Prompt { .. } => (b"prompt", call_prompt, bracket::call_leave),
                FunctionKind::Async(_) => (b"async", call_async, bracket::call_leave),
                FunctionKind::Bracket { .. } => {
                    (b"bracket", bracket::call_enter, bracket::call_leave)
                }
                FunctionKind::AsyncBracket { .. } => {
                    (b"async_bracket", call_async, bracket::call_leave_later)
                }
                FunctionKind::Tag(_) => continue,
            };
            lua_createtable(state, 0, 11);
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
            let before = count + f64::from(u8::from(owner.is_class));
            for (name, number) in [(c"count", before), (c"nth", count + 1.0)] {
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
    // SAFETY: under protection.
    unsafe {
        lua_pushnumber(state, table as f64);
        lua_pushnumber(state, row as f64);
        // The table that holds the function, see `prelude.lua`.
        lua_pushnil(state);
        lua_pushcclosure(state, call, 3);
    }
}

/// A row that a C function stands for.
#[derive(Clone, Copy)]
pub(crate) struct BoundRow {
    owner: RowOwner<'static>,
    /// The class that it is a method of.
    class: Option<&'static Class>,
    pub(crate) function: &'static Function,
}

impl BoundRow {
    /// The name as the script spells it: `db.query`, `tx:query`.
    pub(crate) fn name(&self) -> String {
        WORDS.function(self.owner, self.function)
    }

    /// Returns the number of arguments that stand in front of those of its parameters: what a method is called on.
    pub(crate) fn before(&self) -> usize {
        usize::from(self.owner.is_class)
    }

    /// Reports whether it is a method of requests.
    fn is_of_request(&self) -> bool {
        self.class.is_none() && self.owner.is_class
    }
}

/// The row that the running C function stands for.
pub(crate) unsafe fn row(state: State) -> BoundRow {
    // SAFETY: the upvalues were set by `push_row`.
    unsafe {
        numbered(
            lua_tonumber(state, lua_upvalueindex(1)) as usize,
            lua_tonumber(state, lua_upvalueindex(2)) as usize,
        )
    }
}

/// The row that the function on top stands for, if it is one of ours for a row. Needs room for two values.
pub(crate) unsafe fn row_on_top(state: State) -> Option<BoundRow> {
    let rows: [lua_CFunction; 6] = [
        call_sync,
        call_prompt,
        call_async,
        bracket::call_enter,
        bracket::call_leave,
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

/// A row by its table and its place in it.
fn numbered(table: usize, row: usize) -> BoundRow {
    let core = current();
    if let Some(module) = table.checked_sub(OF_REQUESTS) {
        return BoundRow {
            owner: RowOwner::REQUEST,
            class: None,
            function: &core.modules[module].request_methods[row],
        };
    }
    match core.modules.get(table) {
        Some(module) => BoundRow {
            owner: module.owner(),
            class: None,
            function: &module.functions[row],
        },
        None => {
            let class = core.classes.borrow()[table - core.modules.len()].class;
            BoundRow {
                owner: class.owner(),
                class: Some(class),
                function: &class.methods[row],
            }
        }
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
    let result = guard(body);
    core.calling.set(outer);
    if core.watch.samples().is_some() {
        // SAFETY: the row's C function runs in `state`, as the caller promises.
        unsafe { samples::after_row(core, state) };
    }
    result
}

/// Makes the room that reading arguments needs. May raise.
pub(crate) unsafe fn make_room(state: State) {
    // SAFETY: under protection, before anything is alive that would have to be dropped.
    unsafe {
        if lua_checkstack(state, value::STACK_SLOTS) == 0 {
            luaL_error(state, c"stack overflow".as_ptr());
        }
    }
}

/// A new object of a request becomes that of the request that runs.
fn own(value: Value) -> Result<Value, Error> {
    if let Value::Object(object) = value {
        if !current().is_loaded.get() {
            current().context.objects().check_outside(object)?;
        }
        current().own(object);
    }
    Ok(value)
}

/// Second stage: pushes or raises what the first left in the isolate.
pub(crate) unsafe fn give_result(state: State, result: Result<Value, Error>) -> c_int {
    // SAFETY: the value is moved into the isolate before anything can raise, and dropped when it has been pushed.
    unsafe {
        keep_result(state, result);
        let cell = current().result.get();
        if let Some(Ok(value)) = &*cell {
            value::push(state, value);
        }
        *cell = None;
        1
    }
}

/// Pushes the results of a row with several results, or for the parts of an answer.
unsafe fn give_results(state: State, result: Result<Value, Error>) -> c_int {
    // SAFETY: the values are moved into the isolate before anything can raise, and dropped when they have been pushed.
    unsafe {
        keep_result(state, result);
        let (cell, mut count) = (current().result.get(), 0);
        if let Some(Ok(Value::List(results))) = &*cell {
            for result in results {
                value::push(state, result);
                count += 1;
            }
        }
        *cell = None;
        count
    }
}

/// Moves a result into the isolate, or raises it if it is an error.
unsafe fn keep_result(state: State, result: Result<Value, Error>) {
    // SAFETY: nothing on this frame has a destructor when it raises.
    unsafe {
        let result = result.and_then(own);
        let is_error = result.is_err();
        *current().result.get() = Some(result);
        if is_error {
            raise_result(state);
        }
    }
}

/// A synchronous row.
unsafe extern "C-unwind" fn call_sync(state: State) -> c_int {
    // SAFETY: two stages.
    unsafe {
        make_room(state);
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
        make_room(state);
        let row = row(state);
        let references = callback::anchor(state, &row);
        let begun = called_by(state, || {
            let functions = callback::own(references, row);
            if let Some(why) = cannot_wait(state) {
                return Err(Error::script(format!("{}: {why}", row.name())));
            }
            let args = arguments(state, row, functions)?;
            let context = &current().context;
            wait_for(match row.function.kind {
                FunctionKind::Async(body) => body(context, args),
                FunctionKind::AsyncBracket { enter, .. } => enter(context, args),
                _ => return Err(Error::script("not an asynchronous function")),
            });
            Ok(())
        });
        if let Err(error) = begun {
            return give_result(state, Err(error));
        }
        yield_to_host(state)
    }
}

/// A row that returns at once where it can: pushes nothing and the value. Where that would take too long and the
/// coroutine can wait, it is suspended like one of an asynchronous row, and what comes back is whether that succeeded,
/// then the value or the error.
unsafe extern "C-unwind" fn call_prompt(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        make_room(state);
        let core = current();
        let mut waits = false;
        let result = called_by(state, || {
            let row = row(state);
            let FunctionKind::Prompt { body, later, .. } = row.function.kind else {
                return Ok(Value::Null);
            };
            let may_wait = can_wait(state);
            let args = arguments(state, row, Functions::new())?.waiting(may_wait);
            let error = match body(&core.context, args) {
                Err(error) if error.kind() == ErrorKind::TooLong => error,
                done => return done,
            };
            if let Some(why) = cannot_wait(state) {
                let text = format!("{} ({}: {why})", error.message(), row.name());
                return Err(error.with_message(text));
            }
            // The arguments are still on the stack.
            wait_for(later(
                &core.context,
                arguments(state, row, Functions::new())?,
            ));
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
