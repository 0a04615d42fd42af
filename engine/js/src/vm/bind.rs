//! The binder: walks any [`sampan_host::Module`] table and makes an object of native functions from it.
//!
//! Synchronous rows return, asynchronous ones give a promise, brackets call the script's function between their two
//! halves (see
//! `bracket`), tags are template tags.

mod arguments;
pub(crate) mod bracket;
pub(crate) mod callback;

pub(crate) use arguments::checked;

use crate::request::made;
use crate::values::reader::JsReader;
use crate::values::{objects, value};
use crate::vm::error::here;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, Val, arguments, is_object, native, number, tag,
};
use rquickjs::qjs;
use sampan_host::javascript::{self, WORDS};
use sampan_host::module::ReadingBody;
use sampan_host::names::camel_case;
use sampan_host::{
    Args, Class, Error, ErrorKind, Function, FunctionKind, LocalFuture, Object, RequestView,
    RowOwner, Type, Value,
};
use std::cell::RefCell;
use std::ffi::{CString, c_int};
use std::rc::Rc;
use std::sync::Arc;

/// A bound row.
#[derive(Clone, Copy)]
pub(crate) struct BoundRow {
    owner: RowOwner<'static>,
    /// The class that it is a method of.
    class: Option<&'static Class>,
    pub(crate) function: &'static Function,
}

impl BoundRow {
    /// The name as JavaScript spells it: `time.nowMs`, `tx.query`.
    pub(crate) fn name(&self) -> String {
        WORDS.function(self.owner, self.function)
    }

    /// The arguments, if they are what the row wants.
    fn check(&self, values: Vec<Value>, raw: &[RawValue]) -> Result<Args, Error> {
        Args::check_in(
            &WORDS,
            self.owner,
            self.function,
            values,
            |index| match raw.get(index) {
                Some(value) if tag(*value) == qjs::JS_TAG_NULL => "null",
                _ => "undefined",
            },
        )
    }

    /// Reports whether it is a method of requests.
    fn is_of_request(&self) -> bool {
        self.class.is_none() && self.owner.is_class
    }

    /// The object that a method is called on.
    fn this(&self, cx: Cx<'_>, this: RawValue) -> Result<Option<Object>, Error> {
        let Some(class) = self.class else {
            return Ok(None);
        };
        match objects::at(cx, this) {
            Some(object) if object.class() == class => Ok(Some(object)),
            _ => Err(javascript::wrong_receiver(&self.name(), class)),
        }
    }

    /// The error of a row that took too long to wait for it in place, with what to call instead.
    #[cold]
    fn with_advice(&self, error: Error, awaited: Option<&str>) -> Error {
        javascript::with_advice(error, &self.name(), self.owner.name, awaited)
    }
}

/// An object with the functions of every module. The classes of native objects get their methods.
pub(crate) fn bind(cx: Cx<'_>) -> Result<Val, Thrown> {
    let all = cx.object()?;
    for module in cx.core().modules {
        if module.functions.is_empty() {
            continue;
        }
        // Several modules may have functions of `app`.
        let key = c_name(&camel_case(module.name))?;
        let known = cx.get(all.raw(), &key)?;
        let table = match is_object(known.raw()) {
            true => known,
            false => cx.object()?,
        };
        for function in module.functions {
            let (name, bound) = bind_row(cx, module.owner(), None, function)?;
            cx.define(table.raw(), &name, bound)?;
        }
        cx.define(all.raw(), &key, table)?;
    }
    for bound in &cx.core().classes.objects {
        let class = bound.class;
        let methods = class.methods.iter();
        let methods = methods.map(|method| bind_row(cx, class.owner(), Some(class), method));
        objects::install(cx, bound, methods.collect::<Result<_, _>>()?)?;
    }
    Ok(all)
}

/// The rows that give answers: `[module, function, how many parameters it has]` each. The module of a request's method
/// is `req`.
pub(crate) fn answering(cx: Cx<'_>) -> Result<Val, Thrown> {
    let mut rows = Vec::new();
    for module in cx.core().modules {
        let functions = module.functions.iter().map(|row| (module.name, row));
        let methods = module.request_methods.iter();
        let methods = methods.map(|row| (RowOwner::REQUEST.name, row));
        for (owner, function) in functions.chain(methods) {
            if function.returns == Type::Answer {
                let count = function.params.len() as f64;
                rows.push(cx.array(vec![
                    cx.string(&camel_case(owner))?,
                    cx.string(&camel_case(function.name))?,
                    cx.own(number(count)),
                ])?);
            }
        }
    }
    cx.array(rows)
}

/// Gives an object the methods that modules add to requests.
pub(crate) fn bind_request_methods(cx: Cx<'_>, requests: &Val) -> Result<(), Thrown> {
    for module in cx.core().modules {
        for function in module.request_methods {
            let (name, bound) = bind_row(cx, RowOwner::REQUEST, None, function)?;
            cx.define(requests.raw(), &name, bound)?;
        }
    }
    Ok(())
}

/// The value of a field that a module adds to requests.
pub(crate) fn request_field(
    cx: Cx<'_>,
    function: &'static Function,
    request: Rc<dyn RequestView>,
) -> Result<Val, Failure> {
    let row = BoundRow {
        owner: RowOwner::REQUEST,
        class: None,
        function,
    };
    let FunctionKind::Sync(body) = function.kind else {
        let text = format!("{} is no field of requests", row.name());
        return Err(Error::new(ErrorKind::Internal, text).into());
    };
    let args = Args::default().of_request(request);
    returned(cx, &row, body(&cx.core().context_of_capabilities, args)?)
}

/// Calls a method of a native object from outside of any script, see [`Class::is_keyed`].
pub(crate) fn call_method(
    cx: Cx<'_>,
    object: Object,
    this: RawValue,
    name: &str,
    args: &[RawValue],
) -> Result<Val, Failure> {
    let class = object.class();
    let function = class.method(name);
    let Some((function, FunctionKind::Sync(body))) = function.map(|row| (row, row.kind)) else {
        let text = format!("a {} has no method {name}", class.name);
        return Err(Error::new(ErrorKind::Internal, text).into());
    };
    let row = BoundRow {
        owner: class.owner(),
        class: Some(class),
        function,
    };
    let args = checked(cx, &row, this, args)?;
    returned(cx, &row, body(&cx.core().context_of_capabilities, args)?)
}

/// The name and the function of a row.
fn bind_row(
    cx: Cx<'_>,
    owner: RowOwner<'static>,
    class: Option<&'static Class>,
    function: &'static Function,
) -> Result<(CString, Val), Thrown> {
    let index = cx.core().rows.borrow().len() as c_int;
    cx.core().rows.borrow_mut().push(BoundRow {
        owner,
        class,
        function,
    });
    let name = c_name(&camel_case(function.name))?;
    let count = function.params.len() as c_int;
    let bound = cx.function(&name, count, index, call)?;
    let bound = match function.kind {
        FunctionKind::AsyncBracket { .. } => bracket::waiting(cx, &name, &bound, index)?,
        _ => bound,
    };
    Ok((name, bound))
}

fn c_name(name: &str) -> Result<CString, Thrown> {
    CString::new(name).map_err(|_| Thrown)
}

// SAFETY: called by QuickJS alone, with a context that has a core and `argc` values.
unsafe extern "C" fn call(
    ctx: *mut qjs::JSContext,
    this: RawValue,
    argc: c_int,
    argv: *mut RawValue,
    index: c_int,
) -> RawValue {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let row = cx.core().rows.borrow()[index as usize];
        let result = run(cx, &row, this, args);
        if cx.core().sampler.get().is_some() && result.is_ok() {
            cx.core().sample_after(&row);
        }
        result
    })
}

/// Runs a row and returns its result.
#[inline(always)]
fn run(cx: Cx<'_>, row: &BoundRow, this: RawValue, args: &[RawValue]) -> Result<Val, Failure> {
    let context = &cx.core().context_of_capabilities;
    match row.function.kind {
        FunctionKind::Sync(body) => {
            let args = checked(cx, row, this, args)?;
            returned(cx, row, body(context, args)?)
        }
        FunctionKind::Reading(body) => returned(cx, row, read_in_place(cx, row, this, args, body)?),
        FunctionKind::Prompt { body, awaited, .. } => {
            let args = checked(cx, row, this, args)?;
            let result = body(context, args);
            let result = result.map_err(|error| row.with_advice(error, awaited));
            returned(cx, row, result?)
        }
        FunctionKind::Tag(body) => {
            let args = arguments::tagged(cx, row, args)?;
            returned(cx, row, body(context, args)?)
        }
        FunctionKind::Async(body) => {
            let args = checked(cx, row, this, args)?;
            check_loaded(cx, row)?;
            promised(cx, row, body(context, args))
        }
        FunctionKind::AsyncBracket { enter, .. } => {
            bracket::check_function(cx, row, args)?;
            let args = checked(cx, row, this, args)?;
            check_loaded(cx, row)?;
            bracket::check_none_open(cx, row)?;
            promised(cx, row, enter(context, args))
        }
        FunctionKind::Bracket { .. } => bracket::bracket(cx, row, this, args),
    }
}

/// Runs a row that reads the arguments where they lie. Not a part of `call`, where other rows would pay for its room.
#[inline(never)]
fn read_in_place(
    cx: Cx<'_>,
    row: &BoundRow,
    this: RawValue,
    raw: &[RawValue],
    body: ReadingBody,
) -> Result<Value, Failure> {
    let core = cx.core();
    let args = checked(cx, row, this, raw)?;
    let read = |reader: &JsReader<'_>| body(&core.context_of_capabilities, args, reader);
    Ok(JsReader::with(cx, raw, *row, read)?)
}

/// Nothing can wait while a module loads.
fn check_loaded(cx: Cx<'_>, row: &BoundRow) -> Result<(), Error> {
    if !cx.core().is_loading() {
        return Ok(());
    }
    let name = row.name();
    Err(Error::script(format!(
        "{name}: cannot wait here (at module top level)"
    )))
}

/// The promise of what an operation gives, for the request that runs.
pub(crate) fn promised(
    cx: Cx<'_>,
    row: &BoundRow,
    operation: LocalFuture<Result<Value, Error>>,
) -> Result<Val, Failure> {
    let returns = row.function.returns;
    let future = Box::pin(async move { Ok(renamed(operation.await?, returns, spelled)) });
    cx.core().tasks().promise(cx, future, None, Some(here(cx)?))
}

/// Converts the result, for the script.
fn returned(cx: Cx<'_>, row: &BoundRow, value: Value) -> Result<Val, Failure> {
    if row.function.returns == Type::Nothing {
        return Ok(cx.undefined());
    }
    if let Value::Object(object) = value {
        if cx.core().is_loading() {
            cx.core()
                .context_of_capabilities
                .objects()
                .check_outside(object)?;
        }
        cx.core().tasks().own(cx.core(), object);
    }
    let value = match value {
        Value::List(parts) if row.function.returns == Type::Answer => {
            return answer(cx, parts);
        }
        value => value,
    };
    let spell = |columns: &Arc<[String]>| cx.core().spellings.of(columns);
    Ok(value::to_js(
        cx,
        renamed(value, row.function.returns, spell),
    )?)
}

/// An answer, or its parts. A body of ASCII is a string, which is sent from where it lies; any other is faster as
/// bytes.
fn answer(cx: Cx<'_>, parts: Vec<Value>) -> Result<Val, Failure> {
    if let [Value::Bytes(body), Value::Text(content_type)] = &parts[..] {
        let body = match body.is_ascii() {
            true => cx.string_from(body)?,
            false => cx.bytes(body)?,
        };
        return match made::answered(cx, &body, content_type)? {
            Some(answer) => Ok(answer),
            None => Ok(cx.array(vec![body, cx.string(content_type)?])?),
        };
    }
    let parts = parts.into_iter().map(|part| value::to_js(cx, part));
    Ok(cx.array(parts.collect::<Result<Vec<Val>, Thrown>>()?)?)
}

/// A result that is a record has its fields spelled as JavaScript spells them: `lastId`.
fn renamed(
    value: Value,
    returns: Type,
    spell: impl FnOnce(&Arc<[String]>) -> Arc<[String]>,
) -> Value {
    match (returns, value) {
        (Type::Map, Value::Map(members)) => Value::Map(
            members
                .into_iter()
                .map(|(key, member)| {
                    let is_spelled = !key.contains('_');
                    (if is_spelled { key } else { camel_case(&key) }, member)
                })
                .collect(),
        ),
        (Type::Results(names), Value::List(results)) => {
            let names = names.iter().map(|(name, _)| camel_case(name));
            Value::Map(names.zip(results).collect())
        }
        (Type::Record(_), Value::Row(row)) => {
            let columns = spell(row.columns());
            Value::Row(row.renamed(columns))
        }
        (_, value) => value,
    }
}

fn spelled(columns: &Arc<[String]>) -> Arc<[String]> {
    columns.iter().map(|name| camel_case(name)).collect()
}

/// The fields of records that were spelled before, so that the same ones are always the same `Arc`.
#[derive(Default)]
pub(crate) struct Spellings(RefCell<Vec<[Arc<[String]>; 2]>>);

impl Spellings {
    fn of(&self, columns: &Arc<[String]>) -> Arc<[String]> {
        /// As many as there are functions that return records, and more.
        const SPELLINGS_MAX: usize = 32;
        let mut known = self.0.borrow_mut();
        if let Some([_, names]) = known.iter().find(|[own, _]| Arc::ptr_eq(own, columns)) {
            return names.clone();
        }
        let names = spelled(columns);
        if known.len() < SPELLINGS_MAX {
            known.push([columns.clone(), names.clone()]);
        }
        names
    }
}
