//! Brackets: a function of the script between `enter` and `leave`.
//!
//! The function runs to its end before `leave` is called, and no microtask runs in between. So it must not wait: a
//! function that is async or a generator is refused before anything has run, and one that returns a promise has failed.
//! A bracket that waits is two operations around the function, which the prelude puts together.

use crate::promises::tasks::promised;
use crate::sys::{Failure, Js, Kind, Thrown};
use crate::values::value;
use crate::vm::bind::{BoundRow, checked};
use crate::vm::core::Cx;
use sampan_host::javascript;
use sampan_host::module::{AsyncLeaveBody, LeaveBody, end_bracket};
use sampan_host::{Error, FunctionKind, Value};

/// A bracket that is open.
struct OpenBracket<'a> {
    cx: Cx<'a>,
    leave: LeaveBody,
    token: Value,
}

impl OpenBracket<'_> {
    fn succeed(self) -> Result<(), Error> {
        (self.leave)(&self.cx.core().context, self.token, true)
    }

    /// Leaves as failed. The script is told why it failed, and an error of `leave` is logged.
    fn fail(self) {
        let core = self.cx.core();
        if let Err(error) = (self.leave)(&core.context, self.token, false) {
            (core.report)(error);
        }
    }
}

/// Calls the script's function, which is the last argument.
pub(crate) fn bracket(cx: Cx<'_>, row: &BoundRow, this: Js, args: &[Js]) -> Result<Js, Failure> {
    let FunctionKind::Bracket { enter, leave, .. } = row.function.kind else {
        return Err(Error::script("not a bracket").into());
    };
    let (function, rest) = check_function(cx, row, args)?;
    if let Some(kind) = said(cx, "waitingFunction", function)? {
        return Err(javascript::waiting_function(&row.name(), &kind).into());
    }
    let args = checked(cx, row, this, rest)?;
    let token = enter(&cx.core().context, args)?;
    let open = OpenBracket { cx, leave, token };
    let shown = value::to_js(cx, open.token.clone());
    let outer = cx.core().open_bracket.replace(Some(*row));
    let returned = shown.and_then(|shown| cx.call(function, &[shown]));
    let returned = returned.map_err(Failure::from);
    let checked = returned.and_then(|value| Ok((said(cx, "unfinished", value)?, value)));
    cx.core().open_bracket.set(outer);
    match checked {
        Ok((None, value)) => {
            open.succeed()?;
            Ok(value)
        }
        Ok((Some(what), _)) => {
            open.fail();
            Err(javascript::unfinished(&row.name(), &what).into())
        }
        Err(Failure::Thrown) => {
            let exception = cx.exception();
            open.fail();
            if let Some(exception) = exception {
                cx.throw(exception);
            }
            Err(Failure::Thrown)
        }
        Err(error) => {
            open.fail();
            Err(error)
        }
    }
}

/// Asks a function of the prelude about a value; `None` if it returns nothing.
pub(crate) fn said(cx: Cx<'_>, question: &str, value: Js) -> Result<Option<String>, Failure> {
    let said = cx.core().call_own(question, &[value])?;
    match cx.kind(said) {
        Kind::Text => Ok(Some(cx.text(said)?)),
        _ => Ok(None),
    }
}

/// The function, and the arguments in front of it.
pub(crate) fn check_function<'a>(
    cx: Cx<'_>,
    row: &BoundRow,
    args: &'a [Js],
) -> Result<(Js, &'a [Js]), Error> {
    match args.split_last() {
        Some((function, rest)) if cx.kind(*function) == Kind::Function => Ok((*function, rest)),
        last => {
            let name = row.name();
            let found = last.map_or("undefined", |(last, _)| value::found(cx, *last));
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

/// `leave(token, succeeded)`: a promise.
pub(crate) fn leave_later(
    cx: Cx<'_>,
    row: &BoundRow,
    leave: AsyncLeaveBody,
    args: &[Js],
) -> Result<Js, Failure> {
    let &[token, succeeded] = args else {
        return Err(Thrown.into());
    };
    let core = cx.core();
    let (token, succeeded) = (value::from_js(cx, token)?, cx.is_true(succeeded));
    let left = leave(&core.context, token, succeeded);
    let report = core.report.clone();
    promised(cx, row, end_bracket(left, succeeded, report))
}
