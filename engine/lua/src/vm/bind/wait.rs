//! Waiting in the middle of a call: the coroutine yields to the host.

use crate::vm::isolate::{Wait, current};
use crate::vm::state::{State, push_mark};
use mlua_sys::lua51::*;
use sampan_host::{Error, LocalFuture, Value};
use std::ffi::{CStr, c_int};

unsafe extern "C-unwind" {
    /// LuaJIT's: whether the running coroutine can yield here.
    pub(crate) fn lua_isyieldable(state: State) -> c_int;
}

/// The error of waiting in the wrong place is answered with.
pub(crate) const CANNOT_WAIT: &CStr =
    c"cannot wait here: not while a file loads (app.on_start may wait), and not inside a function that is called back, \
     as by table.sort or string.gsub";

/// Returns the reason why the running coroutine cannot wait; `None` if it can.
pub(crate) unsafe fn cannot_wait(state: State) -> Option<String> {
    let core = current();
    if let Some(open) = core.brackets.borrow().last() {
        return Some(format!("cannot wait inside {}", open.name()));
    }
    // SAFETY: the state is that of the running coroutine, which is all that `can_wait` needs.
    if unsafe { can_wait(state) } {
        return None;
    }
    Some(match core.called_back_by.get() {
        Some(row) => format!(
            "cannot wait here: not inside a function that {} calls",
            row.name()
        ),
        None => CANNOT_WAIT.to_string_lossy().into_owned(),
    })
}

/// Reports whether the running coroutine can wait.
pub(crate) unsafe fn can_wait(state: State) -> bool {
    let core = current();
    // SAFETY: the caller passes the state of the coroutine that runs, and this only looks at it.
    core.brackets.borrow().is_empty()
        && unsafe { lua_isyieldable(state) } != 0
        && core.is_loaded.get()
}

/// Suspends the running coroutine, and every one around it, up to the host. To be returned from a C function.
pub(crate) unsafe fn yield_to_host(state: State) -> c_int {
    // SAFETY: the caller has asked `lua_isyieldable` and returns this at once.
    unsafe {
        push_mark(state);
        lua_yield(state, 1)
    }
}

/// Leaves what the coroutine waits for, which is to yield next.
pub(crate) fn wait_for(operation: LocalFuture<Result<Value, Error>>) {
    *current().wait.borrow_mut() = Some(Wait::Operation(operation));
}
