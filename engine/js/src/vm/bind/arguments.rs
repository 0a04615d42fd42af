//! Reads the arguments of a call as the row wants them.

use super::BoundRow;
use crate::request::added;
use crate::values::{json_write, shown, value};
use crate::vm::bind::callback;
use crate::vm::declare::found;
use crate::vm::sys::{Cx, Failure, RawValue, is_nothing};
use rquickjs::qjs;
use sampan_host::javascript::{self, WORDS};
use sampan_host::{Args, Error, Type, Value};

/// The arguments of a template tag: the strings around the values, and the values.
pub(super) fn tagged(cx: Cx<'_>, row: &BoundRow, args: &[RawValue]) -> Result<Args, Failure> {
    let name = row.name();
    let wrong = || javascript::not_a_tag(&name);
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
pub(crate) fn checked(
    cx: Cx<'_>,
    row: &BoundRow,
    this: RawValue,
    args: &[RawValue],
) -> Result<Args, Failure> {
    let request = if row.is_of_request() {
        Some(added::live_request(cx, this)?)
    } else {
        None
    };
    let this = row.this(cx, this)?;
    let mut values = Vec::with_capacity(row.function.params.len());
    let mut functions = Vec::new();
    for (index, (raw, param)) in args.iter().zip(row.function.params).enumerate() {
        let value = match param.ty {
            Type::Json => json_write::text(cx, *raw).map(Value::Text),
            Type::Shown => shown::read(cx, *raw),
            Type::InPlace => Ok(Value::Null),
            ty if ty.takes_function() && cx.is_function(*raw) => {
                functions.push((index, callback::keep(cx, *raw, *row)));
                Ok(Value::Bool(true))
            }
            Type::Function if !is_nothing(*raw) => {
                let found = found(cx, *raw);
                return Err(Args::wrong(&WORDS, row.owner, row.function, index, found).into());
            }
            _ => value::from_js(cx, *raw),
        };
        match value {
            Ok(value) => values.push(value),
            Err(Failure::Error(error)) => {
                let argument = WORDS.argument(row.owner, row.function, index);
                let text = format!("{argument}: {}", error.message());
                return Err(Error::new(error.kind(), text).into());
            }
            Err(thrown) => return Err(thrown),
        }
    }
    let args = row.check(values, args)?;
    let args = args.on(this).with_functions(functions);
    Ok(match request {
        Some(request) => args.of_request(request),
        None => args,
    })
}
