//! Brackets: a function of the script between `enter` and `leave`.
//!
//! No bracket stays open after its call. The function may be async as long as it waits only for what settles by running jobs: these
//! are run there and then, and if the promise is not settled by that, the bracket is left as failed. Jobs of others wait until it
//! is over (`births.rs`).

use crate::request::call::promise_result;
use crate::values::value;
use crate::vm::bind::{Row, checked};
use crate::vm::sys::{Cx, Failure, Raw, Thrown, UNDEFINED, Val, is_object, is_promise};
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
        let (cx, row) = (self.cx, self.row);
        let left = self.leave(true);
        // On an error what it did was not kept after all.
        end(cx, left.is_err());
        left.map_err(|error| row.spelled(error))
    }

    /// What made it fail is more telling than what `leave` may say on top of it.
    fn fail(self) {
        let cx = self.cx;
        let left = self.leave(false);
        end(cx, true);
        if let Err(error) = left {
            (cx.core().report)(error);
        }
    }

    fn leave(self, succeeded: bool) -> Result<(), Error> {
        let context = &self.cx.core().context_of_capabilities;
        (self.leave)(context, self.token, succeeded)
    }
}

fn end(cx: Cx<'_>, has_failed: bool) {
    let core = cx.core();
    if core.births.end(cx, has_failed) && has_failed {
        core.suspect_waiting();
    }
}

/// Calls the script's function, which is the last argument.
pub(crate) fn bracket(cx: Cx<'_>, row: &Row, args: &[Raw]) -> Result<Val, Failure> {
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
    cx.core().births.begin(cx);
    let open = Open {
        cx,
        row,
        leave,
        token,
    };
    let shown = value::to_js(cx, open.token.clone());
    match shown.and_then(|shown| cx.call(*function, UNDEFINED, &[shown.raw()])) {
        Ok(promise) if is_promise(promise.raw()) => settle(open, promise),
        Ok(value) => match unfit(cx, &value) {
            Ok(None) => {
                open.succeed()?;
                Ok(value)
            }
            Ok(Some(what)) => {
                let text = format!("{}: {what}", row.name());
                open.fail();
                Err(Error::script(text).into())
            }
            Err(Thrown) => Err(thrown(open)),
        },
        Err(Thrown) => Err(thrown(open)),
    }
}

/// Leaves the bracket as failed with the exception that is pending.
fn thrown(open: Open<'_>) -> Failure {
    let cx = open.cx;
    let exception = cx.exception();
    open.fail();
    // SAFETY: the function takes the exception's reference.
    unsafe { qjs::JS_Throw(cx.raw(), exception.into_raw()) };
    Failure::Thrown
}

/// What is wrong with a result that only promises to do the work later.
fn unfit(cx: Cx<'_>, value: &Val) -> Result<Option<&'static str>, Thrown> {
    if !is_object(value.raw()) {
        return Ok(None);
    }
    let has = |name| -> Result<bool, Thrown> {
        let member = cx.get(value.raw(), name)?;
        Ok(cx.is_function(member.raw()))
    };
    if has(c"then")? {
        return Ok(Some(
            "the function returned a thenable that is no promise: await it in an async function",
        ));
    }
    if has(c"next")? && has(c"throw")? {
        return Ok(Some(
            "the function is a generator, which has not run: give a plain or an async function",
        ));
    }
    Ok(None)
}

/// The function is async: runs its jobs until its promise is settled, and if that is fulfilled, those that it left too. That promise is what
/// the bracket gives, so whoever waits for it gets its value or its reason.
fn settle(open: Open<'_>, promise: Val) -> Result<Val, Failure> {
    let (cx, name) = (open.cx, open.row.name());
    let core = cx.core();
    let result = || promise_result(cx, promise.raw());
    core.drain_until(cx, || result().is_some());
    if let Some(Ok(_)) = result() {
        core.drain_until(cx, || false);
    }
    match result() {
        _ if core.must_stop() => {
            undone(open, promise, "");
            Err(Error::new(ErrorKind::Stopped, "the script ran too long").into())
        }
        Some(Ok(_)) => {
            open.succeed()?;
            Ok(promise)
        }
        Some(Err(_)) => {
            open.fail();
            Ok(promise)
        }
        None => {
            let module = name.split('.').next().unwrap_or_default();
            let why = format!(
                "the function waits for something that {module} does not do at once (a timer, an Async function, another request)"
            );
            Err(undone(open, promise, &why))
        }
    }
}

/// Leaves the bracket as failed.
fn undone(open: Open<'_>, promise: Val, why: &str) -> Failure {
    let (cx, name) = (open.cx, open.row.name());
    open.fail();
    cx.core().handled(cx, promise.raw());
    Error::script(format!("{name}: {why}")).into()
}
