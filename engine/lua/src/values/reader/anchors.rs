//! Reader operations that run inside a protected Lua call: making names, asking metatables, and keeping alive what was
//! found while script runs.

use super::slots::LuaReader;
use crate::values::layout::StackSlot;
use crate::vm::isolate::Core;
use crate::vm::state::{State, data, push_ref, push_text};
use mlua_sys::lua51::*;
use sampan_host::reader::Name;
use sampan_host::{Error, Handle};
use std::ffi::c_int;

impl LuaReader<'_> {
    #[cold]
    pub(super) fn learn(&self, name: Name) -> Result<StackSlot, Error> {
        let mut call = NameCall {
            reader: self,
            name,
            slot: StackSlot::NIL,
        };
        self.core.nested(make_name, &mut call)?;
        self.core.reader_tools.names.set(name.number(), call.slot);
        Ok(call.slot)
    }

    /// Returns the value that Lua finds under a key: `__index` may run script.
    #[cold]
    pub(super) fn computed(&self, it: StackSlot, key: StackSlot) -> Result<Handle, Error> {
        let mut call = IndexCall {
            reader: self,
            it,
            key,
            found: StackSlot::NIL,
        };
        self.core.nested(run_index, &mut call)?;
        let handle = self.add(call.found);
        self.note_anchored(handle.number() + 1);
        Ok(handle)
    }

    /// A reference in the registry to what a slot has.
    #[cold]
    pub(super) fn keep(&self, slot: StackSlot) -> Result<c_int, Error> {
        let mut call = KeepCall {
            reader: self,
            slot,
            reference: LUA_NOREF,
        };
        self.core.nested(run_keep, &mut call)?;
        Ok(call.reference)
    }

    /// Sees to it that all that was found stays alive while script runs.
    fn anchor(&self) -> Result<(), Error> {
        let count = self.slots.len();
        if self.anchored.get() < count {
            self.core.call_inside(run_anchor, &mut { self })?;
            self.note_anchored(count);
        }
        Ok(())
    }

    fn note_anchored(&self, count: usize) {
        self.anchored.set(count);
        self.most_anchored.set(self.most_anchored.get().max(count));
    }

    /// Sets the anchor of a handle to the value on top, and takes that off the stack. `anchors` is the index of their
    /// table. Under protection.
    unsafe fn set_anchor(&self, state: State, anchors: c_int, at: usize) {
        // SAFETY: under protection. A raw write may make the table larger, but collects nothing.
        unsafe { lua_rawseti(state, anchors, (self.first_anchor + at) as i64) };
    }
}

impl Drop for LuaReader<'_> {
    fn drop(&mut self) {
        self.core.reader_tools.innermost.set(self.outer);
        if self.most_anchored.get() > 0 {
            let state = self.state;
            // SAFETY: sets keys whose values are not nil to nil, which neither allocates nor raises. A key whose value
            // is nil is left alone: a rehash may have dropped it, and setting it would make room for it, outside of
            // any protection.
            unsafe {
                push_ref(state, self.core.reader_tools.anchors.get());
                for at in 0..self.most_anchored.get() {
                    lua_rawgeti(state, -1, (self.first_anchor + at) as i64);
                    let is_there = lua_type(state, -1) != LUA_TNIL;
                    lua_pop(state, 1);
                    if is_there {
                        lua_pushnil(state);
                        self.set_anchor(state, -2, at);
                    }
                }
                lua_pop(state, 1);
            }
        }
    }
}

impl Core {
    /// To be called before script runs inside of a row.
    pub(crate) fn anchor_handles(&self) -> Result<(), Error> {
        // SAFETY: the pointer is null, or that of the innermost reader: it takes its pointer out when it is dropped, so
        // the reader is alive.
        match unsafe { self.reader_tools.innermost.get().as_ref() } {
            Some(reader) => reader.anchor(),
            None => Ok(()),
        }
    }
}

/// Under protection: puts what was found into the table of anchors.
unsafe extern "C-unwind" fn run_anchor(state: State) -> c_int {
    // SAFETY: `anchor` passed its reader; no slot is added meanwhile.
    unsafe {
        let reader: &LuaReader<'_> = data::<&LuaReader<'_>>(state);
        let count = reader.slots.len();
        push_ref(state, reader.core.reader_tools.anchors.get());
        for at in reader.anchored.get()..count {
            let slot = reader.slots.get(at);
            reader.push(slot);
            reader.set_anchor(state, -2, at);
        }
        0
    }
}

struct IndexCall<'a> {
    reader: &'a LuaReader<'a>,
    it: StackSlot,
    key: StackSlot,
    found: StackSlot,
}

/// Under protection: indexes a value by a key as Lua does, and anchors what comes.
unsafe extern "C-unwind" fn run_index(state: State) -> c_int {
    // SAFETY: `computed` passed its call. All handles are anchored, so that both slots are alive.
    unsafe {
        let call = data::<IndexCall<'_>>(state);
        let reader = call.reader;
        push_ref(state, reader.core.reader_tools.anchors.get());
        reader.push(call.it);
        reader.push(call.key);
        lua_gettable(state, -2);
        lua_pushvalue(state, -1);
        call.found = reader.pop();
        let at = reader.slots.len();
        reader.set_anchor(state, -3, at);
        0
    }
}

struct KeepCall<'a> {
    reader: &'a LuaReader<'a>,
    slot: StackSlot,
    reference: c_int,
}

/// Under protection: puts a value into the registry.
unsafe extern "C-unwind" fn run_keep(state: State) -> c_int {
    // SAFETY: `keep` passed its call. All handles are anchored, so that the slot is alive.
    unsafe {
        let call = data::<KeepCall<'_>>(state);
        call.reader.push(call.slot);
        call.reference = luaL_ref(state, LUA_REGISTRYINDEX);
        0
    }
}

struct NameCall<'a> {
    reader: &'a LuaReader<'a>,
    name: Name,
    slot: StackSlot,
}

/// Under protection: makes the string of a name and keeps it.
unsafe extern "C-unwind" fn make_name(state: State) -> c_int {
    // SAFETY: `learn` passed a `NameCall`, which lives until the protected call has returned. Nothing on this frame has
    // a destructor that an error would skip.
    unsafe {
        let call = data::<NameCall<'_>>(state);
        let tools = &call.reader.core.reader_tools;
        push_ref(state, tools.names_ref.get());
        push_text(state, call.name.text().as_bytes());
        lua_pushvalue(state, -1);
        call.slot = call.reader.pop();
        lua_rawseti(state, -2, call.name.number() as i64 + 1);
        0
    }
}
