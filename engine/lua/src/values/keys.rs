//! The classification of a table by its keys: a list or a map.

use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::ffi::c_int;

/// The summary of the keys of a table make of it.
pub(super) struct KeySummary {
    pub(super) count: usize,
    /// Of the list that it is.
    pub(super) length: Option<usize>,
    /// True if 1 is among the keys.
    pub(super) has_first: bool,
}

impl KeySummary {
    pub(super) unsafe fn of(state: State, index: c_int) -> Self {
        let (mut count, mut length, mut has_first, mut is_list) = (0, 0, false, true);
        // SAFETY: `lua_next` with the table unchanged does not raise.
        unsafe {
            lua_pushnil(state);
            while lua_next(state, index) != 0 {
                lua_pop(state, 1);
                count += 1;
                let key = lua_tonumber(state, -1);
                if lua_type(state, -1) == LUA_TNUMBER && key >= 1.0 && key.fract() == 0.0 {
                    // A number that is too large for a list stays so when it is cast.
                    length = length.max(key as usize);
                    has_first |= key == 1.0;
                } else {
                    is_list = false;
                }
            }
        }
        let length = (is_list && count > 0 && length <= 2 * count + HOLES_MAX).then_some(length);
        Self {
            count,
            length,
            has_first,
        }
    }
}

/// The most holes that a list may have beyond as many as it has items.
const HOLES_MAX: usize = 8;
