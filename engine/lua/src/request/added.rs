//! The additions of modules to requests: fields, each computed when a script asks for it first, and methods, which the
//! binder makes.

use crate::request::object;
use crate::vm::bind::results::{give_result, make_room};
use crate::vm::isolate::current;
use crate::vm::state::{State, guard};
use sampan_host::{Args, Error, ErrorKind, Function, FunctionKind, Module};

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

/// Pushes the value of the `index`th field for the request whose table is argument 1. May raise.
pub(crate) unsafe fn push_field(state: State, index: usize) {
    // SAFETY: the body runs within `guard`, and `give_result` moves what it gives into the isolate before it may raise.
    unsafe {
        make_room(state);
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
