//! The arguments of a row, read off the stack and checked.

use crate::request::{object, response};
use crate::values::{json_write, objects, shown, value};
use crate::vm::bind::callback::Functions;
use crate::vm::bind::row::{BoundRow, WORDS};
use crate::vm::state::State;
use crate::vm::worlds::is_own_module;
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
        // SAFETY: this C function runs in the state, and its caller has made room (`need_room`).
        Some(class) => Some(unsafe { this(state, row, class) }?),
        None => None,
    };
    // SAFETY: `has_colon` compares values raw, which raises nothing; the caller has made room.
    if !row.owner.is_class && unsafe { has_colon(state) } {
        let name = row.name();
        let text = format!("{name}: write {name}(...) with a dot, not with a colon");
        return Err(Error::script(text));
    }
    // SAFETY: this C function runs in the state, and its caller has made room (`need_room`).
    let read = unsafe { read_arguments(state, row) };
    read.map(|args| args.on(this).with_functions(functions))
}

/// The object that a method is called on.
unsafe fn this(state: State, row: BoundRow, class: &'static Class) -> Result<Object, Error> {
    // SAFETY: `objects::at` reads raw and raises nothing; the caller has made room for what it pushes.
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

/// Reports whether the first argument is the module itself, as a colon passes it.
unsafe fn has_colon(state: State) -> bool {
    // SAFETY: compares two values; the prelude has set the upvalue.
    unsafe {
        lua_type(state, 1) == LUA_TTABLE
            && (lua_rawequal(state, 1, lua_upvalueindex(3)) != 0 || is_own_module(state, 1))
    }
}

/// Reads a value as an argument of [`Type::Message`].
pub(super) unsafe fn message(state: State, at: c_int) -> Result<Value, Error> {
    // SAFETY: the argument stays on the stack while it is read, and the caller has made room (`need_room`).
    unsafe {
        match lua_type(state, at) {
            LUA_TSTRING => value::read(state, at),
            _ => json_write::text(state, at).map(Value::json_member),
        }
    }
}

unsafe fn read_arguments(state: State, row: BoundRow) -> Result<Args, Error> {
    let function = row.function;
    let before = row.before();
    let request = if row.is_of_request() {
        // SAFETY: `view_at` reads argument 1 raw and raises nothing; the caller has made room (`need_room`).
        Some(unsafe { object::view_at(state, 1) }?)
    } else {
        None
    };
    // SAFETY: reads the height of the stack of the C function that runs, which changes nothing.
    let given = (unsafe { lua_gettop(state) } as usize).saturating_sub(before);
    if given > function.params.len() && function.declares() {
        let first = before + function.params.len() + 1;
        // SAFETY: the type of a value is only looked at, also of one that is not there.
        let is_given = |at: usize| unsafe { lua_type(state, at as c_int) } != LUA_TNIL;
        if (first..=before + given).any(is_given) {
            return Err(Args::too_many(&WORDS, row.owner, function));
        }
    }
    let mut values = Vec::with_capacity(function.params.len());
    for (index, param) in function.params.iter().enumerate().take(given) {
        let at = (index + before) as c_int + 1;
        // SAFETY: the type of an argument is only looked at.
        let is_function = unsafe { lua_type(state, at) } == LUA_TFUNCTION;
        if is_function && param.optional && function.kind.is_around_function() {
            break;
        }
        // SAFETY: the argument stays on the stack while it is read, and the caller has made room (`need_room`).
        let value = unsafe {
            match param.ty {
                Type::Json => json_write::text(state, at),
                Type::Message => message(state, at),
                Type::Shown => Ok(shown::read(state, at)),
                Type::InPlace => Ok(Value::Null),
                ty if ty.takes_function() => match (lua_type(state, at), ty) {
                    (LUA_TFUNCTION, _) => Ok(Value::Bool(true)),
                    (LUA_TNIL, _) => Ok(Value::Null),
                    (LUA_TSTRING, Type::TextOrFunction) | (LUA_TTABLE, Type::MapOrFunction) => {
                        value::read(state, at)
                    }
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
        // SAFETY: the type of a value is only looked at, also of one that is not there.
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
