//! The spans of middleware and handlers, which `chain.lua` opens and ends.

use crate::request::object::view_at;
use crate::vm::state::{State, guard};
use mlua_sys::lua51::*;
use sampan_host::Error;
use sampan_host::trace::ChainSpans;
use std::ffi::c_int;
use std::rc::Rc;

/// The spans of the request at argument 1; `None` if its chain is not recorded.
unsafe fn spans_at(state: State) -> Result<Option<Rc<ChainSpans>>, Error> {
    // SAFETY: `view_at` reads argument 1 raw and raises nothing; a C function has room for its value.
    let view = unsafe { view_at(state, 1) }?;
    Ok(view.store().get())
}

/// Returns the number at an argument; `None` for another value.
unsafe fn number_at(state: State, index: c_int) -> Option<usize> {
    // SAFETY: reading the type and a number of an argument changes nothing on the stack and raises nothing.
    unsafe {
        let is_number = lua_type(state, index) == LUA_TNUMBER;
        is_number.then(|| lua_tonumber(state, index) as usize)
    }
}

/// `host.enter_span(req, step, around)`: opens the span of a step, counted from 1, within the one with the number
/// `around`. Returns its number.
pub(crate) unsafe extern "C-unwind" fn enter(state: State) -> c_int {
    // SAFETY: the body runs within `guard`; a C function has room for a number or nil, and pushing it raises nothing.
    unsafe {
        let entered = guard(|| {
            let (step, around) = (number_at(state, 2), number_at(state, 3));
            let spans = spans_at(state)?;
            Ok(spans.zip(step).map(|(spans, step)| {
                // What an error has left within the span around this one.
                spans.leave_from(around.map_or(0, |around| around + 1));
                spans.enter(step.saturating_sub(1))
            }))
        });
        match entered {
            Ok(Some(number)) => lua_pushnumber(state, number as f64),
            _ => lua_pushnil(state),
        }
        1
    }
}

/// `host.leave_span(req, span)`: ends a span, and those within it that an error has left.
pub(crate) unsafe extern "C-unwind" fn leave(state: State) -> c_int {
    // SAFETY: nothing is pushed. A request that is over has no spans.
    unsafe {
        let _ = guard(|| {
            if let (Some(spans), Some(number)) = (spans_at(state)?, number_at(state, 2)) {
                spans.leave_from(number + 1);
                spans.leave(number, false);
            }
            Ok(())
        });
        0
    }
}
