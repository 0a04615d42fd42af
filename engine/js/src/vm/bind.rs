//! This engine as the contract with scripts needs it, and the native functions that call it.

pub(crate) mod call_site;
pub(crate) mod callback;
mod waiting;

use crate::promises::tasks::{TaskKind, Tasks};
use crate::request::object::data;
use crate::request::{added, made};
use crate::values::reader::state::JsReader;
use crate::values::value::{self, Atom};
use crate::values::{json_write, objects, shown};
use crate::vm::error::{here, place_of};
use crate::vm::isolate::Core;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, class_id, float_of, indexed_entry, int_of,
    is_string, is_true, tag,
};
use rquickjs::qjs;
use sampan_host::{Callback, Error, LocalFuture, Object, Place, Reader, RequestView, Value};
use sampan_js_contract::{self as contract, BoundRow, Contract, Kind, Native, Vm};
use std::borrow::Cow;
use std::ffi::{CString, c_int};
use std::rc::Rc;

impl<'a> Vm<'a> for Cx<'a> {
    type Raw<'v> = RawValue<'v>;
    type Val = Val;

    #[inline]
    fn contract(self) -> &'a Contract {
        let core: &'a Core = self.core();
        &core.contract
    }

    #[inline]
    fn raw<'v>(self, value: &'v Val) -> RawValue<'v> {
        value.raw()
    }

    fn hold(self, value: RawValue<'_>) -> Val {
        self.dup(value)
    }

    fn kind(self, value: RawValue<'_>) -> Kind {
        match tag(value) {
            qjs::JS_TAG_UNDEFINED => Kind::Undefined,
            qjs::JS_TAG_NULL => Kind::Null,
            qjs::JS_TAG_BOOL => Kind::Bool,
            qjs::JS_TAG_INT | qjs::JS_TAG_FLOAT64 => Kind::Number,
            qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => Kind::BigInt,
            qjs::JS_TAG_OBJECT if self.is_function(value) => Kind::Function,
            qjs::JS_TAG_OBJECT => Kind::Object,
            _ if is_string(value) => Kind::Text,
            _ => Kind::Symbol,
        }
    }

    #[inline]
    fn is_callable(self, value: RawValue<'_>) -> bool {
        self.is_function(value)
    }

    fn is_list(self, value: RawValue<'_>) -> bool {
        class_id(value) == self.core().classes.array
    }

    fn is_yes(self, value: RawValue<'_>) -> bool {
        is_true(value)
    }

    fn number_at(self, value: RawValue<'_>) -> Option<f64> {
        match tag(value) {
            qjs::JS_TAG_INT => Some(f64::from(int_of(value))),
            qjs::JS_TAG_FLOAT64 => Some(float_of(value)),
            _ => None,
        }
    }

    fn text_at(self, value: RawValue<'_>) -> Result<String, Thrown> {
        self.text(value)
    }

    fn member(self, object: RawValue<'_>, name: &str) -> Result<Val, Thrown> {
        let atom = Atom::new(self, name)?;
        self.get_atom(object, atom.0)
    }

    fn nothing(self) -> Val {
        self.undefined()
    }

    #[inline]
    fn give(self, value: Value) -> Result<Val, Thrown> {
        value::to_js(self, value)
    }

    fn new_text(self, text: &str) -> Result<Val, Thrown> {
        self.string(text)
    }

    fn new_object(self) -> Result<Val, Thrown> {
        self.object()
    }

    fn new_list(self, items: Vec<Val>) -> Result<Val, Thrown> {
        self.array(items)
    }

    fn define(self, object: &Val, name: &str, value: Val) -> Result<(), Thrown> {
        let atom = Atom::new(self, name)?;
        self.define_atom(object.raw(), atom.0, value)
    }

    /// A body of ASCII is a string, which is sent from where it lies; any other is faster as bytes.
    fn rendered(self, body: &[u8], content_type: &str) -> Result<Val, Thrown> {
        let body = match body.is_ascii() {
            true => self.string_from(body)?,
            false => self.bytes(body)?,
        };
        match made::answered(self, &body, content_type)? {
            Some(answer) => Ok(answer),
            None => self.array(vec![body, self.string(content_type)?]),
        }
    }

    fn row_function(self, name: &str, row: BoundRow) -> Result<Val, Thrown> {
        let mut rows = self.core().rows.borrow_mut();
        let (index, count) = (rows.len() as c_int, row.function.params.len() as c_int);
        rows.push(row);
        self.function(&c_name(name)?, count, index, indexed_entry(call))
    }

    fn promise_function(self, name: &str, row: BoundRow, prototype: &Val) -> Result<Val, Thrown> {
        let index = self.core().rows.borrow().len();
        let mut prototypes = self.core().promise_prototypes.borrow_mut();
        prototypes.resize(index, None);
        prototypes.push(Some(prototype.clone()));
        self.row_function(name, row)
    }

    fn run_own(self, source: &'static str, name: &str) -> Result<Val, Thrown> {
        self.run_own(source, name)
    }

    fn invoke(self, function: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Thrown> {
        self.call(function, UNDEFINED, args)
    }

    fn take_exception(self) -> Option<Val> {
        Some(self.exception())
    }

    fn rethrow(self, exception: Val) {
        // SAFETY: the context is alive, and the function takes over the reference that `into_raw` gives up.
        unsafe { qjs::JS_Throw(self.raw(), exception.into_raw()) };
    }

    #[inline]
    fn read(self, value: RawValue<'_>) -> Result<Value, Failure> {
        value::from_js(self, value)
    }

    fn json_at(self, value: RawValue<'_>) -> Result<String, Failure> {
        json_write::text(self, value)
    }

    fn shown_at(self, value: RawValue<'_>) -> Result<Value, Failure> {
        shown::read(self, value)
    }

    #[inline]
    fn object_at(self, value: RawValue<'_>) -> Option<Object> {
        objects::at(self, value)
    }

    fn request_at(self, value: RawValue<'_>) -> Result<Rc<dyn RequestView>, Failure> {
        added::live_request(self, value)
    }

    fn forget_added(self, request: RawValue<'_>) -> Result<(), Failure> {
        added::forget(self, data(self, request)?);
        Ok(())
    }

    fn keep_function(self, function: RawValue<'_>, row: BoundRow) -> Result<Callback, Failure> {
        Ok(callback::keep(self, function, row))
    }

    fn kept_function(self, callback: &Callback) -> Result<Val, Error> {
        callback::function_of(self, callback)
    }

    #[inline]
    fn with_reader<R>(
        self,
        args: &[RawValue<'_>],
        row: &BoundRow,
        read: impl FnOnce(&dyn Reader) -> R,
    ) -> R {
        JsReader::with(self, args, *row, |reader| read(reader))
    }

    fn own(self, object: Object) {
        let tasks: Rc<Tasks> = self.core().tasks();
        tasks.own(self.core(), object);
    }

    fn promise(
        self,
        row: BoundRow,
        operation: LocalFuture<Result<Value, Error>>,
    ) -> Result<Val, Failure> {
        let tasks = self.core().tasks();
        let caller = Some(here(self)?);
        tasks.promise(self, operation, TaskKind::Row(row), caller)
    }

    fn waiting_function(
        self,
        function: RawValue<'_>,
    ) -> Result<Option<Cow<'static, str>>, Failure> {
        let kind = waiting::function(self, function);
        Ok(kind.map(Cow::Borrowed))
    }

    fn unfinished(self, value: &Val) -> Result<Option<Cow<'static, str>>, Failure> {
        Ok(waiting::unfinished(self, value)?.map(Cow::Borrowed))
    }

    fn place_in(self, stack: &str) -> Option<Place> {
        stack.lines().find_map(place_of)
    }
}

fn c_name(name: &str) -> Result<CString, Thrown> {
    CString::new(name).map_err(|_| Thrown)
}

/// Gives a promise this prototype. Other values stay as they are.
fn set_prototype(cx: Cx<'_>, value: &Val, prototype: &Val) -> Result<(), Thrown> {
    // SAFETY: `value` and `prototype` hold both values, of this context; the functions free neither.
    let done = unsafe {
        match qjs::JS_PromiseState(cx.raw(), value.js()) {
            qjs::JSPromiseStateEnum_JS_PROMISE_NOT_A_PROMISE => 0,
            _ => qjs::JS_SetPrototype(cx.raw(), value.js(), prototype.js()),
        }
    };
    if done < 0 { Err(Thrown) } else { Ok(()) }
}

/// Gives an object the native functions of the contract.
pub(crate) fn define_natives(cx: Cx<'_>, native: &Val) -> Result<(), Thrown> {
    for (index, (name, function)) in Native::ALL.iter().enumerate() {
        if function.is_there() {
            let name = c_name(name)?;
            let function = cx.function(&name, 0, index as c_int, indexed_entry(call_native))?;
            cx.define(native.raw(), &name, function)?;
        }
    }
    Ok(())
}

fn call_native(
    cx: Cx<'_>,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
    index: c_int,
) -> Result<Val, Failure> {
    let (_, function) = Native::ALL[index as usize];
    function.call(cx, args)
}

fn call(
    cx: Cx<'_>,
    this: RawValue<'_>,
    args: &[RawValue<'_>],
    index: c_int,
) -> Result<Val, Failure> {
    let row = cx.core().rows.borrow()[index as usize];
    let result = contract::call(cx, &row, this, args);
    let prototypes = cx.core().promise_prototypes.borrow();
    if let Some(Some(prototype)) = prototypes.get(index as usize)
        && let Ok(value) = &result
    {
        set_prototype(cx, value, prototype)?;
    }
    if cx.core().sampler.get().is_some() && result.is_ok() {
        cx.core().sample_after(&row);
    }
    result
}
