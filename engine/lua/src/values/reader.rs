//! Reads Lua values where they lie, for rows that ask for it.
//!
//! A handle is the place of a slot in a list, and the slots are read in LuaJIT's memory ([`layout`](crate::values::layout)). As long as no script
//! runs, what was found is kept alive by what it was found in, and nothing can change or be collected. Before script runs under the reader, all
//! that was found is put into a table of the registry, so that it stays alive whatever that script does ([`LuaReader::anchor`]).

use crate::values::json_write::Member;
use crate::values::layout::{SlotValue, StackSlot, Table};
use crate::values::{objects, rows, value};
use crate::vm::isolate::Core;
use crate::vm::state::{State, data, push_ref, push_text};
use mlua_sys::lua51::*;
use sampan_host::reader::{Keys, Kind, Mark, Name};
use sampan_host::{Error, Handle, Reader, Value};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::ptr;

/// After how many questions the limits are looked at.
const CALLS_PER_CHECK: u32 = 1024;
/// Room for so many handles is made at once.
const HANDLES_AT_ONCE: usize = 64;

/// A list of slots. No reference into it leaves its methods, and they call nothing else.
#[derive(Default)]
struct SlotList(UnsafeCell<Vec<StackSlot>>);

impl SlotList {
    fn len(&self) -> usize {
        // SAFETY: as the type promises; that is so in all of these.
        unsafe { (*self.0.get()).len() }
    }

    /// The slot at a place; nil beyond the end.
    #[inline]
    fn get(&self, at: usize) -> StackSlot {
        // SAFETY: as above.
        let slots = unsafe { &*self.0.get() };
        slots.get(at).copied().unwrap_or(StackSlot::NIL)
    }

    fn set(&self, at: usize, slot: StackSlot) {
        // SAFETY: as above.
        let slots = unsafe { &mut *self.0.get() };
        if slots.len() <= at {
            slots.resize(at + 1, StackSlot::NIL);
        }
        slots[at] = slot;
    }

    #[inline]
    fn push(&self, slot: StackSlot) -> usize {
        // SAFETY: as above.
        let slots = unsafe { &mut *self.0.get() };
        slots.push(slot);
        slots.len() - 1
    }

    fn extend(&self, added: &[StackSlot]) {
        // SAFETY: as above.
        unsafe { (*self.0.get()).extend_from_slice(added) };
    }

    fn truncate(&self, count: usize) {
        // SAFETY: as above.
        unsafe { (*self.0.get()).truncate(count) };
    }
}

/// What readers need in the registry, and the names that were asked for.
#[derive(Default)]
pub(crate) struct ReaderTools {
    /// The innermost reader; null where none is.
    innermost: Cell<*const LuaReader<'static>>,
    /// A table with room for two values, through which slots get onto the stack and off it.
    exchange: Cell<c_int>,
    /// The strings of names, which the registry's table of that number keeps alive, by their number.
    names: SlotList,
    names_ref: Cell<c_int>,
    /// A table of what the readers found before script ran, those of the innermost last.
    anchors: Cell<c_int>,
}

impl ReaderTools {
    /// Puts the tools into the registry. Under protection, once.
    pub(crate) unsafe fn install(&self, state: State) {
        // SAFETY: under protection; no destructors.
        unsafe {
            for (reference, room) in [
                (&self.exchange, 2),
                (&self.names_ref, 0),
                (&self.anchors, HANDLES_AT_ONCE),
            ] {
                lua_createtable(state, room as c_int, 0);
                reference.set(luaL_ref(state, LUA_REGISTRYINDEX));
            }
        }
    }
}

/// Reads values for one call of a row.
pub(crate) struct LuaReader<'a> {
    core: &'a Core,
    /// The coroutine that has called the row. Its stack is as the row found it whenever a method of this runs.
    state: State,
    /// What the handles mean.
    slots: SlotList,
    /// How many of the first slots the arguments on the stack or the table of anchors keep alive.
    anchored: Cell<usize>,
    /// Under which key the table of anchors has the first slot, and how many it has had.
    first_anchor: usize,
    most_anchored: Cell<usize>,
    /// How many of the first handles must stay, because their bytes are being shown.
    shown: Cell<usize>,
    until_check: Cell<u32>,
    outer: *const LuaReader<'static>,
}

impl<'a> LuaReader<'a> {
    /// Has `body` read the `count` arguments of the running C function from index `first` on. The caller has made room on the stack.
    pub(crate) unsafe fn with<R>(
        core: &'a Core,
        state: State,
        first: c_int,
        count: usize,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        let outer = core.reader_tools.innermost.get();
        // SAFETY: a reader takes itself out when it goes.
        let first_anchor =
            unsafe { outer.as_ref() }.map_or(1, |outer| outer.first_anchor + outer.anchored.get());
        let reader = Self {
            core,
            state,
            slots: SlotList(UnsafeCell::new(Vec::with_capacity(HANDLES_AT_ONCE))),
            anchored: Cell::new(count),
            first_anchor,
            most_anchored: Cell::new(0),
            shown: Cell::new(count),
            until_check: Cell::new(CALLS_PER_CHECK),
            outer,
        };
        // SAFETY: reads the height of the stack.
        let given = unsafe { lua_gettop(state) };
        for index in (first..).take(count) {
            // SAFETY: reads the arguments; what lies beyond the last is nil.
            let slot = unsafe {
                if index <= given {
                    lua_pushvalue(state, index);
                } else {
                    lua_pushnil(state);
                }
                reader.pop()
            };
            reader.slots.push(slot);
        }
        core.reader_tools
            .innermost
            .set((&raw const reader).cast::<LuaReader<'static>>());
        body(&reader)
    }

    #[inline]
    fn slot(&self, it: Handle) -> StackSlot {
        self.slots.get(it.number())
    }

    #[inline]
    fn see(&self, slot: StackSlot) -> SlotValue<'_> {
        // SAFETY: what a slot of the list refers to is alive: see the head of this file.
        unsafe { slot.see() }
    }

    #[inline]
    fn add(&self, slot: StackSlot) -> Handle {
        Handle::new(self.slots.push(slot) as u32)
    }

    /// To be called by whatever may be called again and again.
    #[inline]
    fn check(&self) -> Result<(), Error> {
        let left = self.until_check.get() - 1;
        self.until_check.set(left);
        if left == 0 {
            return self.check_limits();
        }
        Ok(())
    }

    #[cold]
    fn check_limits(&self) -> Result<(), Error> {
        self.until_check.set(CALLS_PER_CHECK);
        let limits = &self.core.limits;
        if self.core.watch.must_stop() {
            return Err(limits.stopped());
        }
        if self.slots.len() > limits.memory_bytes_max / size_of::<StackSlot>() {
            return Err(limits.value_too_large());
        }
        Ok(())
    }

    fn push_exchange(&self) {
        // SAFETY: reads the registry; the caller of the row has made room.
        unsafe { push_ref(self.state, self.core.reader_tools.exchange.get()) };
    }

    /// Pushes a slot.
    fn push(&self, slot: StackSlot) {
        let state = self.state;
        self.push_exchange();
        // SAFETY: the table of exchange has a slot under 1 in its array part. It holds the value only until that is on the stack, and the collector
        // does not run in between, so it need not be told.
        unsafe {
            let place = (&raw const Table::at(state, -1).array()[1]).cast_mut();
            place.write(slot);
            lua_rawgeti(state, -1, 1);
            place.write(StackSlot::NIL);
            lua_remove(state, -2);
        }
    }

    /// Takes the value on top off the stack. Something else must keep it alive.
    fn pop(&self) -> StackSlot {
        let state = self.state;
        self.push_exchange();
        // SAFETY: as above; setting a slot of the array part neither allocates nor raises.
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
    fn ask<R>(&self, slot: StackSlot, ask: impl FnOnce(State, c_int) -> R) -> R {
        self.push(slot);
        // SAFETY: looks at the stack, and shrinks it to where it was.
        unsafe {
            let top = lua_gettop(self.state);
            let answer = ask(self.state, top);
            lua_settop(self.state, top - 1);
            answer
        }
    }

    /// What lies under a position of a table, from 1, without asking its metatable.
    fn raw_item(&self, list: StackSlot, table: &Table, at: usize) -> StackSlot {
        if let Some(slot) = table.array().get(at) {
            return *slot;
        }
        if table.nodes().len() == 1 && table.nodes()[0].value.is_nil() {
            return StackSlot::NIL;
        }
        // SAFETY: a raw read.
        self.ask(list, |state, index| unsafe {
            lua_rawgeti(state, index, at as i64);
            self.pop()
        })
    }

    /// The string of a name.
    #[inline]
    fn name(&self, name: Name) -> Result<StackSlot, Error> {
        let known = self.core.reader_tools.names.get(name.number());
        if known.is_nil() {
            return self.learn(name);
        }
        Ok(known)
    }

    #[cold]
    fn learn(&self, name: Name) -> Result<StackSlot, Error> {
        let mut call = NameCall {
            reader: self,
            name,
            slot: StackSlot::NIL,
        };
        self.core.nested(make_name, &mut call)?;
        self.core.reader_tools.names.set(name.number(), call.slot);
        Ok(call.slot)
    }

    /// What is under a key that is no position.
    fn under(&self, it: StackSlot, key: StackSlot) -> Result<Handle, Error> {
        let SlotValue::Table(table) = self.see(it) else {
            return Ok(self.add(StackSlot::NIL));
        };
        let found = match self.see(key) {
            SlotValue::Nil => return Ok(self.add(StackSlot::NIL)),
            SlotValue::Text(_) => table.find(key),
            SlotValue::Number(number) => match table.array().get(number as usize) {
                Some(slot) if (number as usize) as f64 == number => *slot,
                _ => self.raw_get(it, key),
            },
            _ => self.raw_get(it, key),
        };
        if found.is_nil() && self.may_compute(table) {
            return self.computed(it, key);
        }
        Ok(self.add(found))
    }

    /// What is under a key, without asking the metatable.
    fn raw_get(&self, table: StackSlot, key: StackSlot) -> StackSlot {
        self.push(table);
        self.push(key);
        // SAFETY: a raw read.
        unsafe {
            lua_rawget(self.state, -2);
            let found = self.pop();
            lua_pop(self.state, 1);
            found
        }
    }

    /// Whether a table may have computed or inherited what it lacks.
    fn may_compute(&self, table: &Table) -> bool {
        let fixed = self.core.fixed.get();
        table.metatable().is_some_and(|meta| {
            !ptr::eq(meta, fixed.array_meta) && !rows::lists_columns(meta, fixed)
        })
    }

    /// What Lua says is under a key: `__index` may run script.
    #[cold]
    fn computed(&self, it: StackSlot, key: StackSlot) -> Result<Handle, Error> {
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

    /// Sets the anchor of a handle to the value on top, and takes that off the stack. `anchors` is the index of their table. Under protection.
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
            // SAFETY: sets keys that are there to nil, which neither allocates nor raises.
            unsafe {
                push_ref(state, self.core.reader_tools.anchors.get());
                for at in 0..self.most_anchored.get() {
                    lua_pushnil(state);
                    self.set_anchor(state, -2, at);
                }
                lua_pop(state, 1);
            }
        }
    }
}

impl Core {
    /// To be called before script runs inside of a row.
    pub(crate) fn anchor_handles(&self) -> Result<(), Error> {
        // SAFETY: a reader takes itself out when it goes.
        match unsafe { self.reader_tools.innermost.get().as_ref() } {
            Some(reader) => reader.anchor(),
            None => Ok(()),
        }
    }
}

/// Under protection: puts what was found into the table of anchors.
unsafe extern "C-unwind" fn run_anchor(state: State) -> c_int {
    // SAFETY: `anchor` passed its reader; nobody adds a slot meanwhile.
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

struct NameCall<'a> {
    reader: &'a LuaReader<'a>,
    name: Name,
    slot: StackSlot,
}

/// Under protection: makes the string of a name and keeps it.
unsafe extern "C-unwind" fn make_name(state: State) -> c_int {
    // SAFETY: `learn` passed its call.
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

impl Reader for LuaReader<'_> {
    fn kind(&self, it: Handle) -> Kind {
        let slot = self.slot(it);
        match self.see(slot) {
            SlotValue::Nil | SlotValue::Light => Kind::Nothing,
            SlotValue::Bool(value) => Kind::Bool(value),
            SlotValue::Number(number) => match value::number(number) {
                Value::Int(whole) => Kind::Int(whole),
                _ => Kind::Float(number),
            },
            SlotValue::Int64(number) => Kind::Int(number),
            SlotValue::Text(_) => Kind::Text,
            SlotValue::Table(table) => {
                let (meta, fixed) = (table.metatable(), self.core.fixed.get());
                let is = |other| meta.is_some_and(|meta| ptr::eq(meta, other));
                let is_list = is(fixed.array_meta)
                    || !self.raw_item(slot, table, 1).is_nil() && !is(fixed.request_meta);
                if is_list { Kind::List } else { Kind::Map }
            }
            SlotValue::Other("function") => Kind::Function,
            SlotValue::Other("userdata") => {
                // SAFETY: the caller of the row has made room.
                let object = self.ask(slot, |state, index| unsafe { objects::at(state, index) });
                object.map_or(Kind::Other("userdata"), Kind::Object)
            }
            SlotValue::Other(name) => Kind::Other(name),
        }
    }

    fn bytes(&self, it: Handle, see: &mut dyn FnMut(&[u8])) {
        if let SlotValue::Text(bytes) = self.see(self.slot(it)) {
            let shown = self.shown.get();
            self.shown.set(shown.max(it.number() + 1));
            see(bytes);
            self.shown.set(shown);
        }
    }

    fn len(&self, it: Handle) -> Result<usize, Error> {
        self.check()?;
        let slot = self.slot(it);
        let SlotValue::Table(table) = self.see(slot) else {
            return Ok(0);
        };
        if self.kind(it) == Kind::List {
            // SAFETY: the length of a table without asking its metatable.
            return Ok(self.ask(slot, |state, index| unsafe { lua_objlen(state, index) }));
        }
        let mut keys = Vec::new();
        self.collect(table, &mut keys);
        Ok(keys.len())
    }

    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        self.check()?;
        let slot = self.slot(list);
        Ok(self.add(match self.see(slot) {
            SlotValue::Table(table) => self.raw_item(slot, table, at.saturating_add(1)),
            _ => StackSlot::NIL,
        }))
    }

    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        self.check()?;
        let (it, key) = (self.slot(map), self.name(name)?);
        if let SlotValue::Table(table) = self.see(it) {
            let found = table.find(key);
            if !found.is_nil() {
                return Ok(self.add(found));
            }
        }
        self.under(it, key)
    }

    fn keys(&self, map: Handle) -> Result<Keys, Error> {
        self.check_limits()?;
        let mut keys = Vec::new();
        if let SlotValue::Table(table) = self.see(self.slot(map)) {
            self.collect(table, &mut keys);
        }
        let first = Handle::new(self.slots.len() as u32);
        self.slots.extend(&keys);
        self.check_limits()?;
        Ok(Keys::new(first, keys.len() as u32))
    }

    fn value(&self, map: Handle, key: Handle) -> Result<Handle, Error> {
        self.check()?;
        self.under(self.slot(map), self.slot(key))
    }

    fn mark(&self) -> Mark {
        Mark::new(self.slots.len() as u32)
    }

    fn release(&self, mark: Mark) {
        let count = mark.count().max(self.shown.get());
        self.slots.truncate(count);
        self.anchored.set(self.anchored.get().min(count));
    }
}

impl LuaReader<'_> {
    /// The keys of a table: the columns of a row in their order; then numbers, then text by its bytes. Others have no order.
    fn collect(&self, table: &Table, keys: &mut Vec<StackSlot>) {
        let (meta, fixed) = (table.metatable(), self.core.fixed.get());
        let row = meta.filter(|meta| rows::lists_columns(meta, fixed));
        let columns = row.map_or(&[][..], rows::columns);
        keys.extend_from_slice(columns);
        let (mut numbers, mut names) = (Vec::new(), Vec::new());
        for (at, slot) in table.array().iter().enumerate() {
            if !slot.is_nil() {
                numbers.push(at as f64);
            }
        }
        for node in table.nodes().iter().filter(|node| !node.value.is_nil()) {
            match self.see(node.key) {
                SlotValue::Number(number) => numbers.push(number),
                SlotValue::Text(name) if !columns.contains(&node.key) => {
                    names.push(Member::new(name, node.key));
                }
                _ => {}
            }
        }
        // A request has its number there.
        if meta.is_some_and(|meta| ptr::eq(meta, fixed.request_meta)) {
            numbers.clear();
        }
        numbers.sort_by(f64::total_cmp);
        names.sort_unstable();
        keys.extend(numbers.into_iter().map(StackSlot::number));
        keys.extend(names.into_iter().map(Member::value));
    }
}
