//! Native objects that `app.use` takes: guards, and those that ask a function of the script.
//!
//! The prelude makes a middleware of one that asks: it calls the function between the two halves that stand here, so
//! that the function may give a promise.

use crate::request::object::live_request;
use crate::sys::{Failure, Js};
use crate::values::{objects, value};
use crate::vm::callback::function_of;
use crate::vm::core::Cx;
use sampan_host::callback::isolate_is_gone;
use sampan_host::{AskingGuard, NativeMiddleware};
use std::rc::Rc;

/// The middleware that a value is, if it is a native object that is one.
pub(crate) fn at(cx: Cx<'_>, value: Js) -> Option<NativeMiddleware> {
    let object = objects::at(cx, value)?;
    cx.core().context.objects().middleware(object)
}

/// `nativeMiddleware(value)`: the function that it asks, null if it asks none, `undefined` if it is none.
pub(crate) fn function(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    match args.first().and_then(|value| at(cx, *value)) {
        None => Ok(cx.undefined()),
        Some(NativeMiddleware::Guard(_)) => Ok(cx.null()),
        Some(NativeMiddleware::Asking(asking)) => Ok(function_of(cx, &asking.function())?),
    }
}

fn asking_at(cx: Cx<'_>, value: Js) -> Result<Rc<dyn AskingGuard>, Failure> {
    match at(cx, value) {
        Some(NativeMiddleware::Asking(asking)) => Ok(asking),
        _ => Err(isolate_is_gone().into()),
    }
}

/// `ask(middleware, request)`: the arguments for its function, the request behind them. Throws what refuses the
/// request.
pub(crate) fn ask(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let &[native, request] = args else {
        return Ok(cx.undefined());
    };
    let asked = asking_at(cx, native)?.ask(&*live_request(cx, request)?)?;
    let mut passed = Vec::with_capacity(asked.len() + 1);
    for arg in asked {
        passed.push(value::to_js(cx, arg)?);
    }
    passed.push(request);
    Ok(cx.array(&passed)?)
}

/// `decide(middleware, request, returned)`: throws what refuses the request.
pub(crate) fn decide(cx: Cx<'_>, args: &[Js]) -> Result<Js, Failure> {
    let &[native, request, returned] = args else {
        return Ok(cx.undefined());
    };
    let returned = value::from_js(cx, returned)?;
    asking_at(cx, native)?.decide(&*live_request(cx, request)?, returned)?;
    // What it has put on the request is read anew.
    cx.core().call_own("forgetAdded", &[request])
}
