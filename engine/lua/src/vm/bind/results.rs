//! The two stages of a row's C function: which row it stands for, and what it gives or raises.

use crate::values::value;
use crate::vm::bind::row::BoundRow;
use crate::vm::isolate::current;
use crate::vm::raise::raise_result;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use sampan_host::{Error, RowOwner, Value};
use std::ffi::c_int;

/// The number of a table of methods of requests is this and the number of their module.
pub(super) const OF_REQUESTS: usize = 1 << 20;

/// The row that the running C function stands for.
pub(crate) unsafe fn row(state: State) -> BoundRow {
    // SAFETY: the C function that runs was made by `push_row`, which gave it two numbers as upvalues. Reading them
    // raises nothing.
    unsafe {
        numbered(
            lua_tonumber(state, lua_upvalueindex(1)) as usize,
            lua_tonumber(state, lua_upvalueindex(2)) as usize,
        )
    }
}

/// Puts the name of the row that `thread` waits in before the message of an error, where it is still to be put there.
///
/// # Safety
/// The thread must be one that waits for a C function of this isolate.
pub(crate) unsafe fn name_error_of(thread: State, error: &mut Error) {
    if !error.wants_name() {
        return;
    }
    // SAFETY: nothing runs in a thread that waits, so its stack may be read, and what is pushed is popped. Of the C
    // functions that wait only those of rows have upvalues, which `push_row` has set.
    unsafe {
        let top = lua_gettop(thread);
        let mut record: lua_Debug = std::mem::zeroed();
        if lua_checkstack(thread, 4) != 0
            && lua_getstack(thread, 0, &raw mut record) != 0
            && lua_getinfo(thread, c"f".as_ptr(), &raw mut record) != 0
            && lua_iscfunction(thread, -1) != 0
            && !lua_getupvalue(thread, top + 1, 1).is_null()
            && !lua_getupvalue(thread, top + 1, 2).is_null()
        {
            let number = |at| lua_tonumber(thread, at) as usize;
            error.put_name(&numbered(number(top + 2), number(top + 3)).name());
        }
        lua_settop(thread, top);
    }
}

/// A row by its table and its place in it.
pub(super) fn numbered(table: usize, row: usize) -> BoundRow {
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
pub(super) unsafe fn give_results(state: State, result: Result<Value, Error>) -> c_int {
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
