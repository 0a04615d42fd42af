//! The binder: walks any [`sampan_host::Module`] table and makes an object of native functions from it.
//!
//! Synchronous rows return, asynchronous ones give a promise, brackets call the script's function between their two halves, also if
//! that function waits.

use crate::sys::{Cx, Fault, Raw, Thrown, UNDEFINED, Val, arguments, is_promise, native};
use crate::tasks::Bracket;
use crate::{error, sys, value};
use rquickjs::qjs;
use sampan_host::names::camel_case;
use sampan_host::{Args, Error, Function, Kind, Module, Type, Value};
use std::ffi::{CString, c_int};
use std::rc::Rc;

/// A bound row.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    module: &'static Module,
    function: &'static Function,
}

impl Row {
    /// The name as JavaScript spells it: `time.nowMs`.
    fn name(&self) -> String {
        format!("{}.{}", self.module.name, camel_case(self.function.name))
    }

    /// The same error, with the name as JavaScript spells it and in front.
    fn named(&self, error: &Error) -> Error {
        let (name, snake) = (
            self.name(),
            format!("{}.{}", self.module.name, self.function.name),
        );
        let text = match error.message().strip_prefix(&snake) {
            Some(rest) => format!("{name}{rest}"),
            None => format!("{name}: {}", error.message()),
        };
        Error::new(error.kind(), text)
    }
}

/// An object with the functions of every module.
pub(crate) fn bind(cx: Cx<'_>) -> Result<Val, Thrown> {
    let all = cx.object()?;
    for module in cx.core().modules {
        let table = cx.object()?;
        for function in module.functions {
            let index = cx.core().rows.borrow().len();
            cx.core().rows.borrow_mut().push(Row { module, function });
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

unsafe extern "C" fn call(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    index: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let row = cx.core().rows.borrow()[index as usize];
        match row.function.kind {
            Kind::Sync(body) | Kind::Prompt { body, .. } | Kind::Tag(body) => {
                let args = checked(cx, &row, args)?;
                returned(cx, &row, body(&cx.core().context_of_capabilities, args)?)
            }
            Kind::Async(body) => {
                let args = checked(cx, &row, args)?;
                if cx.core().is_loading() {
                    return Err(Error::script(format!(
                        "{}: cannot wait here (at module top level)",
                        row.name()
                    ))
                    .into());
                }
                let future = body(&cx.core().context_of_capabilities, args);
                let result = row.function.returns;
                let future =
                    Box::pin(async move { future.await.map(|value| renamed(value, result)) });
                cx.core().tasks().promise(cx, future, None)
            }
            Kind::Bracket { .. } => bracket(cx, &row, args),
        }
    })
}

/// The arguments as the row wants them.
fn checked(cx: Cx<'_>, row: &Row, args: &[Raw]) -> Result<Args, Fault> {
    let mut values = Vec::with_capacity(row.function.params.len());
    // A line of the log is for people: what cannot be passed on is named in it rather than failing the request.
    let read = if row.module.name == "log" {
        value::shown
    } else {
        value::from_js
    };
    for (index, raw) in args.iter().take(row.function.params.len()).enumerate() {
        match read(cx, *raw) {
            Ok(value) => values.push(value),
            Err(Fault::Error(error)) => {
                let text = format!(
                    "{}: argument {}: {}",
                    row.name(),
                    index + 1,
                    error.message()
                );
                return Err(Error::script(text).into());
            }
            Err(thrown) => return Err(thrown),
        }
    }
    Args::check(row.module.name, row.function, values).map_err(|error| row.named(&error).into())
}

/// What a function returns, for the script.
fn returned(cx: Cx<'_>, row: &Row, value: Value) -> Result<Val, Fault> {
    if row.function.returns == Type::Nothing {
        return Ok(cx.undefined());
    }
    Ok(value::to_js(cx, renamed(value, row.function.returns))?)
}

/// A result that is a record has its fields spelled as JavaScript spells them: `lastId`.
fn renamed(value: Value, returns: Type) -> Value {
    match (returns, value) {
        (Type::Map, Value::Map(members)) => Value::Map(
            members
                .into_iter()
                .map(|(key, member)| (camel_case(&key), member))
                .collect(),
        ),
        (_, value) => value,
    }
}

/// Calls the script's function between `enter` and `leave`.
fn bracket(cx: Cx<'_>, row: &Row, args: &[Raw]) -> Result<Val, Fault> {
    let Kind::Bracket { enter, leave } = row.function.kind else {
        return Err(Error::script("not a bracket").into());
    };
    let Some((function, rest)) = args.split_last().filter(|(last, _)| cx.is_function(**last))
    else {
        return Err(Error::script(format!(
            "{}: the last argument must be a function",
            row.name()
        ))
        .into());
    };
    let token = enter(&cx.core().context_of_capabilities, checked(cx, row, rest)?)?;
    let tasks = cx.core().tasks();
    let shown = value::to_js(cx, token.clone());
    let number = cx.core().open_bracket(Bracket {
        leave,
        token,
        owner: Rc::downgrade(&tasks),
    });
    let result = shown.and_then(|shown| cx.call(*function, UNDEFINED, &[shown.raw()]));
    match result {
        Ok(promise) if is_promise(promise.raw()) => leave_later(cx, number, &promise),
        Ok(value) => {
            cx.core().close_bracket(number, true)?;
            Ok(value)
        }
        Err(Thrown) => {
            // What the script threw is more telling than what `leave` may say on top of it.
            let exception = cx.exception();
            if let Err(error) = cx.core().close_bracket(number, false) {
                (cx.core().report)(error);
            }
            // SAFETY: the function takes the exception's reference.
            unsafe { qjs::JS_Throw(cx.raw(), exception.into_raw()) };
            Err(Fault::Thrown)
        }
    }
}

/// The inside of the bracket waits: `leave` follows when its promise is settled.
fn leave_later(cx: Cx<'_>, number: u64, promise: &Val) -> Result<Val, Fault> {
    let closer = |magic: c_int| {
        let mut data = [sys::number(number as f64)];
        // SAFETY: the datum is copied.
        cx.check(unsafe {
            qjs::JS_NewCFunctionData(cx.raw(), Some(close), 1, magic, 1, data.as_mut_ptr())
        })
    };
    let (fulfilled, rejected) = (closer(1)?, closer(0)?);
    // SAFETY: all three are alive.
    Ok(cx.check(unsafe {
        qjs::JS_PromiseThen(cx.raw(), promise.raw(), fulfilled.raw(), rejected.raw())
    })?)
}

unsafe extern "C" fn close(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    is_ok: c_int,
    data: *mut Raw,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: the function was made with one datum, and QuickJS passes `argc` values.
        let (number, args) = unsafe { (error::whole_number(*data), arguments(argc, argv)) };
        let passed = cx.dup(args.first().copied().unwrap_or(UNDEFINED));
        let closed = number.map_or(Ok(()), |number| {
            cx.core().close_bracket(number as u64, is_ok != 0)
        });
        if is_ok != 0 {
            closed?;
            return Ok(passed);
        }
        if let Err(error) = closed {
            (cx.core().report)(error);
        }
        // SAFETY: the function takes the reference of the reason, which goes on.
        unsafe { qjs::JS_Throw(cx.raw(), passed.into_raw()) };
        Err(Fault::Thrown)
    })
}
