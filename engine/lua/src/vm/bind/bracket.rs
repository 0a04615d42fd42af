//! Brackets: a function of the script between `enter` and `leave`. The prelude calls it.
//!
//! In a plain bracket nothing waits, so it belongs to the run at hand. One that waits is two operations around the
//! function. In a request that is given up, `leave` is called if the function ends in time; else what `enter` gave is
//! dropped.
//!
//! The function may have failed for lack of memory, so a `leave` asks for no more of the stack than LuaJIT gives to
//! each function in C, unless its token is a table.

use crate::values::value;
use crate::vm::bind::arguments::{arguments, message};
use crate::vm::bind::callback::Functions;
use crate::vm::bind::called_by;
use crate::vm::bind::results::{give_result, row};
use crate::vm::bind::row::{BoundRow, OpenBracket};
use crate::vm::bind::wait::{can_wait, cannot_wait, wait_for, yield_to_host};
use crate::vm::isolate::current;
use crate::vm::isolate::room::{make_room, need_room};
use crate::vm::state::{State, guard};
use mlua_sys::lua51::*;
use sampan_host::ends::{end_bracket, end_fill};
use sampan_host::module::BracketEnd;
use sampan_host::{Error, ErrorKind, FunctionKind, Value};
use std::ffi::c_int;

/// Reads the token, which is argument 1 of a `leave`.
unsafe fn token(state: State) -> Result<Value, Error> {
    // SAFETY: this C function runs in the state. Only tables need more of the stack than it has.
    unsafe {
        if lua_type(state, 1) == LUA_TTABLE {
            make_room(state, value::STACK_SLOTS)?;
        }
        value::read(state, 1)
    }
}

/// Notes that a bracket is open in the running coroutine.
fn open(row: BoundRow, state: State) {
    let open = OpenBracket { row, state };
    current().brackets.borrow_mut().push(open);
}

/// The `enter` of a bracket: pushes nothing and its token. Where it has to wait and can, the coroutine is suspended;
/// what comes back is whether that succeeded, then the token or the error, and the prelude calls [`note_open`].
pub(crate) unsafe extern "C-unwind" fn call_enter(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        let mut waits = false;
        let result = called_by(state, || {
            let row = row(state);
            let (enter, later) = match row.function.kind {
                FunctionKind::Bracket { enter, later, .. } => (enter, later),
                FunctionKind::WaitingBracket { enter, .. } => (enter, None),
                _ => return Ok(Value::Null),
            };
            let context = &current().context;
            let args = arguments(state, row, Functions::new())?
                .waiting(later.is_some() && can_wait(state));
            let may_wait = args.may_wait();
            match (enter(context, args), later) {
                (Err(error), Some(later)) if may_wait && error.kind() == ErrorKind::TooLong => {
                    // The arguments are still on the stack.
                    wait_for(later(context, arguments(state, row, Functions::new())?));
                    waits = true;
                    Ok(Value::Null)
                }
                (entered, _) => {
                    let token = entered?;
                    open(row, state);
                    Ok(token)
                }
            }
        });
        if waits {
            return yield_to_host(state);
        }
        lua_pushnil(state);
        1 + give_result(state, result)
    }
}

/// Notes that a bracket that had to wait goes on.
pub(crate) unsafe extern "C-unwind" fn note_open(state: State) -> c_int {
    // SAFETY: reads the upvalues; a panic is of no use to the script.
    unsafe {
        let _ = guard(|| {
            open(row(state), state);
            Ok(())
        });
    }
    0
}

/// The `leave` of a bracket: called with what `enter` returned and whether the function succeeded.
pub(crate) unsafe extern "C-unwind" fn call_leave(state: State) -> c_int {
    // SAFETY: the body runs within `called_by`; `give_result` moves what it gives into the isolate before it may raise.
    unsafe {
        let result = called_by(state, || {
            let row = row(state);
            current().brackets.borrow_mut().pop();
            let token = token(state)?;
            let succeeded = lua_toboolean(state, 2) != 0;
            let FunctionKind::Bracket { leave, .. } = row.function.kind else {
                return Ok(Value::Null);
            };
            match leave(&current().context, token, succeeded) {
                // The function's error is more telling than that of `leave` on top of it.
                Err(error) if !succeeded => (current().report)(error),
                left => left?,
            }
            Ok(Value::Null)
        });
        give_result(state, result)
    }
}

/// The `leave` of a bracket whose end may wait: pushes nothing, or suspends the coroutine. What comes back then is as
/// for an asynchronous row.
pub(crate) unsafe extern "C-unwind" fn call_leave_waiting(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        let mut waits = false;
        let result = called_by(state, || {
            let row = row(state);
            current().brackets.borrow_mut().pop();
            let token = token(state)?;
            let ending = BracketEnd {
                succeeded: lua_toboolean(state, 2) != 0,
                may_wait: can_wait(state),
            };
            let FunctionKind::WaitingBracket { leave, .. } = row.function.kind else {
                return Ok(Value::Null);
            };
            match leave(&current().context, token, ending) {
                Err(error) if !ending.succeeded => (current().report)(error),
                left => {
                    let Some(left) = left? else {
                        return Ok(Value::Null);
                    };
                    if let Some(why) = cannot_wait(state) {
                        return Err(Error::script(format!("{}: {why}", row.name())));
                    }
                    let report = current().report.clone();
                    wait_for(end_bracket(left, ending.succeeded, report));
                    waits = true;
                }
            }
            Ok(Value::Null)
        });
        if waits {
            return yield_to_host(state);
        }
        lua_pushnil(state);
        1 + give_result(state, result)
    }
}

/// The `leave` of a bracket that waits, or of a row that has a function make a value: suspends the coroutine. What
/// comes back is as for an asynchronous row.
pub(crate) unsafe extern "C-unwind" fn call_leave_later(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        let begun = called_by(state, || {
            let row = row(state);
            let token = token(state)?;
            let succeeded = lua_toboolean(state, 2) != 0;
            if !can_wait(state) {
                // The coroutine could wait when it was entered, so the script has resumed it elsewhere.
                let text = format!("{}: cannot end here", row.name());
                return Err(Error::script(text));
            }
            let context = &current().context;
            wait_for(match row.function.kind {
                FunctionKind::AsyncBracket { leave, .. } => {
                    let left = leave(context, token, succeeded);
                    end_bracket(left, succeeded, current().report.clone())
                }
                FunctionKind::Fill { leave, .. } => {
                    let made = succeeded.then(|| {
                        make_room(state, value::STACK_SLOTS)?;
                        message(state, 3)
                    });
                    let made = made.transpose();
                    let made = made.map_err(|error| {
                        let text = format!("{}: the result: {}", row.name(), error.message());
                        Error::new(error.kind(), text)
                    });
                    end_fill(|made| leave(context, token, made), made)
                }
                _ => return Err(Error::script("not a bracket that waits")),
            });
            Ok(())
        });
        match begun {
            Ok(()) => yield_to_host(state),
            Err(error) => give_result(state, Err(error)),
        }
    }
}

/// `host.check_yield()`: raises if the running coroutine is a handler's, or would leave a bracket that is open in it.
pub(crate) unsafe extern "C-unwind" fn check_yield(state: State) -> c_int {
    // SAFETY: the borrow ends within `guard`, and the error is moved into the isolate before it is raised.
    unsafe {
        let core = current();
        let checked = guard(|| {
            if core.running.get() == state {
                let text = "coroutine.yield: not inside a coroutine of your own";
                return Err(Error::script(text));
            }
            let brackets = core.brackets.borrow();
            match brackets.iter().rev().find(|open| open.state == state) {
                None => Ok(Value::Null),
                Some(open) => Err(Error::script(format!(
                    "coroutine.yield: cannot yield out of {}",
                    open.name()
                ))),
            }
        });
        match checked {
            Ok(_) => 0,
            failed => give_result(state, failed),
        }
    }
}
