//! The additions of modules to requests: fields, each computed when a script asks for it first, and methods.

use crate::request::object::{RequestData, data};
use crate::vm::sys::{Cx, Failure, RawValue, Slot, Val, is_nothing};
use sampan_host::names::camel_case;
use sampan_host::{Function, RequestView, request};
use sampan_js_contract as contract;
use std::cell::RefCell;
use std::ffi::CString;
use std::rc::Rc;

/// The fields of one request, in the order of [`names`], `undefined` until a script asks.
#[derive(Default)]
pub(crate) struct AddedFields(RefCell<Vec<Slot>>);

impl AddedFields {
    /// Gives all away.
    pub(crate) fn take(&self) -> Vec<Slot> {
        self.0.take()
    }

    /// Shows all.
    pub(crate) fn each(&self, show: impl FnMut(&Slot)) {
        self.0.borrow().iter().for_each(show);
    }
}

fn fields(cx: Cx<'_>) -> impl Iterator<Item = &'static Function> {
    let modules = cx.core().contract.modules.iter();
    modules.flat_map(|module| module.request_fields)
}

/// The names of the fields as JavaScript spells them.
pub(crate) fn names(cx: Cx<'_>) -> impl Iterator<Item = String> {
    fields(cx).map(|field| camel_case(field.name))
}

/// The name of the `index`th field, if it has keys of the script's own: these are assigned, not the field.
pub(crate) fn keyed(cx: Cx<'_>, index: usize) -> Option<String> {
    let field = fields(cx).nth(index)?;
    field.gives_keyed().then(|| camel_case(field.name))
}

/// Assigns the `index`th field by the function of its module. Reports whether there is one.
pub(crate) fn assign(
    cx: Cx<'_>,
    index: usize,
    this: RawValue<'_>,
    value: RawValue<'_>,
) -> Result<bool, Failure> {
    let mut modules = cx.core().contract.modules.iter();
    let field = fields(cx).nth(index).map(|field| field.name);
    let setter = modules.find_map(|module| module.setter(field?));
    let Some(setter) = setter else {
        return Ok(false);
    };
    contract::set_request_field(cx, setter, this, value)?;
    Ok(true)
}

/// The names of the methods.
pub(crate) fn method_names(cx: Cx<'_>) -> Vec<CString> {
    let modules = cx.core().contract.modules.iter();
    let methods = modules.flat_map(|module| module.request_methods);
    // No name of a row has a NUL.
    let names = methods.flat_map(|method| CString::new(camel_case(method.name)));
    names.collect()
}

/// Reads the `index`th field.
pub(crate) fn read(cx: Cx<'_>, data: &RequestData, index: usize) -> Result<Val, Failure> {
    if let Some(known) = data.added.0.borrow().get(index)
        && !known.is_empty()
    {
        return Ok(known.get(cx));
    }
    let Some(field) = fields(cx).nth(index) else {
        return Ok(cx.undefined());
    };
    let view = data.view.clone().ok_or_else(request::is_over)?;
    let value = contract::request_field(cx, field, view)?;
    if is_nothing(value.raw()) {
        // There may be something later.
        return Ok(value);
    }
    let mut added = data.added.0.borrow_mut();
    if added.len() <= index {
        added.resize_with(index + 1, Slot::empty);
    }
    // The field is still undefined: no script runs while it is computed.
    added[index] = Slot::of(value.clone());
    Ok(value)
}

/// Forgets what the fields were, so that each is computed again.
pub(crate) fn forget(cx: Cx<'_>, data: &RequestData) {
    for value in data.added.take() {
        drop(value.replace(cx, cx.undefined()));
    }
}

/// The request whose method is called.
pub(crate) fn live_request(cx: Cx<'_>, this: RawValue<'_>) -> Result<Rc<dyn RequestView>, Failure> {
    let view = data(cx, this)?.view.as_ref();
    let live = view.filter(|view| !view.is_over());
    Ok(live.cloned().ok_or_else(request::is_over)?)
}
