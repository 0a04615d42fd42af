//! Writes JSON from Lua values straight into an output buffer.

use crate::values::layout::{FixedValues, SlotValue, StackSlot, Table};
use crate::values::member::Member;
use crate::values::row_shapes::RowShapes;
use crate::values::rows;
use crate::values::value::{int64_at, is_null};
use crate::vm::isolate::{Core, current};
use crate::vm::state::{State, text_at};
use mlua_sys::lua51::*;
use sampan_host::json::{
    OBJECT, REQUEST, no_json, no_json_but, write_f64, write_i64, write_string,
};
use sampan_host::{Error, Value};
use std::cell::Cell;
use std::ffi::{CStr, c_int};

/// The JSON of the value at `index`, for a capability. Never raises; the caller has made room.
pub(crate) unsafe fn text(state: State, index: c_int) -> Result<Value, Error> {
    let mut out = Vec::new();
    let depth = current().limits.json_depth_max;
    // SAFETY: the caller has made room, as `write` needs.
    unsafe { write(state, index, &mut out, depth)? };
    String::from_utf8(out)
        .map(Value::Text)
        .map_err(|_| no_json("a string that is not UTF-8"))
}

/// Appends the JSON of the value at `index`, which must be absolute. Reads only: never raises, runs no script.
pub(crate) unsafe fn write(
    state: State,
    index: c_int,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Error> {
    // SAFETY: the value stays on the stack while it is written, and Lua runs nothing meanwhile.
    unsafe {
        let core = current();
        let mut writer = Writer {
            core,
            shapes: &*core.shapes.get(),
            fixed: core.fixed.get(),
            out,
            members: &mut *core.members.get(),
        };
        writer.members.clear();
        let seen = match lua_type(state, index) {
            LUA_TNONE | LUA_TNIL => SlotValue::Nil,
            LUA_TBOOLEAN => SlotValue::Bool(lua_toboolean(state, index) != 0),
            LUA_TNUMBER => SlotValue::Number(lua_tonumber(state, index)),
            LUA_TSTRING => SlotValue::Text(text_at(state, index)),
            LUA_TTABLE => SlotValue::Table(Table::at(state, index)),
            _ if is_null(state, index) => SlotValue::Nil,
            LUA_TCDATA => {
                int64_at(state, index).map_or(SlotValue::Other("cdata"), SlotValue::Int64)
            }
            kind => SlotValue::Other(
                CStr::from_ptr(lua_typename(state, kind))
                    .to_str()
                    .unwrap_or("value"),
            ),
        };
        let written = writer.seen(seen, depth);
        if writer.members.capacity() > MEMBERS_KEPT_MAX {
            *writer.members = Vec::new();
        }
        written.map_err(|why| named(writer.out, why))
    }
}

/// The reason with the name in front under which the value was to stand, which is the last thing that was written.
#[cold]
fn named(out: &[u8], why: Error) -> Error {
    let name = out.strip_suffix(b"\":").and_then(|out| {
        let is_start = |at: &usize| out[*at] == b'"' && (*at == 0 || out[*at - 1] != b'\\');
        let start = (0..out.len()).rev().take(NAME_BYTES_MAX).find(is_start)?;
        std::str::from_utf8(&out[start + 1..]).ok()
    });
    match name {
        Some(name) => Error::new(why.kind(), format!("'{name}': {}", why.message())),
        None => why,
    }
}

/// Longer names are not shown.
const NAME_BYTES_MAX: usize = 100;

/// Room for more members is not kept for the next value.
const MEMBERS_KEPT_MAX: usize = 16 * 1024;

/// Below this much output a string is not worth asking whether to go on.
const PROGRESS_BYTES: usize = 64 * 1024;

/// The entries of a list that goes on in the hash part of its table: the keys and values.
type Entries = Vec<(u64, StackSlot)>;

struct Writer<'a> {
    core: &'a Core,
    shapes: &'a RowShapes,
    fixed: FixedValues,
    out: &'a mut Vec<u8>,
    /// The members of the objects that are open, those of the innermost last.
    members: &'a mut Vec<Member>,
}

impl Writer<'_> {
    #[inline(always)]
    fn slot(&mut self, slot: StackSlot, depth: usize) -> Result<(), Error> {
        if slot == self.fixed.null {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        // SAFETY: the slot belongs to a table that the root keeps alive.
        self.seen(unsafe { slot.see() }, depth)
    }

    /// A part of every place that writes a value: most are numbers and short strings.
    #[inline(always)]
    fn seen(&mut self, seen: SlotValue<'_>, depth: usize) -> Result<(), Error> {
        match seen {
            SlotValue::Nil => self.out.extend_from_slice(b"null"),
            SlotValue::Bool(true) => self.out.extend_from_slice(b"true"),
            SlotValue::Bool(false) => self.out.extend_from_slice(b"false"),
            SlotValue::Number(number) => return self.number(number),
            SlotValue::Text(text) => {
                if !write_string(self.out, text) {
                    return Err(no_json("a string that is not UTF-8"));
                }
                if self.out.len() > PROGRESS_BYTES {
                    self.check_progress()?;
                }
            }
            SlotValue::Table(table) => return self.table(table, depth),
            SlotValue::Int64(number) => write_i64(self.out, number),
            SlotValue::Light => return Err(no_json("a userdata")),
            // Scripts have no userdata but native objects.
            SlotValue::Other("userdata") => {
                let [what, advice] = OBJECT;
                return Err(no_json_but(what, advice));
            }
            SlotValue::Other(name) => return Err(no_json(&format!("a {name}"))),
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self, number: f64) -> Result<(), Error> {
        let whole = number as i32;
        // Minus zero is `0`, as in JavaScript.
        if number == 0.0 || f64::from(whole).to_bits() == number.to_bits() {
            write_i64(self.out, i64::from(whole));
            return Ok(());
        }
        if write_f64(self.out, number) {
            return Ok(());
        }
        Err(no_json(&number.to_string()))
    }

    /// Reports whether to go on: tables may share others, so that a small value has a huge text.
    #[inline]
    fn check_progress(&self) -> Result<(), Error> {
        if self.out.len() > self.core.limits.memory_bytes_max {
            return Err(self.core.limits.value_too_large());
        }
        if self.core.watch.must_stop() {
            return Err(self.core.limits.stopped(self.core.watch.cause()));
        }
        Ok(())
    }

    /// A table whose keys are 1 to n is an array, any other an object; an empty one is an object unless it was marked.
    #[inline(never)]
    fn table(&mut self, table: &Table, depth: usize) -> Result<(), Error> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| no_json("a table that contains itself or nests too deeply"))?;
        self.check_progress()?;
        let meta = table.metatable();
        if let Some(meta) = meta
            && rows::lists_columns(meta, self.fixed)
        {
            return self.row(table, meta, depth);
        }
        if meta.is_some_and(|meta| std::ptr::eq(meta, self.fixed.request_meta)) {
            let [what, advice] = REQUEST;
            return Err(no_json_but(what, advice));
        }
        let array = table.array();
        if array.iter().any(|slot| !slot.is_nil()) {
            return self.list(table, depth);
        }
        let start = self.out.len();
        let first = self.members.len();
        for node in table.nodes().iter().filter(|node| !node.value.is_nil()) {
            // SAFETY: the key of an entry is as alive as its value.
            match unsafe { node.key.see() } {
                SlotValue::Text(name) => self.members.push(Member::new(name, node.value)),
                SlotValue::Number(_) if self.members.len() == first => {
                    return self.list(table, depth);
                }
                SlotValue::Number(_) => {
                    return Err(no_json("a table with both a list and named keys"));
                }
                _ => {
                    return Err(no_json("a key that is neither a string nor part of a list"));
                }
            }
        }
        self.sorted_members(first, depth)?;
        if self.out.len() == start {
            let is_list = meta.is_some_and(|meta| std::ptr::eq(meta, self.fixed.array_meta));
            let empty = if is_list { b"[]" } else { b"{}" };
            self.out.extend_from_slice(empty);
        } else {
            self.out[start] = b'{';
            self.out.push(b'}');
        }
        Ok(())
    }

    /// Writes the members from `first` on, sorted by the bytes of their names: LuaJIT lists them in an order of its
    /// own, which is another in the next process. They lie above those of the tables around this one.
    #[inline]
    fn sorted_members(&mut self, first: usize, depth: usize) -> Result<(), Error> {
        let count = self.members.len() - first;
        if count > 1 {
            self.members[first..].sort_unstable();
        }
        for at in first..first + count {
            let member = self.members[at];
            // SAFETY: the name belongs to a key of a table that the root keeps alive.
            self.member(unsafe { member.name() }, member.value, depth)?;
        }
        self.members.truncate(first);
        Ok(())
    }

    /// A member with the comma in front, which the first one's object replaces.
    #[inline]
    fn member(&mut self, name: &[u8], value: StackSlot, depth: usize) -> Result<(), Error> {
        self.out.push(b',');
        if !write_string(self.out, name) {
            return Err(no_json("a key that is not UTF-8"));
        }
        self.out.push(b':');
        self.slot(value, depth)
    }

    fn list(&mut self, table: &Table, depth: usize) -> Result<(), Error> {
        let array = table.array();
        let all_in_array = array.first().is_none_or(|slot| slot.is_nil())
            && table.nodes().iter().all(|node| node.value.is_nil());
        let items = array.get(1..).unwrap_or_default();
        let length = items.iter().position(|slot| slot.is_nil());
        let (items, rest) = items.split_at(length.unwrap_or(items.len()));
        if !all_in_array || rest.iter().any(|slot| !slot.is_nil()) {
            let entries = entries(table)?;
            return self.items(entries.iter().map(|(_, slot)| *slot), depth);
        }
        self.items(items.iter().copied(), depth)
    }

    #[inline]
    fn items(&mut self, items: impl Iterator<Item = StackSlot>, depth: usize) -> Result<(), Error> {
        let start = self.out.len();
        for item in items {
            self.out.push(b',');
            self.slot(item, depth)?;
        }
        self.out[start] = b'[';
        self.out.push(b']');
        Ok(())
    }

    /// A row: its columns in order, `null` where it has nothing, then what the script has added.
    fn row(&mut self, row: &Table, meta: &Table, depth: usize) -> Result<(), Error> {
        let columns = rows::columns(meta);
        let known = self.shapes.of_meta(meta);
        let unknown = Cell::new(0);
        let mut present = 0;
        for (at, column) in columns.iter().enumerate() {
            let hint = match known {
                Some(shape) => {
                    self.out.extend_from_slice(&shape.names[at].text);
                    &shape.names[at].place
                }
                None => {
                    self.out.push(if at == 0 { b'{' } else { b',' });
                    // SAFETY: the row keeps its metatable alive, and that keeps the names of its columns. Lua runs
                    // nothing meanwhile.
                    if let SlotValue::Text(name) = unsafe { column.see() } {
                        write_string(self.out, name);
                    }
                    self.out.push(b':');
                    &unknown
                }
            };
            let value = row.get(*column, hint);
            present += usize::from(!value.is_nil());
            self.slot(value, depth)?;
        }
        let nodes = row.nodes().iter().filter(|node| !node.value.is_nil());
        if nodes.clone().count() > present {
            let first = self.members.len();
            for node in nodes.filter(|node| !columns.contains(&node.key)) {
                // SAFETY: the key of an entry is as alive as its value.
                let SlotValue::Text(name) = (unsafe { node.key.see() }) else {
                    return Err(no_json(NO_COLUMN));
                };
                self.members.push(Member::new(name, node.value));
            }
            self.sorted_members(first, depth)?;
        }
        if row.array().iter().any(|slot| !slot.is_nil()) {
            return Err(no_json(NO_COLUMN));
        }
        self.out.push(b'}');
        Ok(())
    }
}

const NO_COLUMN: &str = "a row with a key that is no string";

/// The items of a list that does not lie in the array part of its table alone.
#[cold]
fn entries(table: &Table) -> Result<Entries, Error> {
    const HOLES: &str = "a list with holes, or with named keys beside it,";
    let in_array = table.array().iter().copied();
    let mut entries: Entries = (0..)
        .zip(in_array)
        .filter(|(_, slot)| !slot.is_nil())
        .collect();
    for node in table.nodes().iter().filter(|node| !node.value.is_nil()) {
        // SAFETY: the key of an entry is as alive as its value.
        match unsafe { node.key.see() } {
            SlotValue::Number(key) if key >= 1.0 && key.fract() == 0.0 => {
                entries.push((key as u64, node.value));
            }
            _ => return Err(no_json(HOLES)),
        }
    }
    entries.sort_unstable_by_key(|(key, _)| *key);
    if (1..).zip(&entries).any(|(at, (key, _))| at != *key) {
        return Err(no_json(HOLES));
    }
    Ok(entries)
}
