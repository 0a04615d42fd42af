//! A string that is sent from where it lies.
//!
//! Lua does not move strings, and one that the registry refers to is not collected. A client that reads slowly keeps it
//! alive meanwhile, in the memory of the isolate, which has its limit; a stream has one such chunk at a time.

use crate::vm::isolate::Core;
use crate::vm::state::{State, text_at};
use mlua_sys::lua51::*;
use std::ffi::c_int;
use std::rc::Rc;

/// Shorter strings are copied: that is quicker than to keep track of them. The HTTP engine copies such chunks anyway.
pub(crate) const LENT_BYTES_MIN: usize = 16 * 1024;

/// A string in the registry. Dropping it without [`LentText::lend`] or [`LentText::release`] leaves the string there.
pub(crate) struct LentText {
    anchor: c_int,
    start: *const u8,
    length: usize,
}

impl LentText {
    /// Keeps the string at `index`. May raise for lack of memory.
    pub(crate) unsafe fn keep(state: State, index: c_int) -> Self {
        // SAFETY: under protection; nothing with a destructor is alive.
        unsafe {
            let text = text_at(state, index);
            lua_pushvalue(state, index);
            Self {
                anchor: luaL_ref(state, LUA_REGISTRYINDEX),
                start: text.as_ptr(),
                length: text.len(),
            }
        }
    }

    /// The bytes, for as long as the result lives.
    pub(crate) fn lend(self, core: &Rc<Core>) -> Box<dyn AsRef<[u8]>> {
        Box::new(Lent {
            text: self,
            core: core.clone(),
        })
    }

    /// Lets the string go.
    pub(crate) fn release(&self, core: &Core) {
        // SAFETY: `luaL_unref` writes to two existing integer slots of the registry; it neither allocates nor raises.
        unsafe { luaL_unref(core.state, LUA_REGISTRYINDEX, self.anchor) };
    }
}

struct Lent {
    text: LentText,
    core: Rc<Core>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the registry keeps the string, and the core the registry, until this is dropped.
        unsafe { std::slice::from_raw_parts(self.text.start, self.text.length) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.text.release(&self.core);
    }
}
