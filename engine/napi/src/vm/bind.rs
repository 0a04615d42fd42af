//! This engine as the contract with scripts needs it.

use crate::promises::promise::promise;
use crate::request::object;
use crate::sys::function::make_row;
use crate::sys::{Failure, Js, Kind, Thrown};
use crate::values::reader::NapiReader;
use crate::values::{objects, value};
use crate::vm::core::{Core, Cx};
use crate::vm::{callback, error};
use sampan_host::{Callback, Error, LocalFuture, Object, Place, Reader, RequestView, Type, Value};
use sampan_js_contract::{BoundRow, Contract, Vm};
use std::borrow::Cow;
use std::rc::Rc;

impl<'a> Vm<'a> for Cx<'a> {
    type Raw = Js;
    type Val = Js;

    fn contract(self) -> &'a Contract {
        let core: &'a Core = self.core();
        &core.contract
    }

    fn raw(self, value: &Js) -> Js {
        *value
    }

    fn hold(self, value: Js) -> Js {
        value
    }

    fn kind(self, value: Js) -> Kind {
        self.env().kind(value)
    }

    fn is_list(self, value: Js) -> bool {
        self.is_array(value)
    }

    fn is_yes(self, value: Js) -> bool {
        self.is_true(value)
    }

    fn number_at(self, value: Js) -> Option<f64> {
        self.number_of(value)
    }

    fn text_at(self, value: Js) -> Result<String, Thrown> {
        self.text(value)
    }

    fn member(self, object: Js, name: &str) -> Result<Js, Thrown> {
        self.get(object, name)
    }

    fn nothing(self) -> Js {
        self.undefined()
    }

    fn give(self, value: Value) -> Result<Js, Thrown> {
        value::to_js(self, value)
    }

    fn new_text(self, text: &str) -> Result<Js, Thrown> {
        self.string(text)
    }

    fn new_object(self) -> Result<Js, Thrown> {
        self.object()
    }

    fn new_list(self, items: Vec<Js>) -> Result<Js, Thrown> {
        self.array(&items)
    }

    fn define(self, object: &Js, name: &str, value: Js) -> Result<(), Thrown> {
        self.env().define(*object, name, value)
    }

    /// Text is a string: it is sent as it is, and scripts may read it.
    fn rendered(self, body: &[u8], content_type: &str) -> Result<Js, Thrown> {
        let body = match std::str::from_utf8(body) {
            Ok(text) => self.string(text)?,
            Err(_) => self.bytes(body)?,
        };
        self.array(&[body, self.string(content_type)?])
    }

    fn row_function(self, name: &str, row: BoundRow) -> Result<Js, Thrown> {
        make_row(self.core(), name, row)
    }

    fn run_own(self, source: &'static str, name: &str) -> Result<Js, Thrown> {
        self.run(&format!("{source}\n//# sourceURL={name}"))
    }

    fn invoke(self, function: Js, args: &[Js]) -> Result<Js, Thrown> {
        self.call(function, args)
    }

    fn take_exception(self) -> Option<Js> {
        self.exception()
    }

    fn rethrow(self, exception: Js) {
        self.throw(exception);
    }

    fn read(self, value: Js) -> Result<Value, Failure> {
        value::from_js(self, value)
    }

    fn json_at(self, value: Js) -> Result<String, Failure> {
        value::json_text(self, value)
    }

    fn shown_at(self, value: Js) -> Result<Value, Failure> {
        value::shown(self, value)
    }

    fn object_at(self, value: Js) -> Option<Object> {
        objects::at(self, value)
    }

    fn request_at(self, value: Js) -> Result<Rc<dyn RequestView>, Failure> {
        object::live_request(self, value)
    }

    fn forget_added(self, request: Js) -> Result<(), Failure> {
        self.core().call_own("forgetAdded", &[request])?;
        Ok(())
    }

    fn keep_function(self, function: Js, row: BoundRow) -> Result<Callback, Failure> {
        callback::keep(self, function, row)
    }

    fn kept_function(self, callback: &Callback) -> Result<Js, Error> {
        callback::function_of(self, callback)
    }

    fn with_reader<R>(self, args: &[Js], row: &BoundRow, read: impl FnOnce(&dyn Reader) -> R) -> R {
        read(&NapiReader::new(self, args, *row))
    }

    fn own(self, object: Object) {
        if let Some(slot) = self.core().current() {
            slot.tasks
                .own(self.core().contract.context.objects(), object);
        }
    }

    fn promise(
        self,
        returns: Type,
        operation: LocalFuture<Result<Value, Error>>,
    ) -> Result<Js, Failure> {
        promise(self, returns, operation)
    }

    fn waiting_function(self, function: Js) -> Result<Option<Cow<'static, str>>, Failure> {
        said(self, "waitingFunction", function)
    }

    fn unfinished(self, value: &Js) -> Result<Option<Cow<'static, str>>, Failure> {
        said(self, "unfinished", *value)
    }

    fn place_in(self, stack: &str) -> Option<Place> {
        error::place_in(self.core(), stack)
    }
}

/// Asks a function of the prelude about a value; `None` if it returns nothing.
fn said(cx: Cx<'_>, question: &str, value: Js) -> Result<Option<Cow<'static, str>>, Failure> {
    let said = cx.core().call_own(question, &[value])?;
    match cx.kind(said) {
        Kind::Text => Ok(Some(cx.text(said)?.into())),
        _ => Ok(None),
    }
}
