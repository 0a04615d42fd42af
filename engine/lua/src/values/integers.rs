//! Whole numbers for scripts.

use crate::vm::isolate::current;
use crate::vm::state::{State, push_ref};
use mlua_sys::lua51::*;

/// Pushes an integer: a number where that is exact, an `int64_t` otherwise.
pub(crate) unsafe fn push_i64(state: State, value: i64) {
    const EXACT_MAX: u64 = (1 << 53) - 1;
    // SAFETY: the maker is a function of the prelude that only does arithmetic.
    unsafe {
        if value.unsigned_abs() <= EXACT_MAX {
            lua_pushnumber(state, value as f64);
            return;
        }
        push_ref(state, current().refs.get().make_int64);
        lua_pushnumber(state, (value >> 32) as f64);
        lua_pushnumber(state, (value & 0xffff_ffff) as f64);
        lua_call(state, 2, 1);
    }
}
