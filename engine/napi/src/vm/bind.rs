//! The binder: walks any [`sampan_host::Module`] table and makes an object of native functions from it.

use crate::promises::tasks::promised;
use crate::request::object;
use crate::sys::{Failure, Js, Kind, Thrown, make_row};
use crate::values::reader::NapiReader;
use crate::values::{objects, rows, value};
use crate::vm::bracket;
use crate::vm::callback;
use crate::vm::core::Cx;
use sampan_host::javascript::{self, WORDS};
use sampan_host::names::camel_case;
use sampan_host::{
    Args, Class, Error, ErrorKind, Function, FunctionKind, Object, RequestView, RowOwner, Type,
    Value,
};
use std::rc::Rc;

/// A bound row.
#[derive(Clone, Copy)]
pub(crate) struct BoundRow {
    pub(crate) owner: RowOwner<'static>,
    /// The class that it is a method of.
    pub(crate) class: Option<&'static Class>,
    pub(crate) function: &'static Function,
    /// True if it is the second half of a bracket that waits.
    pub(crate) is_leave: bool,
}

impl BoundRow {
    fn new(
        owner: RowOwner<'static>,
        class: Option<&'static Class>,
        function: &'static Function,
    ) -> Self {
        Self {
            owner,
            class,
            function,
            is_leave: false,
        }
    }

    /// The name as JavaScript spells it: `time.nowMs`, `tx.query`.
    pub(crate) fn name(&self) -> String {
        WORDS.function(self.owner, self.function)
    }

    /// Reports whether it is a method of requests.
    fn is_of_request(&self) -> bool {
        self.class.is_none() && self.owner.is_class
    }

    /// The error of a row that took too long to wait for it in place, with what to call instead.
    #[cold]
    fn with_advice(&self, error: Error, awaited: Option<&str>) -> Error {
        javascript::with_advice(error, &self.name(), self.owner.name, awaited)
    }
}

/// An object with the functions of every module.
pub(crate) fn modules(cx: Cx<'_>) -> Result<Js, Thrown> {
    let all = cx.object()?;
    for module in cx.core().modules {
        if module.functions.is_empty() {
            continue;
        }
        // Several modules may have functions of `app`.
        let key = camel_case(module.name);
        let known = cx.get(all, &key)?;
        let table = match cx.kind(known) {
            Kind::Object => known,
            _ => cx.object()?,
        };
        for function in module.functions {
            bind(cx, table, BoundRow::new(module.owner(), None, function))?;
        }
        cx.set(all, &key, table)?;
    }
    Ok(all)
}

/// The classes of native objects, by their names: an object of their methods each, and whether they have keys of the
/// script's own.
pub(crate) fn classes(cx: Cx<'_>) -> Result<Js, Thrown> {
    let all = cx.object()?;
    for class in cx.core().modules.iter().flat_map(|module| module.classes) {
        let methods = cx.object()?;
        for method in class.methods {
            bind(
                cx,
                methods,
                BoundRow::new(class.owner(), Some(class), method),
            )?;
        }
        let both = cx.array(&[methods, cx.boolean(class.is_keyed)])?;
        cx.set(all, class.name, both)?;
    }
    Ok(all)
}

/// The methods that modules add to requests.
pub(crate) fn request_methods(cx: Cx<'_>) -> Result<Js, Thrown> {
    let methods = cx.object()?;
    for function in cx
        .core()
        .modules
        .iter()
        .flat_map(|module| module.request_methods)
    {
        bind(
            cx,
            methods,
            BoundRow::new(RowOwner::REQUEST, None, function),
        )?;
    }
    Ok(methods)
}

/// The rows that give answers: `[module, function, how many parameters it has]` each. The module of a request's method
/// is `req`.
pub(crate) fn answering(cx: Cx<'_>) -> Result<Js, Thrown> {
    let mut rows = Vec::new();
    for module in cx.core().modules {
        let functions = module.functions.iter().map(|row| (module.name, row));
        let methods = module.request_methods.iter();
        let methods = methods.map(|row| (RowOwner::REQUEST.name, row));
        for (owner, function) in functions.chain(methods) {
            if function.returns == Type::Answer {
                let count = function.params.len() as f64;
                let (owner, name) = (camel_case(owner), camel_case(function.name));
                rows.push(cx.array(&[cx.string(&owner)?, cx.string(&name)?, cx.number(count)?])?);
            }
        }
    }
    cx.array(&rows)
}

/// Gives an object the function of a row.
fn bind(cx: Cx<'_>, table: Js, row: BoundRow) -> Result<(), Thrown> {
    let name = camel_case(row.function.name);
    let function = make_row(cx.core(), &name, row)?;
    if !matches!(row.function.kind, FunctionKind::AsyncBracket { .. }) {
        return cx.set(table, &name, function);
    }
    let leave = BoundRow {
        is_leave: true,
        ..row
    };
    // The prelude puts the function of the script between the two halves.
    let halves = cx.array(&[function, make_row(cx.core(), &name, leave)?])?;
    cx.set(table, &name, halves)
}

/// The value of a field that a module adds to requests.
pub(crate) fn request_field(
    cx: Cx<'_>,
    function: &'static Function,
    request: Rc<dyn RequestView>,
) -> Result<Js, Failure> {
    let row = BoundRow::new(RowOwner::REQUEST, None, function);
    let FunctionKind::Sync(body) = function.kind else {
        let text = format!("{} is no field of requests", row.name());
        return Err(Error::new(ErrorKind::Internal, text).into());
    };
    let args = Args::default().of_request(request);
    returned(cx, &row, body(&cx.core().context, args)?)
}

/// Calls a method of a native object for a key of the script's, see [`Class::is_keyed`].
pub(crate) fn call_method(
    cx: Cx<'_>,
    object: Object,
    name: &str,
    args: &[Js],
) -> Result<Js, Failure> {
    let class = object.class();
    let function = class.method(name);
    let Some((function, FunctionKind::Sync(body))) = function.map(|row| (row, row.kind)) else {
        let text = format!("a {} has no method {name}", class.name);
        return Err(Error::new(ErrorKind::Internal, text).into());
    };
    let row = BoundRow::new(class.owner(), Some(class), function);
    let args = read_arguments(cx, &row, args)?.on(Some(object));
    returned(cx, &row, body(&cx.core().context, args)?)
}

/// Runs a row and returns its result.
pub(crate) fn call(cx: Cx<'_>, row: &BoundRow, this: Js, args: &[Js]) -> Result<Js, Failure> {
    let context = &cx.core().context;
    match row.function.kind {
        FunctionKind::Sync(body) => {
            let args = checked(cx, row, this, args)?;
            returned(cx, row, body(context, args)?)
        }
        FunctionKind::Reading(body) => {
            let read = checked(cx, row, this, args)?;
            let reader = NapiReader::new(cx, args, *row);
            let value = body(context, read, &reader)?;
            returned(cx, row, value)
        }
        FunctionKind::Prompt { body, awaited, .. } => {
            let args = checked(cx, row, this, args)?;
            let result = body(context, args);
            let result = result.map_err(|error| row.with_advice(error, awaited));
            returned(cx, row, result?)
        }
        FunctionKind::Tag(body) => {
            let args = tagged(cx, row, args)?;
            returned(cx, row, body(context, args)?)
        }
        FunctionKind::Async(body) => {
            let args = checked(cx, row, this, args)?;
            check_loaded(cx, row)?;
            promised(cx, row, body(context, args))
        }
        FunctionKind::AsyncBracket { leave, .. } if row.is_leave => {
            bracket::leave_later(cx, row, leave, args)
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

/// The arguments of a template tag: the strings around the values, and the values.
fn tagged(cx: Cx<'_>, row: &BoundRow, args: &[Js]) -> Result<Args, Failure> {
    let name = row.name();
    let wrong = || javascript::not_a_tag(&name);
    let [strings, values @ ..] = args else {
        return Err(wrong().into());
    };
    // A list that a script made itself has no `raw`: what is in it may come from anywhere.
    let is_template = cx.is_array(*strings)
        && cx.is_array(cx.get(*strings, "raw")?)
        && cx.length(*strings)? as usize == values.len() + 1;
    if !is_template {
        return Err(wrong().into());
    }
    let strings = value::from_js(cx, *strings)?;
    let mut read = Vec::with_capacity(values.len());
    for (index, raw) in values.iter().enumerate() {
        let value = value::from_js(cx, *raw)
            .map_err(|failure| in_front(failure, || format!("{name}: value {}", index + 1)));
        read.push(value?);
    }
    let values = vec![strings, Value::List(read)];
    Ok(Args::check_in(
        &WORDS,
        row.owner,
        row.function,
        values,
        |_| "undefined",
    )?)
}

/// An error that says where it belongs.
fn in_front(failure: Failure, place: impl FnOnce() -> String) -> Failure {
    match failure {
        Failure::Error(error) => {
            let text = format!("{}: {}", place(), error.message());
            Error::new(error.kind(), text).into()
        }
        thrown => thrown,
    }
}

/// The arguments as the row wants them, of the object or request that it is called on.
pub(crate) fn checked(cx: Cx<'_>, row: &BoundRow, this: Js, args: &[Js]) -> Result<Args, Failure> {
    if row.is_of_request() {
        let request = object::live_request(cx, this)?;
        return Ok(read_arguments(cx, row, args)?.of_request(request));
    }
    let Some(class) = row.class else {
        return read_arguments(cx, row, args);
    };
    match objects::at(cx, this) {
        Some(object) if object.class() == class => {
            Ok(read_arguments(cx, row, args)?.on(Some(object)))
        }
        _ => Err(javascript::wrong_receiver(&row.name(), class).into()),
    }
}

fn read_arguments(cx: Cx<'_>, row: &BoundRow, args: &[Js]) -> Result<Args, Failure> {
    let mut values = Vec::with_capacity(row.function.params.len());
    let mut functions = Vec::new();
    for (index, (raw, param)) in args.iter().zip(row.function.params).enumerate() {
        let value = match param.ty {
            Type::Json => value::json_text(cx, *raw).map(Value::Text),
            Type::Shown => value::shown(cx, *raw),
            Type::InPlace => Ok(Value::Null),
            ty if ty.takes_function() && cx.kind(*raw) == Kind::Function => {
                functions.push((index, callback::keep(cx, *raw, *row)?));
                Ok(Value::Bool(true))
            }
            Type::Function if !cx.is_nothing(*raw) => {
                let found = value::found(cx, *raw);
                return Err(Args::wrong(&WORDS, row.owner, row.function, index, found).into());
            }
            _ => value::from_js(cx, *raw),
        };
        let argument = || WORDS.argument(row.owner, row.function, index);
        values.push(value.map_err(|failure| in_front(failure, argument))?);
    }
    let nothing = |index: usize| match args.get(index) {
        Some(value) if cx.kind(*value) == Kind::Null => "null",
        _ => "undefined",
    };
    let args = Args::check_in(&WORDS, row.owner, row.function, values, nothing)?;
    Ok(args.with_functions(functions))
}

/// Converts the result, for the script.
fn returned(cx: Cx<'_>, row: &BoundRow, value: Value) -> Result<Js, Failure> {
    if row.function.returns == Type::Nothing {
        return Ok(cx.undefined());
    }
    if let Value::Object(object) = value {
        if cx.core().is_loading() {
            cx.core().context.objects().check_outside(object)?;
        }
        if let Some(slot) = cx.core().current() {
            slot.tasks.own(cx.core(), object);
        }
    }
    if let (Type::Answer, Value::List(parts)) = (row.function.returns, &value)
        && let [Value::Bytes(body), Value::Text(content_type)] = &parts[..]
    {
        // Text as a string: it is sent as it is, and scripts may read it.
        let body = match std::str::from_utf8(body) {
            Ok(text) => cx.string(text)?,
            Err(_) => cx.bytes(body)?,
        };
        return Ok(cx.array(&[body, cx.string(content_type)?])?);
    }
    Ok(given(cx, value, row.function.returns)?)
}

/// A result for the script. The fields of a record are spelled as JavaScript spells them: `lastId`.
pub(crate) fn given(cx: Cx<'_>, value: Value, returns: Type) -> Result<Js, Thrown> {
    match (returns, renamed(value, returns)) {
        (Type::Record(_), Value::Row(row)) if !row.is_empty() => rows::first(cx, &row, true),
        (_, value) => value::to_js(cx, value),
    }
}

fn renamed(value: Value, returns: Type) -> Value {
    match (returns, value) {
        (Type::Map, Value::Map(members)) => {
            let members = members.into_iter();
            Value::Map(
                members
                    .map(|(key, value)| (camel_case(&key), value))
                    .collect(),
            )
        }
        (Type::Results(names), Value::List(results)) => {
            let names = names.iter().map(|(name, _)| camel_case(name));
            Value::Map(names.zip(results).collect())
        }
        (_, value) => value,
    }
}
