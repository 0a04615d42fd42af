//! Bodies that a script reads as they come: the coroutine is suspended for each piece.
//!
//! The prelude makes `req:chunks()` of these, and the forms of `req:json()` and the like that wait for the end of such
//! a body first.

use crate::request::object::view_at;
use crate::vm::bind::wait::{cannot_wait, yield_to_host};
use crate::vm::isolate::{Wait, current};
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, push_text};
use mlua_sys::lua51::*;
use sampan_host::{BodySource, Error, LocalFuture, Value};
use std::ffi::c_int;

/// The advice for a script that takes such a body for one that is here.
pub(crate) const ADVICE: &str = "for chunk in req:chunks() do ... end";

/// Reports whether the body of the request at `index` is read as it comes. No Lua call that raises.
pub(crate) unsafe fn is_streamed(state: State, index: c_int) -> bool {
    // SAFETY: reads only; the caller has room for one value.
    unsafe { view_at(state, index) }.is_ok_and(|view| view.body_source().is_some())
}

/// `host.open_body(req)`: the body if it is here, nil if it is read as it comes; that is then begun.
pub(crate) unsafe extern "C-unwind" fn open(state: State) -> c_int {
    // SAFETY: two stages; the body lives as long as the request in the slab, and is copied by Lua.
    unsafe {
        let opened = guard(|| {
            let view = view_at(state, 1)?;
            match view.body_source() {
                Some(source) => source.begin().map(|()| None),
                None => Ok(Some(std::ptr::from_ref(view.body()))),
            }
        });
        match opened {
            Ok(Some(body)) => push_text(state, &*body),
            Ok(None) => lua_pushnil(state),
            Err(error) => {
                *current().result.get() = Some(Err(error));
                raise_result(state);
            }
        }
        1
    }
}

/// `host.read_chunk(req)`: suspends. What comes back is whether that succeeded, then the chunk, nil at the end, or the
/// error.
pub(crate) unsafe extern "C-unwind" fn read_chunk(state: State) -> c_int {
    // SAFETY: Lua calls this under protection with room for `LUA_MINSTACK` values, as `wait_for` needs.
    unsafe { wait_for(state, BodySource::read) }
}

/// `host.read_whole(req)`: the same for all of the body, which the request has from then on. At once if it has that
/// already.
pub(crate) unsafe extern "C-unwind" fn read_whole(state: State) -> c_int {
    // SAFETY: Lua calls this under protection with room for `LUA_MINSTACK` values, as `wait_for` needs. The view is
    // dropped before anything is pushed.
    unsafe {
        let is_here = |source: &BodySource| source.whole().is_some();
        if view_at(state, 1).is_ok_and(|view| view.body_source().is_some_and(is_here)) {
            lua_pushboolean(state, 1);
            return 1;
        }
        wait_for(state, |source| source.read_whole(&current().limits))
    }
}

/// Begins to read, and suspends the coroutine. To be returned from a C function.
unsafe fn wait_for(
    state: State,
    read: impl FnOnce(&BodySource) -> LocalFuture<Result<Value, Error>>,
) -> c_int {
    // SAFETY: two stages; the future is moved into the isolate before the coroutine yields.
    unsafe {
        let core = current();
        let begun = guard(|| {
            let view = view_at(state, 1)?;
            if let Some(why) = cannot_wait(state) {
                return Err(Error::script(format!("the body of the request: {why}")));
            }
            let over = || Error::script("the body has been read");
            let source = view.body_source().ok_or_else(over)?;
            *core.wait.borrow_mut() = Some(Wait::Operation(read(source)));
            Ok(())
        });
        if let Err(error) = begun {
            *core.result.get() = Some(Err(error));
            raise_result(state);
        }
        yield_to_host(state)
    }
}
