//! Counts the collections of garbage.
//!
//! LuaJIT does not tell when it collects. But each full collection finalizes the userdata that it finds without a
//! reference: one of ours counts it, and makes the one that the next collection finds.

use crate::vm::isolate::{Core, current_or_null};
use crate::vm::state::{State, push_ref};
use mlua_sys::lua51::*;
use std::cell::Cell;
use std::ffi::c_int;

/// The collections of an isolate.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    count: Cell<u64>,
    /// Registry references: the metatable of the userdata, and the function that makes one.
    meta: Cell<c_int>,
    renew: Cell<c_int>,
    /// True if there was no memory for the next userdata.
    is_lost: Cell<bool>,
}

impl Core {
    /// Begins to count. May raise; called under protection.
    pub(crate) unsafe fn count_collections(&self, state: State) {
        // SAFETY: under protection; nothing on this frame has a destructor. The pointer to the core is compared before
        // it is followed.
        unsafe {
            lua_createtable(state, 0, 1);
            lua_pushlightuserdata(state, std::ptr::from_ref(self).cast_mut().cast());
            lua_pushcclosure(state, collected, 1);
            lua_setfield(state, -2, c"__gc".as_ptr());
            self.collections
                .meta
                .set(luaL_ref(state, LUA_REGISTRYINDEX));
            lua_pushcfunction(state, renew);
            lua_pushvalue(state, -1);
            self.collections
                .renew
                .set(luaL_ref(state, LUA_REGISTRYINDEX));
            lua_call(state, 0, 0);
        }
    }

    /// Returns the number since the last call.
    pub(crate) fn take_collections(&self) -> u64 {
        if self.collections.is_lost.get() && self.protected(u32::MAX, renew, &mut ()).is_ok() {
            self.collections.is_lost.set(false);
        }
        self.collections.count.take()
    }
}

/// Makes a userdata that nothing refers to.
unsafe extern "C-unwind" fn renew(state: State) -> c_int {
    // SAFETY: it may raise for lack of memory; nothing on this frame has a destructor. The isolate is entered.
    unsafe {
        let core = current_or_null();
        if !core.is_null() {
            lua_newuserdata(state, 1);
            push_ref(state, (*core).collections.meta.get());
            lua_setmetatable(state, -2);
        }
        0
    }
}

/// `__gc`: a collection has found the userdata. When a whole state ends, nothing is counted.
unsafe extern "C-unwind" fn collected(state: State) -> c_int {
    // SAFETY: the metatable is only on userdata of ours; the upvalue is compared before it is followed. What raises is
    // called under protection.
    unsafe {
        let core = current_or_null();
        if !core.is_null() && lua_touserdata(state, lua_upvalueindex(1)).cast_const() == core.cast()
        {
            let collections = &(*core).collections;
            collections.count.set(collections.count.get() + 1);
            push_ref(state, collections.renew.get());
            collections.is_lost.set(lua_pcall(state, 0, 0, 0) != LUA_OK);
        }
        0
    }
}
