//! The binder: walks any [`sampan_host::Module`] table and makes an object of native functions from it.
//!
//! Synchronous rows return, asynchronous ones give a promise, brackets call the script's function between their two halves (see
//! `bracket`), tags are template tags.

use crate::values::{json_write, shown, value};
use crate::vm::bracket::bracket;
use crate::vm::error::here;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, Val, arguments, native, tag};
use rquickjs::qjs;
use sampan_host::names::camel_case;
use sampan_host::{Args, Error, ErrorKind, Function, FunctionKind, Module, Type, Value, Words};
use std::cell::RefCell;
use std::ffi::{CString, c_int};
use std::sync::Arc;

/// What JavaScript calls things.
pub(crate) const WORDS: Words = Words {
    map: "an object",
    list: "an array",
    spell: camel_case,
};

/// A bound row.
#[derive(Clone, Copy)]
pub(crate) struct BoundRow {
    module: &'static Module,
    pub(crate) function: &'static Function,
}

impl BoundRow {
    /// The name as JavaScript spells it: `time.nowMs`.
    pub(crate) fn name(&self) -> String {
        WORDS.function(self.module, self.function)
    }

    /// The arguments, if they are what the row wants.
    fn check(&self, values: Vec<Value>, raw: &[RawValue]) -> Result<Args, Error> {
        Args::check_in(
            &WORDS,
            self.module.name,
            self.function,
            values,
            |index| match raw.get(index) {
                Some(value) if tag(*value) == qjs::JS_TAG_NULL => "null",
                _ => "undefined",
            },
        )
    }

    /// The error of a row that took too long to wait for it in place, with what to call instead.
    #[cold]
    fn with_advice(&self, error: Error, awaited: &str) -> Error {
        if error.kind() != ErrorKind::TooLong {
            return error;
        }
        let (said, name, module) = (error.message(), self.name(), self.module.name);
        let text = format!("{said} ({name}: await {module}.{})", camel_case(awaited));
        error.with_message(text)
    }
}

/// An object with the functions of every module.
pub(crate) fn bind(cx: Cx<'_>) -> Result<Val, Thrown> {
    let all = cx.object()?;
    for module in cx.core().modules {
        let table = cx.object()?;
        for function in module.functions {
            let index = cx.core().rows.borrow().len();
            cx.core()
                .rows
                .borrow_mut()
                .push(BoundRow { module, function });
            let name = c_name(&camel_case(function.name))?;
            let bound = cx.function(&name, function.params.len() as c_int, index as c_int, call)?;
            cx.define(table.raw(), &name, bound)?;
        }
        cx.define(all.raw(), &c_name(&camel_case(module.name))?, table)?;
    }
    Ok(all)
}

fn c_name(name: &str) -> Result<CString, Thrown> {
    CString::new(name).map_err(|_| Thrown)
}

// SAFETY: called by QuickJS alone, with a context that has a core and `argc` values.
unsafe extern "C" fn call(
    ctx: *mut qjs::JSContext,
    _: RawValue,
    argc: c_int,
    argv: *mut RawValue,
    index: c_int,
) -> RawValue {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let row = cx.core().rows.borrow()[index as usize];
        match row.function.kind {
            FunctionKind::Sync(body) => {
                let args = checked(cx, &row, args)?;
                returned(cx, &row, body(&cx.core().context_of_capabilities, args)?)
            }
            FunctionKind::Prompt { body, awaited, .. } => {
                let args = checked(cx, &row, args)?;
                let result = body(&cx.core().context_of_capabilities, args);
                let result = result.map_err(|error| row.with_advice(error, awaited));
                returned(cx, &row, result?)
            }
            FunctionKind::Tag(body) => {
                let args = tagged(cx, &row, args)?;
                returned(cx, &row, body(&cx.core().context_of_capabilities, args)?)
            }
            FunctionKind::Async(body) => {
                let args = checked(cx, &row, args)?;
                if cx.core().is_loading() {
                    return Err(Error::script(format!(
                        "{}: cannot wait here (at module top level)",
                        row.name()
                    ))
                    .into());
                }
                let future = body(&cx.core().context_of_capabilities, args);
                let returns = row.function.returns;
                let future = Box::pin(async move { Ok(renamed(future.await?, returns, spelled)) });
                cx.core().tasks().promise(cx, future, None, Some(here(cx)?))
            }
            FunctionKind::Bracket { .. } => bracket(cx, &row, args),
        }
    })
}

/// The arguments of a template tag: the strings around the values, and the values.
fn tagged(cx: Cx<'_>, row: &BoundRow, args: &[RawValue]) -> Result<Args, Failure> {
    let name = row.name();
    let wrong = || {
        Error::script(format!(
            "{name} is a template tag: {name}`... ${{value}} ...`"
        ))
    };
    let [strings, values @ ..] = args else {
        return Err(wrong().into());
    };
    // A list that a script made itself has no `raw`: what is in it may come from anywhere.
    // SAFETY: looks at live values.
    unsafe {
        let is_template = qjs::JS_IsArray(*strings)
            && qjs::JS_IsArray(cx.get(*strings, c"raw")?.raw())
            && usize::try_from(cx.length(*strings)?) == Ok(values.len() + 1);
        if !is_template {
            return Err(wrong().into());
        }
    }
    let strings = value::from_js(cx, *strings)?;
    let mut read = Vec::with_capacity(values.len());
    for (index, raw) in values.iter().enumerate() {
        read.push(value::from_js(cx, *raw).map_err(|failure| match failure {
            Failure::Error(error) => {
                let text = format!("{name}: value {}: {}", index + 1, error.message());
                Error::new(error.kind(), text).into()
            }
            thrown => thrown,
        })?);
    }
    let values = vec![strings, Value::List(read)];
    Ok(row.check(values, &[])?)
}

/// The arguments as the row wants them.
pub(crate) fn checked(cx: Cx<'_>, row: &BoundRow, args: &[RawValue]) -> Result<Args, Failure> {
    let mut values = Vec::with_capacity(row.function.params.len());
    for (index, (raw, param)) in args.iter().zip(row.function.params).enumerate() {
        let value = match param.ty {
            Type::Json => json_write::text(cx, *raw).map(Value::Text),
            Type::Shown => shown::read(cx, *raw),
            _ => value::from_js(cx, *raw),
        };
        match value {
            Ok(value) => values.push(value),
            Err(Failure::Error(error)) => {
                let argument = WORDS.argument(row.module.name, row.function, index);
                let text = format!("{argument}: {}", error.message());
                return Err(Error::new(error.kind(), text).into());
            }
            Err(thrown) => return Err(thrown),
        }
    }
    Ok(row.check(values, args)?)
}

/// What a function returns, for the script.
fn returned(cx: Cx<'_>, row: &BoundRow, value: Value) -> Result<Val, Failure> {
    if row.function.returns == Type::Nothing {
        return Ok(cx.undefined());
    }
    let spell = |columns: &Arc<[String]>| cx.core().spellings.of(columns);
    Ok(value::to_js(
        cx,
        renamed(value, row.function.returns, spell),
    )?)
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
