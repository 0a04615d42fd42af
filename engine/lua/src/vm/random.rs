//! Isolation per request: random numbers. LuaJIT has one source of them. A world that has chosen its numbers by
//! `math.randomseed` keeps the state of that source while others run, and all that have chosen none share one.

use mlua_sys::lua51::*;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::NonNull;

use crate::vm::state::State;

/// The state of the source, as LuaJIT keeps it (`PRNGState` in its `lj_def.h`).
pub(crate) type Numbers = [u64; 4];

/// The source of random numbers of an isolate whose requests have worlds of their own.
pub(crate) struct Random {
    /// The place in LuaJIT; `None` if this is a LuaJIT that keeps it elsewhere: then no world can choose its numbers.
    place: Option<NonNull<Numbers>>,
    /// The state that worlds share, while one runs that has its own.
    shared: Cell<Option<Numbers>>,
}

impl Random {
    /// The source of LuaJIT's globals at `own`. May raise.
    ///
    /// # Safety
    /// Under protection.
    pub(crate) unsafe fn of(state: State, own: c_int) -> Self {
        // SAFETY: under protection; nothing here has a destructor.
        unsafe {
            lua_getfield(state, own, c"math".as_ptr());
            lua_getfield(state, -1, c"random".as_ptr());
            let has_one = !lua_getupvalue(state, -1, 1).is_null();
            let place = match has_one && lua_objlen(state, -1) == size_of::<Numbers>() {
                true => NonNull::new(lua_touserdata(state, -1).cast()),
                false => None,
            };
            // The generator lives as long as the isolate.
            luaL_ref(state, LUA_REGISTRYINDEX);
            lua_pop(state, 2);
            Self {
                place,
                shared: Cell::new(None),
            }
        }
    }

    fn replace(&self, numbers: Numbers) -> Option<Numbers> {
        // SAFETY: LuaJIT's userdata are aligned for numbers of 64 bits and do not move; this one has that size and is
        // anchored. Scripts of the isolate, which write there too, run on this thread, and not meanwhile.
        self.place.map(|place| unsafe { place.replace(numbers) })
    }

    /// The world that runs chooses its numbers. False if it cannot.
    pub(super) fn choose(&self) -> bool {
        let Some(place) = self.place else {
            return false;
        };
        if self.shared.get().is_none() {
            // SAFETY: the place is that of the numbers of the state that runs, and stays as long as the state.
            self.shared.set(Some(unsafe { place.read() }));
        }
        true
    }

    /// The world that runs gives way to another: what it keeps until it runs again.
    pub(super) fn leave(&self) -> Option<Numbers> {
        self.shared.take().and_then(|shared| self.replace(shared))
    }

    /// A world runs that has kept this.
    pub(super) fn enter(&self, numbers: Option<Numbers>) {
        if let Some(numbers) = numbers {
            self.shared.set(self.replace(numbers));
        }
    }
}
