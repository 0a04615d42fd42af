//! Functions and results whose work is not done: a bracket or a callback that does not wait refuses them.

use crate::vm::sys::{Cx, RawValue, Thrown, Val, class_id, is_object, is_promise};
use rquickjs::qjs;

/// Returns the name of the function if its work is not done when it returns.
pub(super) fn function(cx: Cx<'_>, function: RawValue<'_>) -> Option<&'static str> {
    let (class, classes) = (class_id(function), &cx.core().classes);
    let known = [
        (classes.async_function, "an async function"),
        (classes.generator_function, "a generator function"),
        (
            classes.async_generator_function,
            "an async generator function",
        ),
    ];
    let found = known.into_iter().find(|(other, _)| *other == class);
    found.map(|(_, kind)| kind)
}

/// Returns the name of a result whose work is not done: a bound, proxied or compiled async function looks like a
/// plain one.
pub(super) fn unfinished(cx: Cx<'_>, value: &Val) -> Result<Option<&'static str>, Thrown> {
    let raw = value.raw();
    if !is_object(raw) {
        return Ok(None);
    }
    if is_promise(raw) {
        silence_rejection(cx, raw);
        return Ok(Some("a promise"));
    }
    let (class, classes) = (class_id(raw), &cx.core().classes);
    if class == classes.generator || class == classes.async_generator {
        return Ok(Some("a generator, which has not run"));
    }
    // Read once, and while the bracket is open: a getter is a part of the function.
    let then = cx.get(raw, c"then")?;
    Ok(cx.is_function(then.raw()).then_some("a thenable"))
}

/// The error of the bracket stands for a promise that is rejected already. One that is rejected later is logged as any
/// other.
fn silence_rejection(cx: Cx<'_>, promise: RawValue<'_>) {
    // SAFETY: something else holds the promise for the lifetime of the `RawValue`; this only reads its state.
    let state = unsafe { qjs::JS_PromiseState(cx.raw(), promise.js()) };
    if state == qjs::JSPromiseStateEnum_JS_PROMISE_REJECTED {
        cx.core().handled(cx, promise);
    }
}
