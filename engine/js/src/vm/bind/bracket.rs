//! Brackets: a function of the script between `enter` and `leave`.
//!
//! The function runs to its end before `leave` is called, and no microtask runs in between. So it must not wait: a
//! function that is async or a generator is refused before anything has run, and one that returns a promise has failed.
//! A bracket that waits is two operations around the function (`bracket.js`). In a request that is given up, `leave` is
//! called if the function ends in time; else what `enter` gave is dropped.

use crate::values::value;
use crate::vm::bind::{BoundRow, checked, promised};
use crate::vm::declare::found;
use crate::vm::isolate::Classes;
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, UNDEFINED, Val, arguments, class_id, is_object, is_promise,
    is_true, native,
};
use rquickjs::qjs;
use sampan_host::javascript;
use sampan_host::module::{LeaveBody, end_bracket};
use sampan_host::{Error, FunctionKind, Value};
use std::ffi::{CStr, c_int};

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
pub(crate) fn bracket(
    cx: Cx<'_>,
    row: &BoundRow,
    this: RawValue,
    args: &[RawValue],
) -> Result<Val, Failure> {
    let FunctionKind::Bracket { enter, leave, .. } = row.function.kind else {
        return Err(Error::script("not a bracket").into());
    };
    let (function, rest) = check_function(cx, row, args)?;
    if let Some(kind) = cx.core().classes.waiting_function(function) {
        return Err(javascript::waiting_function(&row.name(), kind).into());
    }
    let args = checked(cx, row, this, rest)?;
    let token = enter(&cx.core().context_of_capabilities, args)?;
    let open = OpenBracket { cx, leave, token };
    let shown = value::to_js(cx, open.token.clone());
    let outer = cx.core().open_bracket.replace(Some(*row));
    let returned = shown.and_then(|shown| cx.call(function, UNDEFINED, &[shown.raw()]));
    cx.core().open_bracket.set(outer);
    let checked = returned.and_then(|value| Ok((unfinished(cx, &value)?, value)));
    match checked {
        Ok((None, value)) => {
            open.succeed()?;
            Ok(value)
        }
        Ok((Some(what), _)) => {
            open.fail();
            Err(javascript::unfinished(&row.name(), what).into())
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

/// The function, and the arguments in front of it.
pub(crate) fn check_function<'a>(
    cx: Cx<'_>,
    row: &BoundRow,
    args: &'a [RawValue],
) -> Result<(RawValue, &'a [RawValue]), Error> {
    match args.split_last() {
        Some((function, rest)) if cx.is_function(*function) => Ok((*function, rest)),
        last => {
            let name = row.name();
            let found = last.map_or("undefined", |(last, _)| found(cx, *last));
            Err(javascript::no_function(&name, found))
        }
    }
}

/// A bracket that waits would not be a part of the one that is open: it begins when that has ended.
pub(crate) fn check_none_open(cx: Cx<'_>, row: &BoundRow) -> Result<(), Error> {
    match cx.core().open_bracket.get() {
        None => Ok(()),
        Some(open) => Err(javascript::cannot_wait_inside(&row.name(), &open.name())),
    }
}

/// A bracket around a function that may wait: the function of the script, made of its two native halves.
pub(crate) fn waiting(cx: Cx<'_>, name: &CStr, enter: &Val, index: c_int) -> Result<Val, Thrown> {
    const SOURCE: &CStr =
        match CStr::from_bytes_with_nul(concat!(include_str!("bracket.js"), "\0").as_bytes()) {
            Ok(source) => source,
            Err(_) => panic!("the source has a NUL"),
        };
    let make = cx.eval(SOURCE, c"sampan:bracket")?;
    let leave = cx.function(name, 2, index, leave_later)?;
    let name = cx.string_from(name.to_bytes())?;
    cx.call(
        make.raw(),
        UNDEFINED,
        &[name.raw(), enter.raw(), leave.raw()],
    )
}

/// `leave(token, succeeded)`: a promise.
// SAFETY: called by QuickJS alone, with a context that has a core and `argc` values.
unsafe extern "C" fn leave_later(
    ctx: *mut qjs::JSContext,
    _: RawValue,
    argc: c_int,
    argv: *mut RawValue,
    index: c_int,
) -> RawValue {
    native(ctx, |cx| {
        let core = cx.core();
        let row = core.rows.borrow()[index as usize];
        // SAFETY: QuickJS passes `argc` values.
        let (&[token, succeeded], FunctionKind::AsyncBracket { leave, .. }) =
            (unsafe { arguments(argc, argv) }, row.function.kind)
        else {
            return Err(Error::script("not a bracket that waits").into());
        };
        let (token, succeeded) = (value::from_js(cx, token)?, is_true(succeeded));
        let left = leave(&core.context_of_capabilities, token, succeeded);
        let report = core.report.clone();
        promised(cx, &row, end_bracket(left, succeeded, report))
    })
}

/// Returns the name of a function whose work is not done: a bound, proxied or compiled async function looks like a
/// plain one.
pub(crate) fn unfinished(cx: Cx<'_>, value: &Val) -> Result<Option<&'static str>, Thrown> {
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

/// The error of the bracket stands for a promise that is rejected already. One that is rejected later is logged as any
/// other.
fn silence_rejection(cx: Cx<'_>, promise: RawValue) {
    // SAFETY: the promise is alive.
    let state = unsafe { qjs::JS_PromiseState(cx.raw(), promise) };
    if state == qjs::JSPromiseStateEnum_JS_PROMISE_REJECTED {
        cx.core().handled(cx, promise);
    }
}

impl Classes {
    /// Returns the name of the function if its work is not done when it returns.
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
