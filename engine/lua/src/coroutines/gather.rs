//! `app.gather`: several functions of a handler wait at the same time. `gather.lua` runs their coroutines; the
//! functions here keep what these wait for, and have the handler wait for all of it.

use crate::coroutines::gathered::{Gathered, Operation};
use crate::vm::bind::wait::{cannot_wait, wait_for, yield_to_host};
use crate::vm::isolate::{Wait, current, live, live_mut};
use crate::vm::raise::{push_error, raise_result};
use crate::vm::state::{State, guard};
use mlua_sys::lua51::*;
use sampan_host::limits::CANCELLED;
use sampan_host::{Error, ErrorKind};
use std::ffi::c_int;
use std::future::{poll_fn, ready};
use std::rc::Rc;

/// The most functions that one `app.gather` takes.
pub(crate) const GATHERED_FUNCTIONS_MAX: usize = 64;

/// The most calls of `app.gather` that one request has open, each inside of another.
const GATHERS_MAX: usize = 64;

/// The number at an argument, as an index.
unsafe fn index_at(state: State, argument: c_int) -> usize {
    // SAFETY: reading the number of an argument changes and raises nothing. The conversion saturates.
    unsafe { lua_tonumber(state, argument) as usize }
}

/// The waits whose number is argument 1.
unsafe fn gathered_at(state: State) -> Result<Rc<Gathered>, Error> {
    // SAFETY: `index_at` reads a number and raises nothing.
    let number = unsafe { index_at(state, 1) };
    let core = current();
    let requests = core.requests.borrow();
    let live = live(&requests, core.request.get());
    let gathered = live.and_then(|live| live.gathered.get(number));
    gathered.cloned().ok_or_else(is_over)
}

#[cold]
fn is_over() -> Error {
    Error::script("app.gather: the request that it belongs to is over")
}

/// Returns an error where the running coroutine cannot wait.
unsafe fn check_wait(state: State) -> Result<(), Error> {
    // SAFETY: the state is that of the running coroutine.
    match unsafe { cannot_wait(state) } {
        Some(why) => Err(Error::script(format!("app.gather: {why}"))),
        None => Ok(()),
    }
}

/// Second stage of a function that failed.
unsafe fn raise(state: State, error: Error) -> ! {
    // SAFETY: the error is moved into the isolate, so nothing on this frame has to be dropped.
    unsafe {
        *current().result.get() = Some(Err(error));
        raise_result(state)
    }
}

/// `host.open_gather(count)`: the number of the waits of so many functions. Raises where the coroutine cannot wait.
pub(crate) unsafe extern "C-unwind" fn open(state: State) -> c_int {
    // SAFETY: two stages; pushing a number raises nothing.
    unsafe {
        let opened = guard(|| {
            check_wait(state)?;
            let core = current();
            let mut requests = core.requests.borrow_mut();
            let live = live_mut(&mut requests, core.request.get()).ok_or_else(is_over)?;
            if live.gathered.len() >= GATHERS_MAX {
                return Err(Error::script(format!(
                    "app.gather: a request has at most {GATHERS_MAX} of them open, each inside of another"
                )));
            }
            let gathered = Gathered::new(index_at(state, 1));
            Ok(live.gathered.insert(Rc::new(gathered)))
        });
        match opened {
            Ok(number) => lua_pushnumber(state, number as f64),
            Err(error) => raise(state, error),
        }
        1
    }
}

/// `host.close_gather(number)`: no function of it runs any more.
pub(crate) unsafe extern "C-unwind" fn close(state: State) -> c_int {
    // SAFETY: all runs within `guard`, and a number is only read: nothing is pushed, and nothing raises.
    unsafe {
        let _ = guard(|| {
            let (core, number) = (current(), index_at(state, 1));
            let mut requests = core.requests.borrow_mut();
            let live = live_mut(&mut requests, core.request.get());
            let gone = live.and_then(|live| live.gathered.try_remove(number));
            drop(requests);
            drop(gone);
            Ok(())
        });
        0
    }
}

/// `host.keep_wait(number, at)`: keeps the wait of the function at this place, whose coroutine has just yielded to the
/// host.
pub(crate) unsafe extern "C-unwind" fn keep(state: State) -> c_int {
    // SAFETY: all runs within `guard`, and numbers are only read: nothing is pushed, and nothing raises.
    unsafe {
        let _ = guard(|| {
            let wait = current().wait.borrow_mut().take();
            let operation: Operation = match wait {
                Some(Wait::Operation(operation)) => operation,
                wait => {
                    if let Some(Wait::Lent(text)) = wait {
                        text.release(current());
                    }
                    let text = "write: not inside a function of app.gather: return the chunk, and write it behind";
                    Box::pin(ready(Err(Error::script(text))))
                }
            };
            gathered_at(state)?.set(index_at(state, 2), Some(operation));
            Ok(())
        });
        0
    }
}

/// `host.drop_wait(number, at)`: gives the wait of the function at this place up.
pub(crate) unsafe extern "C-unwind" fn drop_wait(state: State) -> c_int {
    // SAFETY: all runs within `guard`, and numbers are only read: nothing is pushed, and nothing raises.
    unsafe {
        let _ = guard(|| {
            gathered_at(state)?.set(index_at(state, 2), None);
            Ok(())
        });
        0
    }
}

/// `host.wait_gather(number)`: suspends the coroutine until one of the waits has ended. The results are those of an
/// asynchronous row: true and the value, or false and the error.
pub(crate) unsafe extern "C-unwind" fn wait(state: State) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        let begun = guard(|| {
            check_wait(state)?;
            let gathered = gathered_at(state)?;
            gathered.begin();
            let (core, request) = (current().me(), current().request.get());
            wait_for(Box::pin(poll_fn(move |cx| {
                gathered.poll(cx, || {
                    // An operation before may have run something else.
                    if let Some(core) = core.upgrade() {
                        core.request.set(request);
                    }
                })
            })));
            Ok(())
        });
        match begun {
            Ok(()) => yield_to_host(state),
            Err(error) => raise(state, error),
        }
    }
}

/// `host.ended_wait(number)`: the place of the function whose wait has ended, or nil: the wait of the handler itself
/// was ended, because its request is given up.
pub(crate) unsafe extern "C-unwind" fn ended(state: State) -> c_int {
    // SAFETY: the body runs within `guard`; a C function has room for a number or nil, and pushing it raises nothing.
    unsafe {
        match guard(|| Ok(gathered_at(state)?.ended())) {
            Ok(Some(at)) => lua_pushnumber(state, at as f64),
            _ => lua_pushnil(state),
        }
        1
    }
}

/// `host.gather_cancelled(coroutine)`: the error for a function whose wait is given up because another failed.
pub(crate) unsafe extern "C-unwind" fn cancelled(state: State) -> c_int {
    // SAFETY: the error is in the isolate while it is pushed. The coroutine is on the stack, and does not run.
    unsafe {
        let thread = lua_tothread(state, 1);
        let at = if thread.is_null() { state } else { thread };
        let error = Error::new(
            ErrorKind::Unavailable,
            "another function of app.gather has failed",
        );
        *current().result.get() = Some(Err(error.with_code(CANCELLED)));
        push_error(state, Some(at));
        *current().result.get() = None;
        1
    }
}
