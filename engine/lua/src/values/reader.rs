//! Reads Lua values where they lie, for rows that ask for it.
//!
//! A handle is the place of a slot in a list, and the slots are read in LuaJIT's memory
//! ([`layout`](crate::values::layout)). As long as no script runs, what was found is kept alive by what it was found
//! in, and nothing can change or be collected. Before script runs under the reader, all that was found is put into a
//! table of the registry, so that it stays alive whatever that script does ([`LuaReader::anchor`]).

mod anchors;
mod members;
pub(crate) mod slots;

use crate::values::layout::{SlotValue, StackSlot, Table};
use crate::values::member::Member;
use crate::values::{objects, rows, value};
use crate::vm::bind::callback;
use crate::vm::bind::row::BoundRow;
use crate::vm::isolate::Core;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use sampan_host::reader::{Keys, Kind, Mark, Name, Plain, SeeRow};
use sampan_host::{Callback, Error, Handle, Reader, Value};
use slots::{HANDLES_AT_ONCE, LuaReader, SlotList};
use std::cell::Cell;
use std::ffi::c_int;
use std::ops::Range;
use std::ptr;

/// After how many questions the limits are looked at.
const CALLS_PER_CHECK: u32 = 1024;
/// A table with so many members is looked through for a position that does not lie in its array.
const NODES_LOOKED_AT_MAX: usize = 16;
impl<'a> LuaReader<'a> {
    /// Has `body` read the arguments of the running C function for its row, from index `first` on. The caller has made
    /// room on the stack.
    pub(crate) unsafe fn with<R>(
        core: &'a Core,
        state: State,
        first: c_int,
        row: BoundRow,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        let count = row.function.params.len();
        let outer = core.reader_tools.innermost.get();
        // SAFETY: the pointer is null, or that of a reader further out: each takes its pointer out when it is dropped,
        // so the reader is alive.
        let first_anchor =
            unsafe { outer.as_ref() }.map_or(1, |outer| outer.first_anchor + outer.anchored.get());
        let reader = Self {
            core,
            state,
            row,
            slots: SlotList::with_room(HANDLES_AT_ONCE),
            anchored: Cell::new(count),
            first_anchor,
            most_anchored: Cell::new(0),
            shown: Cell::new(count),
            until_check: Cell::new(CALLS_PER_CHECK),
            outer,
        };
        // SAFETY: reads the height of the stack of the C function that runs, which changes nothing.
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
        // SAFETY: each slot was found in a value that this reader was given or has found. That value keeps it alive as
        // long as no script runs, and before script runs `anchor` puts all that was found into a table of the registry.
        unsafe { slot.see() }
    }

    #[inline]
    fn add(&self, slot: StackSlot) -> Handle {
        Handle::new(self.slots.push(slot) as u32)
    }

    #[inline]
    fn show_slot(&self, slot: StackSlot, see: &mut dyn FnMut(Plain<'_>)) -> bool {
        match members::plain(self.see(slot)) {
            Some(Plain::Text(bytes)) => {
                // The value gets a handle while it is shown, which keeps it if `see` runs a script.
                let (shown, at) = (self.shown.get(), self.slots.push(slot));
                self.shown.set(at + 1);
                see(Plain::Text(bytes));
                self.shown.set(shown);
                if self.slots.len() == at + 1 {
                    self.release(Mark::new(at as u32));
                }
            }
            Some(other) => see(other),
            None => return false,
        }
        true
    }

    /// To be called by whatever may be called again and again.
    #[inline]
    fn count(&self) -> Result<(), Error> {
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
            return Err(limits.stopped(self.core.watch.cause()));
        }
        if self.slots.len() > limits.memory_bytes_max / size_of::<StackSlot>() {
            return Err(limits.value_too_large());
        }
        Ok(())
    }

    /// Returns the value at a position of a table, from 1, without asking its metatable.
    fn raw_item(&self, list: StackSlot, table: &Table, at: usize) -> StackSlot {
        if let Some(slot) = table.array().get(at) {
            return *slot;
        }
        // Looking through a few is faster than asking.
        let nodes = table.nodes();
        if nodes.len() <= NODES_LOOKED_AT_MAX {
            let key = StackSlot::number(at as f64);
            let found = nodes.iter().find(|node| node.key == key);
            return found.map_or(StackSlot::NIL, |node| node.value);
        }
        // SAFETY: `ask` has pushed the table at `index`. A raw read neither raises nor allocates nor runs script, and
        // the table keeps what was found alive.
        self.ask(list, |state, index| unsafe {
            lua_rawgeti(state, index, at as i64);
            self.pop()
        })
    }

    /// Reports whether a table is a list.
    #[inline]
    fn is_list(&self, slot: StackSlot, table: &Table) -> bool {
        let (meta, fixed) = (table.metatable(), self.core.fixed.get());
        let is = |other| meta.is_some_and(|meta| ptr::eq(meta, other));
        is(fixed.array_meta) || !self.raw_item(slot, table, 1).is_nil() && !is(fixed.request_meta)
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

    /// Returns the value under a key that is no position.
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
        if found.is_nil() {
            if self.may_compute(table) {
                return self.computed(it, key);
            }
            if self.is_null_column(table, key) {
                return Ok(self.add(self.core.reader_tools.null.get()));
            }
        }
        Ok(self.add(found))
    }

    /// Returns the value under a key, without asking the metatable.
    fn raw_get(&self, table: StackSlot, key: StackSlot) -> StackSlot {
        self.push(table);
        self.push(key);
        // SAFETY: the table lies under the key. A raw read neither raises nor runs script, and the table keeps what was
        // found alive.
        unsafe {
            lua_rawget(self.state, -2);
            let found = self.pop();
            lua_pop(self.state, 1);
            found
        }
    }

    /// Reports whether a table is a row with this column: what it lacks there was NULL, or the script has taken it out.
    fn is_null_column(&self, table: &Table, key: StackSlot) -> bool {
        let fixed = self.core.fixed.get();
        let row = table
            .metatable()
            .filter(|meta| rows::lists_columns(meta, fixed));
        row.is_some_and(|row| rows::columns(row).contains(&key))
    }

    /// Reports whether a table may have computed or inherited what it lacks.
    fn may_compute(&self, table: &Table) -> bool {
        let fixed = self.core.fixed.get();
        table.metatable().is_some_and(|meta| {
            !ptr::eq(meta, fixed.array_meta) && !rows::lists_columns(meta, fixed)
        })
    }
}

impl Reader for LuaReader<'_> {
    fn kind(&self, it: Handle) -> Kind {
        let slot = self.slot(it);
        match self.see(slot) {
            SlotValue::Nil => Kind::Nothing,
            SlotValue::Light => Kind::Null,
            SlotValue::Bool(value) => Kind::Bool(value),
            SlotValue::Number(number) => match value::number(number) {
                Value::Int(whole) => Kind::Int(whole),
                _ => Kind::Float(number),
            },
            SlotValue::Int64(number) => Kind::Int(number),
            SlotValue::Text(_) => Kind::Text,
            SlotValue::Table(table) => {
                if self.is_list(slot, table) {
                    Kind::List
                } else {
                    Kind::Map
                }
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

    fn show(&self, it: Handle, see: &mut dyn FnMut(Plain<'_>)) -> bool {
        self.show_slot(self.slot(it), see)
    }

    fn show_member(&self, map: Handle, name: Name, see: &mut dyn FnMut(Plain<'_>)) -> bool {
        let key = self.core.reader_tools.names.get(name.number());
        match self.see(self.slot(map)) {
            SlotValue::Table(table) if !key.is_nil() => self.show_slot(table.find(key), see),
            _ => false,
        }
    }

    fn show_rows(
        &self,
        list: Handle,
        items: Range<usize>,
        names: &[Name],
        see: &mut SeeRow<'_>,
    ) -> usize {
        self.members_of_items(list, items, names, see)
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
        self.count()?;
        let slot = self.slot(it);
        let SlotValue::Table(table) = self.see(slot) else {
            return Ok(0);
        };
        if self.kind(it) == Kind::List {
            // SAFETY: the length of a table without asking its metatable.
            let length = self.ask(slot, |state, index| unsafe { lua_objlen(state, index) });
            // Its length would be that up to any of the holes.
            if items_of(table) != length {
                return Err(Error::script(
                    "a list with holes cannot be read: use app.null",
                ));
            }
            return Ok(length);
        }
        let mut keys = Vec::new();
        self.collect(table, &mut keys);
        Ok(keys.len())
    }

    fn has_other_keys(&self, list: Handle) -> bool {
        match self.see(self.slot(list)) {
            SlotValue::Table(table) => values_of(table) != items_of(table),
            _ => false,
        }
    }

    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        self.count()?;
        let slot = self.slot(list);
        Ok(self.add(match self.see(slot) {
            SlotValue::Table(table) => self.raw_item(slot, table, at.saturating_add(1)),
            _ => StackSlot::NIL,
        }))
    }

    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        self.count()?;
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
        self.count()?;
        self.under(self.slot(map), self.slot(key))
    }

    fn callback(&self, it: Handle) -> Result<Option<Callback>, Error> {
        if self.kind(it) != Kind::Function {
            return Ok(None);
        }
        let reference = self.keep(self.slot(it))?;
        Ok(Some(callback::of(reference, self.row)))
    }

    fn check(&self) -> Result<(), Error> {
        self.check_limits()
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

/// Returns the number of values that a table has under keys of any kind.
fn values_of(table: &Table) -> usize {
    let items = table.array().iter().filter(|slot| !slot.is_nil());
    let nodes = table.nodes().iter().filter(|node| !node.value.is_nil());
    items.count() + nodes.count()
}

/// Returns the number of values that a table has under the numbers 1, 2, 3 and so on.
fn items_of(table: &Table) -> usize {
    let items = table.array().iter().skip(1).filter(|slot| !slot.is_nil());
    let is_index = |number: f64| number >= 1.0 && number.fract() == 0.0;
    let nodes = table.nodes().iter().filter(|node| !node.value.is_nil());
    // SAFETY: the key of a node in use is alive as long as the table.
    let keys = nodes.filter(
        |node| matches!(unsafe { node.key.see() }, SlotValue::Number(key) if is_index(key)),
    );
    items.count() + keys.count()
}

impl LuaReader<'_> {
    /// The keys of a table: the columns of a row in their order; then numbers, then text by its bytes. Others have no
    /// order.
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
