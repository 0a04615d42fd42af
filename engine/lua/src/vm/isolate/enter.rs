//! The way into a Lua state, and its end.

use super::{CURRENT, Core};
use crate::vm::error::{self, UncaughtError};
use crate::vm::isolate::samples;
use crate::vm::limits;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::ffi::{c_int, c_void};
use std::ptr;

impl Core {
    /// Calls `function` with a pointer to `data` under protection: the only way from Rust into Lua. `handler` names
    /// what runs, for the log of a runaway.
    pub(crate) fn protected<T>(
        &self,
        handler: u32,
        function: lua_CFunction,
        data: &mut T,
    ) -> Result<(), UncaughtError> {
        let outer = CURRENT.replace(self);
        self.watch.enter(handler);
        self.calling.set(ptr::null_mut());
        let state = self.state;
        // SAFETY: the main thread's stack is empty between calls and `LUA_MINSTACK` deep.
        let (top, status) = unsafe { (lua_gettop(state), self.pcall(state, function, data)) };
        let stopped = self.watch.leave();
        if stopped {
            // SAFETY: the state lives as long as `self`. A hook may be removed at any time, also within another call.
            unsafe { limits::clear(state) };
        }
        let result = if stopped {
            Err(UncaughtError(self.limits.stopped(self.watch.cause())))
        } else if status == LUA_OK {
            Ok(())
        } else {
            // SAFETY: after a failed `lua_pcall` the error value is on top.
            Err(unsafe { error::from_top(state, state, status) })
        };
        // SAFETY: shrinking the stack back to where it was.
        unsafe { lua_settop(state, top) };
        CURRENT.set(outer);
        result
    }

    /// Calls `function` with a pointer to `data` on `state`, which has room for three values: the status, with the
    /// error on top if it failed.
    pub(crate) unsafe fn pcall<T>(
        &self,
        state: State,
        function: lua_CFunction,
        data: &mut T,
    ) -> c_int {
        // SAFETY: pushes a function and a light pointer. `lua_pcall` catches whatever is raised. Before the prelude has
        // run there is no registry entry for `call_data` and the closure is made on the spot; that can raise only on
        // lack of memory at start.
        unsafe {
            if self.refs.get().run == 0 {
                lua_pushcfunction(state, call_data);
            } else {
                lua_rawgeti(state, LUA_REGISTRYINDEX, i64::from(self.refs.get().run));
            }
            let mut packed = PackedCall {
                function,
                data: (&raw mut *data).cast(),
            };
            lua_pushlightuserdata(state, (&raw mut packed).cast());
            lua_pcall(state, 1, 0, 0)
        }
    }

    /// Collects all garbage, and says how much must be in use before that is worth doing again.
    pub(crate) fn collect(&self) {
        unsafe extern "C-unwind" fn run(state: State) -> c_int {
            // SAFETY: called under protection with a valid state.
            unsafe { lua_gc(state, LUA_GCCOLLECT, 0) };
            0
        }
        if self.protected(u32::MAX, run, &mut ()).is_err() {
            self.worn_out.set(true);
        }
        let used = self.memory.used();
        let max = self.limits.memory_bytes_max;
        self.collect_at.set((used + used / 2).max(max / 2));
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: the state was made by `lua_newstate` on this thread, as `Core` is not `Send`. Nothing uses it any
        // more: suspended calls hold an `Rc` of the core.
        unsafe {
            samples::release(self.state);
            lua_close(self.state);
        }
    }
}

struct PackedCall {
    function: lua_CFunction,
    data: *mut c_void,
}

/// The function behind [`Core::protected`]: unpacks the light pointer and calls what it names, with the data as its
/// only argument.
unsafe extern "C-unwind" fn call_data(state: State) -> c_int {
    // SAFETY: the argument is the pointer that `protected` pushed, alive until it returns.
    unsafe {
        let packed = lua_touserdata(state, 1).cast::<PackedCall>();
        lua_settop(state, 0);
        lua_pushlightuserdata(state, (*packed).data);
        ((*packed).function)(state)
    }
}

/// Makes the registry entry that `protected` uses. Called once, under protection.
pub(crate) unsafe fn anchor_entry(state: State) -> c_int {
    // SAFETY: the caller runs under protection, and nothing on this frame has a destructor that an error would skip.
    unsafe {
        lua_pushcfunction(state, call_data);
        luaL_ref(state, LUA_REGISTRYINDEX)
    }
}
