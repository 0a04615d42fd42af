//! Brackets: a function of the script between `enter` and `leave`.
//!
//! No bracket stays open after its call. The function may be async as long as it waits only for what settles by running jobs: these
//! are run there and then, and if the promise is not settled by that, the bracket is left as failed.

use crate::bind::{Row, checked};
use crate::call::promise_result;
use crate::sys::{Cx, Fault, Raw, Thrown, UNDEFINED, Val, is_promise};
use crate::value;
use rquickjs::qjs;
use sampan_host::module::LeaveBody;
use sampan_host::{Error, ErrorKind, Kind, Value};

/// A bracket that is open.
struct Open<'a> {
    cx: Cx<'a>,
    row: &'a Row,
    leave: LeaveBody,
    token: Value,
}

impl Open<'_> {
    fn succeed(self) -> Result<(), Error> {
        (self.leave)(&self.cx.core().context_of_capabilities, self.token, true)
            .map_err(|error| self.row.spelled(error))
    }

    /// What made it fail is more telling than what `leave` may say on top of it.
    fn fail(self) {
        let context = &self.cx.core().context_of_capabilities;
        if let Err(error) = (self.leave)(context, self.token, false) {
            (self.cx.core().report)(error);
        }
    }
}

/// Calls the script's function, which is the last argument.
pub(crate) fn bracket(cx: Cx<'_>, row: &Row, args: &[Raw]) -> Result<Val, Fault> {
    let Kind::Bracket { enter, leave } = row.function.kind else {
        return Err(Error::script("not a bracket").into());
    };
    let Some((function, rest)) = args.split_last().filter(|(last, _)| cx.is_function(**last))
    else {
        let text = format!("{}: the last argument must be a function", row.name());
        return Err(Error::script(text).into());
    };
    let args = checked(cx, row, rest)?;
    let token = enter(&cx.core().context_of_capabilities, args).map_err(|e| row.spelled(e))?;
    let open = Open {
        cx,
        row,
        leave,
        token,
    };
    // SAFETY: the runtime is alive.
    let has_jobs = unsafe { qjs::JS_IsJobPending(cx.runtime()) };
    // What the function begins to wait for is told from what was there before.
    let before = cx.core().pending();
    let shown = value::to_js(cx, open.token.clone());
    match shown.and_then(|shown| cx.call(*function, UNDEFINED, &[shown.raw()])) {
        Ok(promise) if is_promise(promise.raw()) => settle(open, promise, &before, has_jobs),
        Ok(value) => {
            open.succeed()?;
            Ok(value)
        }
        Err(Thrown) => {
            let exception = cx.exception();
            open.fail();
            // SAFETY: the function takes the exception's reference.
            unsafe { qjs::JS_Throw(cx.raw(), exception.into_raw()) };
            Err(Fault::Thrown)
        }
    }
}

/// The function is async: runs jobs until its promise is settled. That promise is what the bracket gives, so whoever waits for it gets
/// its value or its reason.
///
/// Jobs that were there before would run inside of the bracket too and share its fate, so there may be none.
fn settle(open: Open<'_>, promise: Val, before: &[usize], has_jobs: bool) -> Result<Val, Fault> {
    let (cx, name) = (open.cx, open.row.name());
    if has_jobs {
        open.fail();
        cx.core().handled(cx, promise.raw());
        cx.core().give_up(before);
        let text = format!(
            "{name}: an async function cannot be called while other work of the request goes on: await that first, or give a function that is not async"
        );
        return Err(Error::script(text).into());
    }
    cx.core()
        .drain_until(cx, || promise_result(cx, promise.raw()).is_some());
    match promise_result(cx, promise.raw()) {
        Some(Ok(_)) => {
            open.succeed()?;
            Ok(promise)
        }
        Some(Err(_)) => {
            open.fail();
            Ok(promise)
        }
        None => {
            open.fail();
            // It must not go on outside of the bracket.
            cx.core().handled(cx, promise.raw());
            cx.core().give_up(before);
            if cx.core().must_stop() {
                return Err(Error::new(ErrorKind::Stopped, "the script ran too long").into());
            }
            let module = name.split('.').next().unwrap_or_default();
            let text = format!("{name}: the function waits for something else than {module}");
            Err(Error::script(text).into())
        }
    }
}
