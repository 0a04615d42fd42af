//! This engine as the contract with scripts needs it.

use crate::promises::promise::promise;
use crate::request::object;
use crate::sys::function::make_row;
use crate::sys::{Failure, Js, Kind, Thrown};
use crate::values::reader::NapiReader;
use crate::values::{objects, value};
use crate::vm::core::{Core, Cx};
use crate::vm::{callback, error};
use sampan_host::{Callback, Error, LocalFuture, Object, Place, Reader, RequestView, Value};
use sampan_js_contract::{BoundRow, Contract, Vm};
use std::borrow::Cow;
use std::rc::Rc;

impl<'a> Vm<'a> for Cx<'a> {
    type Raw<'v> = Js<'a>;
    type Val = Js<'a>;

    fn contract(self) -> &'a Contract {
        let core: &'a Core = self.core();
        &core.contract
    }

    fn raw(self, value: &Js<'a>) -> Js<'a> {
        *value
    }

    fn hold(self, value: Js<'a>) -> Js<'a> {
        value
    }

    fn kind(self, value: Js<'a>) -> Kind {
        self.env().kind(value)
    }

    fn is_list(self, value: Js<'a>) -> bool {
        self.is_array(value)
    }

    fn is_yes(self, value: Js<'a>) -> bool {
        self.is_true(value)
    }

    fn number_at(self, value: Js<'a>) -> Option<f64> {
        self.number_of(value)
    }

    fn text_at(self, value: Js<'a>) -> Result<String, Thrown> {
        self.text(value)
    }

    fn member(self, object: Js<'a>, name: &str) -> Result<Js<'a>, Thrown> {
        self.get(object, name)
    }

    fn nothing(self) -> Js<'a> {
        self.undefined()
    }

    fn give(self, value: Value) -> Result<Js<'a>, Thrown> {
        value::to_js(self, value)
    }

    fn new_text(self, text: &str) -> Result<Js<'a>, Thrown> {
        self.string(text)
    }

    fn new_object(self) -> Result<Js<'a>, Thrown> {
        self.object()
    }

    fn new_list(self, items: Vec<Js<'a>>) -> Result<Js<'a>, Thrown> {
        self.array(&items)
    }

    fn define(self, object: &Js<'a>, name: &str, value: Js<'a>) -> Result<(), Thrown> {
        self.env().define(*object, name, value)
    }

    /// Text is a string: it is sent as it is, and scripts may read it.
    fn rendered(self, body: &[u8], content_type: &str) -> Result<Js<'a>, Thrown> {
        let body = match std::str::from_utf8(body) {
            Ok(text) => self.string(text)?,
            Err(_) => self.bytes(body)?,
        };
        self.array(&[body, self.string(content_type)?])
    }

    fn row_function(self, name: &str, row: BoundRow) -> Result<Js<'a>, Thrown> {
        make_row(self, name, row)
    }

    fn run_own(self, source: &'static str, name: &str) -> Result<Js<'a>, Thrown> {
        self.run(&format!("{source}\n//# sourceURL={name}"))
    }

    fn invoke(self, function: Js<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Thrown> {
        self.call(function, args)
    }

    fn take_exception(self) -> Option<Js<'a>> {
        self.exception()
    }

    fn rethrow(self, exception: Js<'a>) {
        self.throw(exception);
    }

    fn read(self, value: Js<'a>) -> Result<Value, Failure> {
        value::from_js(self, value)
    }

    fn json_at(self, value: Js<'a>) -> Result<String, Failure> {
        value::json_text(self, value)
    }

    fn shown_at(self, value: Js<'a>) -> Result<Value, Failure> {
        value::shown(self, value)
    }

    fn object_at(self, value: Js<'a>) -> Option<Object> {
        objects::at(self, value)
    }

    fn request_at(self, value: Js<'a>) -> Result<Rc<dyn RequestView>, Failure> {
        object::live_request(self, value)
    }

    fn forget_added(self, request: Js<'a>) -> Result<(), Failure> {
        self.call_own("forgetAdded", &[request])?;
        Ok(())
    }

    fn keep_function(self, function: Js<'a>, row: BoundRow) -> Result<Callback, Failure> {
        callback::keep(self, function, row)
    }

    fn kept_function(self, callback: &Callback) -> Result<Js<'a>, Error> {
        callback::function_of(self, callback)
    }

    fn with_reader<R>(
        self,
        args: &[Js<'a>],
        row: &BoundRow,
        read: impl FnOnce(&dyn Reader) -> R,
    ) -> R {
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
        row: BoundRow,
        operation: LocalFuture<Result<Value, Error>>,
    ) -> Result<Js<'a>, Failure> {
        promise(self, Some(row), operation)
    }

    fn waiting_function(self, function: Js<'a>) -> Result<Option<Cow<'static, str>>, Failure> {
        said(self, "waitingFunction", function)
    }

    fn unfinished(self, value: &Js<'a>) -> Result<Option<Cow<'static, str>>, Failure> {
        said(self, "unfinished", *value)
    }

    fn place_in(self, stack: &str) -> Option<Place> {
        error::place_in(self.core(), stack)
    }
}

/// Asks a function of the prelude about a value; `None` if it returns nothing.
fn said(cx: Cx<'_>, question: &str, value: Js<'_>) -> Result<Option<Cow<'static, str>>, Failure> {
    let said = cx.call_own(question, &[value])?;
    match cx.kind(said) {
        Kind::Text => Ok(Some(cx.text(said)?.into())),
        _ => Ok(None),
    }
}
