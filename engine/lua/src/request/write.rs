//! The `write` by which a script produces the body of an answer.

use crate::request::lent::{LENT_BYTES_MIN, LentText};
use crate::vm::bind::wait::{cannot_wait, yield_to_host};
use crate::vm::isolate::{Wait, current};
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, text_at};
use mlua_sys::lua51::*;
use sampan_host::Error;
use std::ffi::c_int;

/// The `write` that a stream function is given.
pub(crate) unsafe extern "C-unwind" fn write(state: State) -> c_int {
    // SAFETY: the chunk is copied into the isolate before the coroutine yields.
    unsafe {
        if lua_type(state, 1) != LUA_TSTRING {
            luaL_error(state, c"write: the chunk must be a string".as_ptr());
        }
        let reason = guard(|| Ok(cannot_wait(state)));
        if !matches!(reason, Ok(None)) {
            let result = reason.and_then(|why| {
                let why = why.unwrap_or_default();
                Err(Error::script(format!("write: {why}")))
            });
            *current().result.get() = Some(result);
            raise_result(state);
        }
        let chunk = text_at(state, 1);
        if chunk.is_empty() {
            return 0;
        }
        if chunk.len() > LENT_BYTES_MIN {
            let lent = LentText::keep(state, 1);
            *current().wait.borrow_mut() = Some(Wait::Lent(lent));
        } else {
            let _ = guard(|| {
                *current().wait.borrow_mut() = Some(Wait::Chunk(chunk.to_vec()));
                Ok(())
            });
        }
        yield_to_host(state)
    }
}
