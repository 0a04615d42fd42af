//! Brackets: a function of the script between `enter` and `leave`.
//!
//! No bracket stays open after its call. The function may be async as long as it waits only for what settles by running jobs: these
//! are run there and then, and if the promise is not settled by that, the bracket is left as failed.

use crate::bind::{Row, checked};
use crate::births::Outer;
use crate::call::promise_result;
use crate::sys::{Cx, Fault, Raw, Thrown, UNDEFINED, Val, is_object, is_promise};
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
    outer: Outer,
    /// What the request waited for before.
    before: Vec<usize>,
    /// Whether jobs of the function have run, so that others may have come between.
    ran_jobs: bool,
}

impl Open<'_> {
    fn succeed(self) -> Result<(), Error> {
        let (core, row, is_entangled) = (self.cx.core(), self.row, self.is_entangled());
        self.end(true).map_err(|error| {
            // What it did was not kept after all.
            core.suspect_waiting(is_entangled);
            row.spelled(error)
        })
    }

    /// What made it fail is more telling than what `leave` may say on top of it.
    fn fail(self) {
        let core = self.cx.core();
        core.suspect_waiting(self.is_entangled());
        // What began in here must not go on as if it had been kept.
        core.give_up(&self.before);
        if let Err(error) = self.end(false) {
            (core.report)(error);
        }
    }

    /// Whether there are signs that others may have run in it, or go on because of it.
    fn is_entangled(&self) -> bool {
        // SAFETY: the runtime is alive.
        let jobs_are_left = unsafe { qjs::JS_IsJobPending(self.cx.runtime()) };
        self.cx.core().births.settled_older() || (self.ran_jobs && jobs_are_left)
    }

    fn end(self, succeeded: bool) -> Result<(), Error> {
        let core = self.cx.core();
        core.births.end(self.cx, self.outer);
        (self.leave)(&core.context_of_capabilities, self.token, succeeded)
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
        outer: cx.core().births.begin(cx),
        before: cx.core().pending(),
        ran_jobs: false,
    };
    // SAFETY: the runtime is alive.
    let has_jobs = unsafe { qjs::JS_IsJobPending(cx.runtime()) };
    let shown = value::to_js(cx, open.token.clone());
    match shown.and_then(|shown| cx.call(*function, UNDEFINED, &[shown.raw()])) {
        Ok(promise) if is_promise(promise.raw()) => settle(open, promise, has_jobs),
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
fn thrown(open: Open<'_>) -> Fault {
    let cx = open.cx;
    let exception = cx.exception();
    open.fail();
    // SAFETY: the function takes the exception's reference.
    unsafe { qjs::JS_Throw(cx.raw(), exception.into_raw()) };
    Fault::Thrown
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
/// The function is async: runs jobs until its promise is settled. That promise is what the bracket gives, so whoever waits for it gets
/// its value or its reason.
///
/// Other work would run inside of the bracket too and share its fate. So no jobs may be there before, and none of somebody else may
/// come while it is not done.
fn settle(mut open: Open<'_>, promise: Val, has_jobs: bool) -> Result<Val, Fault> {
    let (cx, name) = (open.cx, open.row.name());
    let core = cx.core();
    if has_jobs {
        let why = "an async function cannot be called while other work of the request goes on: await that first, or give a function that is not async";
        return Err(undone(open, promise, why));
    }
    open.ran_jobs = true;
    let result = || promise_result(cx, promise.raw());
    core.drain_until(cx, || result().is_some() || core.births.settled_older());
    match result() {
        Some(Ok(_)) => {
            open.succeed()?;
            Ok(promise)
        }
        Some(Err(_)) => {
            open.fail();
            Ok(promise)
        }
        None if core.must_stop() => {
            undone(open, promise, "");
            Err(Error::new(ErrorKind::Stopped, "the script ran too long").into())
        }
        None if core.births.settled_older() => {
            let why = "the async function settled a promise that others may wait for before it was done: settle it afterwards";
            Err(undone(open, promise, why))
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

/// Leaves the bracket as failed, and has nothing of its function go on outside of it.
fn undone(open: Open<'_>, promise: Val, why: &str) -> Fault {
    let (cx, name) = (open.cx, open.row.name());
    open.fail();
    cx.core().handled(cx, promise.raw());
    Error::script(format!("{name}: {why}")).into()
}
