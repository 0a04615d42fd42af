//! The arguments of a row, read off the stack and checked.

use super::{BoundRow, WORDS};
use crate::request::{object, response};
use crate::values::layout::{SlotValue, Table};
use crate::values::{json_write, objects, shown, value};
use crate::vm::callback::Functions;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use sampan_host::{Args, Class, Error, Object, Type, Value};
use std::ffi::c_int;

/// The arguments of the running C function, checked.
pub(crate) unsafe fn arguments(
    state: State,
    row: BoundRow,
    functions: Functions,
) -> Result<Args, Error> {
    let this = match row.class {
        // SAFETY: as for what is called.
        Some(class) => Some(unsafe { this(state, row, class) }?),
        None => None,
    };
    // SAFETY: as for what is called.
    let read = unsafe { read_arguments(state, row) };
    read.map(|args| args.on(this).with_functions(functions))
        .map_err(|error| {
            // SAFETY: looks at the stack and at a table on it, and calls nothing.
            if !row.owner.is_class && unsafe { has_colon(state, row) } {
                let name = row.name();
                return Error::script(format!(
                    "{name}: write {name}(...) with a dot, not with a colon"
                ));
            }
            error
        })
}

/// The object that a method is called on.
unsafe fn this(state: State, row: BoundRow, class: &'static Class) -> Result<Object, Error> {
    // SAFETY: the caller has made room.
    match unsafe { objects::at(state, 1) } {
        Some(object) if object.class() == class => objects::check(object),
        _ => {
            let name = row.name();
            Err(Error::script(format!(
                "{name}: write {name}(...) with a colon, on {}",
                class.with_article()
            )))
        }
    }
}

/// Whether the first argument is the module itself, as a colon passes it.
#[cold]
unsafe fn has_colon(state: State, row: BoundRow) -> bool {
    // SAFETY: the table stays on the stack, and nothing of Lua runs meanwhile.
    unsafe {
        lua_type(state, 1) == LUA_TTABLE && Table::at(state, 1).nodes().iter().any(|node| {
            !node.value.is_nil()
                && matches!(node.key.see(), SlotValue::Text(name) if name == row.function.name.as_bytes())
                && matches!(node.value.see(), SlotValue::Other("function"))
        })
    }
}

unsafe fn read_arguments(state: State, row: BoundRow) -> Result<Args, Error> {
    let function = row.function;
    let before = row.before();
    let request = if row.is_of_request() {
        // SAFETY: reads only.
        Some(unsafe { object::view_at(state, 1) }?)
    } else {
        None
    };
    // SAFETY: reads the height of the stack.
    let given = (unsafe { lua_gettop(state) } as usize).saturating_sub(before);
    let mut values = Vec::with_capacity(function.params.len());
    for (index, param) in function.params.iter().enumerate().take(given) {
        let at = (index + before) as c_int + 1;
        // SAFETY: room was made by the caller.
        let value = unsafe {
            match param.ty {
                Type::Json => json_write::text(state, at),
                Type::Shown => Ok(shown::read(state, at)),
                Type::InPlace => Ok(Value::Null),
                Type::Function => match lua_type(state, at) {
                    LUA_TFUNCTION => Ok(Value::Bool(true)),
                    LUA_TNIL => Ok(Value::Null),
                    _ => {
                        let found = response::found(state, at);
                        return Err(Args::wrong(&WORDS, row.owner, function, index, &found));
                    }
                },
                _ => value::read(state, at),
            }
        };
        values.push(value.map_err(|error| {
            let argument = WORDS.argument(row.owner, function, index);
            Error::new(error.kind(), format!("{argument}: {}", error.message()))
        })?);
    }
    let args = Args::check_in(&WORDS, row.owner, function, values, |index| {
        // SAFETY: looks at the stack.
        match unsafe { lua_type(state, (index + before) as c_int + 1) } {
            LUA_TLIGHTUSERDATA => "app.null",
            _ => "nil",
        }
    })?;
    Ok(match request {
        Some(request) => args.of_request(request),
        None => args,
    })
}
