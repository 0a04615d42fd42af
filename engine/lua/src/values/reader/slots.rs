//! Moving slots to and from Lua's stack, and the tools of readers.

use crate::values::layout::{StackSlot, Table};
use crate::vm::bind::row::BoundRow;
use crate::vm::isolate::Core;
use crate::vm::state::{State, push_ref};
use mlua_sys::lua51::*;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;

/// A list of slots. No reference into it leaves its methods, and they call nothing else.
#[derive(Default)]
pub(super) struct SlotList(UnsafeCell<Vec<StackSlot>>);

impl SlotList {
    pub(super) fn with_room(count: usize) -> Self {
        Self(UnsafeCell::new(Vec::with_capacity(count)))
    }

    pub(super) fn len(&self) -> usize {
        // SAFETY: no other reference into the list is there: each ends in its method, which calls nothing else.
        unsafe { (*self.0.get()).len() }
    }

    /// The slot at a place; nil beyond the end.
    #[inline]
    pub(super) fn get(&self, at: usize) -> StackSlot {
        // SAFETY: no other reference into the list is there: each ends in its method, which calls nothing else.
        let slots = unsafe { &*self.0.get() };
        slots.get(at).copied().unwrap_or(StackSlot::NIL)
    }

    pub(super) fn set(&self, at: usize, slot: StackSlot) {
        // SAFETY: no other reference into the list is there: each ends in its method, which calls nothing else.
        let slots = unsafe { &mut *self.0.get() };
        if slots.len() <= at {
            slots.resize(at + 1, StackSlot::NIL);
        }
        slots[at] = slot;
    }

    #[inline]
    pub(super) fn push(&self, slot: StackSlot) -> usize {
        // SAFETY: no other reference into the list is there: each ends in its method, which calls nothing else.
        let slots = unsafe { &mut *self.0.get() };
        slots.push(slot);
        slots.len() - 1
    }

    pub(super) fn extend(&self, added: &[StackSlot]) {
        // SAFETY: no other reference into the list is there: each ends in its method, which calls nothing else.
        unsafe { (*self.0.get()).extend_from_slice(added) };
    }

    pub(super) fn truncate(&self, count: usize) {
        // SAFETY: no other reference into the list is there: each ends in its method, which calls nothing else.
        unsafe { (*self.0.get()).truncate(count) };
    }
}

/// Room for so many handles is made at once.
pub(super) const HANDLES_AT_ONCE: usize = 64;

/// Reads values for one call of a row.
pub(crate) struct LuaReader<'a> {
    pub(super) core: &'a Core,
    /// The coroutine that has called the row. Its stack is as the row found it whenever a method of this runs.
    pub(super) state: State,
    /// The row that reads.
    pub(super) row: BoundRow,
    /// The slots of the handles.
    pub(super) slots: SlotList,
    /// The number of the first slots that the arguments on the stack or the table of anchors keep alive.
    pub(super) anchored: Cell<usize>,
    /// Under which key the table of anchors has the first slot, and how many it has had.
    pub(super) first_anchor: usize,
    pub(super) most_anchored: Cell<usize>,
    /// The number of the first handles that stay, because their bytes are being shown.
    pub(super) shown: Cell<usize>,
    pub(super) until_check: Cell<u32>,
    pub(super) outer: *const LuaReader<'static>,
}

/// The registry entries of readers, and the names that were asked for.
#[derive(Default)]
pub(crate) struct ReaderTools {
    /// The innermost reader; null where none is.
    pub(super) innermost: Cell<*const LuaReader<'static>>,
    /// A table with room for two values, through which slots get onto the stack and off it.
    pub(super) exchange: Cell<c_int>,
    /// The strings of names, which the registry's table of that number keeps alive, by their number.
    pub(super) names: SlotList,
    pub(super) names_ref: Cell<c_int>,
    /// `app.null`.
    pub(super) null: Cell<StackSlot>,
    /// A table of what the readers found before script ran, those of the innermost last.
    pub(super) anchors: Cell<c_int>,
}

impl ReaderTools {
    /// Puts the tools into the registry. Under protection, once.
    pub(crate) unsafe fn install(&self, state: State) {
        // SAFETY: the caller runs under protection, and an error skips no destructor: this frame has none.
        unsafe {
            for (reference, room) in [
                (&self.exchange, 2),
                (&self.names_ref, 0),
                (&self.anchors, HANDLES_AT_ONCE),
            ] {
                lua_createtable(state, room as c_int, 0);
                reference.set(luaL_ref(state, LUA_REGISTRYINDEX));
            }
            lua_createtable(state, 1, 0);
            lua_pushlightuserdata(state, std::ptr::null_mut());
            lua_rawseti(state, -2, 1);
            self.null.set(Table::at(state, -1).array()[1]);
            lua_pop(state, 1);
        }
    }
}

impl LuaReader<'_> {
    fn push_exchange(&self) {
        // SAFETY: reads the registry; the caller of the row has made room.
        unsafe { push_ref(self.state, self.core.reader_tools.exchange.get()) };
    }

    /// Pushes a slot.
    pub(super) fn push(&self, slot: StackSlot) {
        let state = self.state;
        self.push_exchange();
        // SAFETY: the table of exchange has a slot under 1 in its array part, which nothing else uses meanwhile. It
        // holds the value only until that is on the stack. The collector does not run in between, so no barrier is due.
        unsafe {
            let place = Table::at(state, -1).place(1);
            place.write(slot);
            lua_rawgeti(state, -1, 1);
            place.write(StackSlot::NIL);
            lua_remove(state, -2);
        }
    }

    /// Takes the value on top off the stack. Something else must keep it alive.
    pub(super) fn pop(&self) -> StackSlot {
        let state = self.state;
        self.push_exchange();
        // SAFETY: the caller of the row has made room. The slot of the array part exists, so setting it neither
        // allocates nor raises.
        unsafe {
            lua_insert(state, -2);
            lua_rawseti(state, -2, 1);
            let slot = Table::at(state, -1).array()[1];
            lua_pushnil(state);
            lua_rawseti(state, -2, 1);
            lua_pop(state, 1);
            slot
        }
    }

    /// Asks Lua about a value by a function that neither raises nor allocates.
    pub(super) fn ask<R>(&self, slot: StackSlot, ask: impl FnOnce(State, c_int) -> R) -> R {
        self.push(slot);
        // SAFETY: looks at the stack, and shrinks it to where it was.
        unsafe {
            let top = lua_gettop(self.state);
            let answer = ask(self.state, top);
            lua_settop(self.state, top - 1);
            answer
        }
    }
}
