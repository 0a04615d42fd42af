//! Brackets: a function of the script between `enter` and `leave`.
//!
//! The function runs to its end before `leave` is called, and no microtask runs in between. So it must not wait: a function that is
//! async or a generator is refused before anything has run, and one that returns a promise has failed.

use crate::values::value;
use crate::vm::bind::{BoundRow, checked};
use crate::vm::isolate::Classes;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, class_id, is_object, is_promise,
};
use rquickjs::qjs;
use sampan_host::module::LeaveBody;
use sampan_host::{Error, FunctionKind, Value};

/// A bracket that is open.
struct OpenBracket<'a> {
    cx: Cx<'a>,
    leave: LeaveBody,
    token: Value,
}

impl OpenBracket<'_> {
    fn succeed(self) -> Result<(), Error> {
        self.leave(true)
    }

    /// Leaves as failed. The script is told why it failed, and an error of `leave` is logged.
    fn fail(self) {
        let cx = self.cx;
        if let Err(error) = self.leave(false) {
            (cx.core().report)(error);
        }
    }

    fn leave(self, succeeded: bool) -> Result<(), Error> {
        let context = &self.cx.core().context_of_capabilities;
        (self.leave)(context, self.token, succeeded)
    }
}

/// Calls the script's function, which is the last argument.
pub(crate) fn bracket(cx: Cx<'_>, row: &BoundRow, args: &[RawValue]) -> Result<Val, Failure> {
    let FunctionKind::Bracket { enter, leave } = row.function.kind else {
        return Err(Error::script("not a bracket").into());
    };
    let name = || row.name();
    let Some((function, rest)) = args.split_last().filter(|(last, _)| cx.is_function(**last))
    else {
        let text = format!("{}: the last argument must be a function", name());
        return Err(Error::script(text).into());
    };
    if let Some(kind) = cx.core().classes.waiting_function(*function) {
        let text = format!(
            "{0} takes a plain function, not {kind}: await what you need before {0}",
            name()
        );
        return Err(Error::script(text).into());
    }
    let args = checked(cx, row, rest)?;
    let token = enter(&cx.core().context_of_capabilities, args)?;
    let open = OpenBracket { cx, leave, token };
    let shown = value::to_js(cx, open.token.clone());
    let returned = shown.and_then(|shown| cx.call(*function, UNDEFINED, &[shown.raw()]));
    let checked = returned.and_then(|value| Ok((unfinished(cx, &value)?, value)));
    match checked {
        Ok((None, value)) => {
            open.succeed()?;
            Ok(value)
        }
        Ok((Some(what), _)) => {
            open.fail();
            let text = format!(
                "{0}: the function returned {what}, so {0} failed: await what you need before {0}, and return a plain value",
                name()
            );
            Err(Error::script(text).into())
        }
        Err(Thrown) => {
            let exception = cx.exception();
            open.fail();
            // SAFETY: the function takes the exception's reference.
            unsafe { qjs::JS_Throw(cx.raw(), exception.into_raw()) };
            Err(Failure::Thrown)
        }
    }
}

/// What is returned by a function whose work is not done: a bound, proxied or compiled async function looks like a plain one.
fn unfinished(cx: Cx<'_>, value: &Val) -> Result<Option<&'static str>, Thrown> {
    let raw = value.raw();
    if !is_object(raw) {
        return Ok(None);
    }
    if is_promise(raw) {
        silence_rejection(cx, raw);
        return Ok(Some("a promise"));
    }
    if cx.core().classes.is_generator(raw) {
        return Ok(Some("a generator, which has not run"));
    }
    // Read once, and while the bracket is open: a getter is a part of the function.
    let then = cx.get(raw, c"then")?;
    Ok(cx.is_function(then.raw()).then_some("a thenable"))
}

/// The error of the bracket stands for a promise that is rejected already. One that is rejected later is logged as any other.
fn silence_rejection(cx: Cx<'_>, promise: RawValue) {
    // SAFETY: the promise is alive.
    let state = unsafe { qjs::JS_PromiseState(cx.raw(), promise) };
    if state == qjs::JSPromiseStateEnum_JS_PROMISE_REJECTED {
        cx.core().handled(cx, promise);
    }
}

impl Classes {
    /// What the function is called if its work is not done when it returns.
    fn waiting_function(&self, function: RawValue) -> Option<&'static str> {
        let class = class_id(function);
        let known = [
            (self.async_function, "an async function"),
            (self.generator_function, "a generator function"),
            (self.async_generator_function, "an async generator function"),
        ];
        let found = known.into_iter().find(|(other, _)| *other == class);
        found.map(|(_, kind)| kind)
    }

    fn is_generator(&self, value: RawValue) -> bool {
        let class = class_id(value);
        class == self.generator || class == self.async_generator
    }
}
