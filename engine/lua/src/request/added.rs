//! The additions of modules to requests: fields, each computed when a script asks for it first, and methods, which the
//! binder makes.

use crate::request::object;
use crate::values::value;
use crate::vm::bind::results::give_result;
use crate::vm::isolate::current;
use crate::vm::isolate::room::need_room;
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, text_at};
use mlua_sys::lua51::*;
use sampan_host::{Args, Error, ErrorKind, Function, FunctionKind, Module};
use std::ffi::c_int;

fn fields(modules: &'static [&'static Module]) -> impl Iterator<Item = &'static Function> {
    modules.iter().flat_map(|module| module.request_fields)
}

/// The names of the fields.
pub(crate) fn names(modules: &'static [&'static Module]) -> impl Iterator<Item = &'static str> {
    fields(modules).map(|field| field.name)
}

/// The names of those that have keys of the script's own.
pub(crate) fn keyed(modules: &'static [&'static Module]) -> impl Iterator<Item = &'static str> {
    let keyed = fields(modules).filter(|field| field.gives_keyed());
    keyed.map(|field| field.name)
}

/// The names of those that are assigned by a function of their module.
pub(crate) fn assigned(modules: &'static [&'static Module]) -> impl Iterator<Item = &'static str> {
    let setters = modules.iter().flat_map(|module| module.request_setters);
    setters.map(|(name, _)| *name)
}

/// Reports whether the table of a request keeps the `index`th field once it is read. The fields of a module where one
/// can be assigned are computed each time.
pub(crate) fn is_kept(modules: &'static [&'static Module], index: usize) -> bool {
    let mut fields = modules
        .iter()
        .flat_map(|module| module.request_fields.iter().map(move |_| module));
    let module = fields.nth(index);
    module.is_none_or(|module| module.request_setters.is_empty())
}

/// `host.assign(req, name, value)`: sets a field by the function of its module.
pub(crate) unsafe extern "C-unwind" fn assign(state: State) -> c_int {
    // SAFETY: `guard` ends with all that has a destructor, and the error is moved into the isolate before it is raised.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        lua_settop(state, 3);
        let assigned = guard(|| {
            let name = String::from_utf8_lossy(text_at(state, 2));
            let request = object::view_at(state, 1)?;
            let value = value::read(state, 3)?;
            let mut modules = current().modules.iter();
            match modules.find_map(|module| module.setter(&name)) {
                Some(set) => set(&current().context, &*request, value),
                None => Err(Error::new(ErrorKind::Internal, "not a field of requests")),
            }
        });
        if let Err(error) = assigned {
            *current().result.get() = Some(Err(error));
            raise_result(state);
        }
        0
    }
}

/// Pushes the value of the `index`th field for the request whose table is argument 1. May raise.
pub(crate) unsafe fn push_field(state: State, index: usize) {
    // SAFETY: the body runs within `guard`, and `give_result` moves what it gives into the isolate before it may raise.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        let result = guard(|| {
            let field = fields(current().modules).nth(index);
            let Some(FunctionKind::Sync(body)) = field.map(|field| field.kind) else {
                return Err(Error::new(ErrorKind::Internal, "not a field of requests"));
            };
            let request = object::view_at(state, 1)?;
            body(&current().context, Args::default().of_request(request))
        });
        give_result(state, result);
    }
}
