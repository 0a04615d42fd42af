//! Brackets: a function of the script between `enter` and `leave`.
//!
//! The function runs to its end before `leave` is called, and no microtask runs in between. So it must not wait: a
//! function that is async or a generator is refused before anything has run, and one that returns a promise has failed.
//! The end of a bracket may wait all the same (`prelude/waiting_bracket.js`).
//! A bracket that waits is two operations around the function (`prelude/bracket.js`), and so is a row
//! that has a function make a value (`prelude/fill.js`). In a request that is given up,
//! `leave` is called if the function ends in time; else the value of `enter` is dropped.

use crate::args::{checked, message};
use crate::row::BoundRow;
use crate::state::Contract;
use crate::vm::{Failure, Vm, found};
use sampan_host::ends::{end_bracket, end_fill};
use sampan_host::module::{
    AsyncLeaveBody, BracketEnd, FillBody, LeaveBody, SyncBody, WaitingLeaveBody,
};
use sampan_host::{Context, Error, Value, javascript};
use std::rc::Rc;

/// A bracket that is open.
struct OpenBracket<'a, L> {
    contract: &'a Contract,
    /// Leaves it, and tells whether its function has succeeded.
    leave: L,
    token: Value,
}

impl<T, L: FnOnce(&Context, Value, bool) -> Result<T, Error>> OpenBracket<'_, L> {
    fn succeed(self) -> Result<T, Error> {
        (self.leave)(&self.contract.context, self.token, true)
    }

    /// Leaves as failed. The script is told why it failed, and an error of `leave` is logged.
    fn fail(self) {
        if let Err(error) = (self.leave)(&self.contract.context, self.token, false) {
            (self.contract.report)(error);
        }
    }
}

/// Calls the script's function, which is the last argument.
pub(crate) fn bracket<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    args: &[V::Raw<'_>],
    enter: SyncBody,
    leave: LeaveBody,
) -> Result<V::Val, Failure> {
    around(vm, row, this, args, enter, leave).map(|(value, ())| value)
}

/// Calls the script's function, which is the last argument. Returns an array of what it returned and, where the end
/// waits, a promise of that: `prelude/waiting_bracket.js` makes one value of them.
pub(crate) fn waiting_bracket<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    args: &[V::Raw<'_>],
    enter: SyncBody,
    leave: WaitingLeaveBody,
) -> Result<V::Val, Failure> {
    let contract = vm.contract();
    let may_wait = !contract.is_loading() && contract.open_bracket.get().is_none();
    let leave = |context: &Context, token, succeeded| {
        let ending = BracketEnd {
            succeeded,
            may_wait,
        };
        leave(context, token, ending)
    };
    let (value, left) = around(vm, row, this, args, enter, leave)?;
    let mut parts = vec![value];
    if let Some(left) = left {
        check_none_open(vm, row)?;
        let left = end_bracket(left, true, Rc::clone(&contract.report));
        parts.push(vm.promise(*row, left)?);
    }
    Ok(vm.new_list(parts)?)
}

/// Calls the script's function, which is the last argument, between `enter` and `leave`.
fn around<'a, V: Vm<'a>, T>(
    vm: V,
    row: &BoundRow,
    this: V::Raw<'_>,
    args: &[V::Raw<'_>],
    enter: SyncBody,
    leave: impl FnOnce(&Context, Value, bool) -> Result<T, Error>,
) -> Result<(V::Val, T), Failure> {
    let (function, rest) = check_function(vm, row, args)?;
    if let Some(kind) = vm.waiting_function(function)? {
        return Err(javascript::waiting_function(&row.name(), &kind).into());
    }
    let args = checked(vm, row, this, rest)?;
    let contract = vm.contract();
    let token = enter(&contract.context, args)?;
    let open = OpenBracket {
        contract,
        leave,
        token,
    };
    let shown = vm.give(open.token.clone());
    let outer = contract.open_bracket.replace(Some(*row));
    let returned = shown.and_then(|shown| vm.invoke(function, &[vm.raw(&shown)]));
    let returned = returned.map_err(Failure::from);
    // The result is looked at while the bracket is open: a getter is a part of the function.
    let checked = returned.and_then(|value| Ok((vm.unfinished(&value)?, value)));
    contract.open_bracket.set(outer);
    match checked {
        Ok((None, value)) => Ok((value, open.succeed()?)),
        Ok((Some(what), _)) => {
            open.fail();
            Err(javascript::unfinished(&row.name(), &what).into())
        }
        Err(Failure::Thrown) => {
            let exception = vm.take_exception();
            open.fail();
            if let Some(exception) = exception {
                vm.rethrow(exception);
            }
            Err(Failure::Thrown)
        }
        Err(error) => {
            open.fail();
            Err(error)
        }
    }
}

/// Returns the function, and the arguments in front of it.
pub(crate) fn check_function<'a, 'b, 'v, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    args: &'b [V::Raw<'v>],
) -> Result<(V::Raw<'v>, &'b [V::Raw<'v>]), Error> {
    match args.split_last() {
        Some((function, rest)) if vm.is_callable(*function) => Ok((*function, rest)),
        last => {
            let found = last.map_or("undefined", |(last, _)| found(vm, *last));
            Err(javascript::no_function(&row.name(), found))
        }
    }
}

/// Refuses a bracket that waits inside of one that does not: it would begin when that has ended.
pub(crate) fn check_none_open<'a, V: Vm<'a>>(vm: V, row: &BoundRow) -> Result<(), Error> {
    match vm.contract().open_bracket.get() {
        None => Ok(()),
        Some(open) => Err(javascript::cannot_wait_inside(&row.name(), &open.name())),
    }
}

/// `leave(filling, succeeded, made)`: a promise of the value.
pub(crate) fn leave_filled<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    leave: FillBody,
    args: &[V::Raw<'_>],
) -> Result<V::Val, Failure> {
    let &[filling, succeeded, ref made @ ..] = args else {
        return Err(Error::script("not a row that has a function make a value").into());
    };
    let (filling, succeeded) = (vm.read(filling)?, vm.is_yes(succeeded));
    let made = match made {
        [made] if succeeded => match message(vm, *made) {
            Ok(made) => Ok(Some(made)),
            Err(Failure::Error(error)) => {
                let text = format!("{}: the result: {}", row.name(), error.message());
                Err(Error::new(error.kind(), text))
            }
            // A `toJSON` of the script threw. The value is given up with its object.
            Err(Failure::Thrown) => {
                if let Value::Object(object) = filling {
                    vm.contract().context.objects().remove(object);
                }
                return Err(Failure::Thrown);
            }
        },
        _ => Ok(None),
    };
    let context = &vm.contract().context;
    let left = end_fill(|made| leave(context, filling, made), made);
    vm.promise(*row, left)
}

/// `leave(token, succeeded)`: a promise.
pub(crate) fn leave_later<'a, V: Vm<'a>>(
    vm: V,
    row: &BoundRow,
    leave: AsyncLeaveBody,
    args: &[V::Raw<'_>],
) -> Result<V::Val, Failure> {
    let &[token, succeeded] = args else {
        return Err(Error::script("not a bracket that waits").into());
    };
    let (token, succeeded) = (vm.read(token)?, vm.is_yes(succeeded));
    let contract = vm.contract();
    let left = leave(&contract.context, token, succeeded);
    let left = end_bracket(left, succeeded, Rc::clone(&contract.report));
    vm.promise(*row, left)
}
