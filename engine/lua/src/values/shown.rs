//! Values for people to read, in the log: reading them never fails, runs no Lua, and ends at limits of its own.
//!
//! Values without plain data are named in brackets.

use crate::request::object;
use crate::values::objects;
use crate::values::rows;
use crate::values::value::{has_meta, int64_at, is_null};
use crate::vm::isolate::current;
use crate::vm::state::{State, text_at};
use mlua_sys::lua51::*;
use sampan_host::Value;
use std::ffi::{CStr, c_int, c_void};

/// The depth to which tables are read; less than what [`super::value::STACK_SLOTS`] makes room for.
const DEPTH_MAX: usize = 12;
/// The number of values that are read, all together.
const VALUES_MAX: usize = 10_000;
/// The number of bytes of text that are read, all together; a line of the log is never longer.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// Reads the value at `index`, which must be absolute. Never raises; the caller has made room on the stack.
pub(crate) unsafe fn read(state: State, index: c_int) -> Value {
    let mut reader = ShownReader {
        state,
        inside: Vec::new(),
        values_left: VALUES_MAX,
        bytes_left: TEXT_BYTES_MAX,
    };
    // SAFETY: the caller has made the room that the reader needs.
    unsafe { reader.read(index) }
}

struct ShownReader {
    state: State,
    /// The tables that are being read, to notice a cycle.
    inside: Vec<*const c_void>,
    values_left: usize,
    bytes_left: usize,
}

impl ShownReader {
    unsafe fn read(&mut self, index: c_int) -> Value {
        let state = self.state;
        if self.is_full() {
            return named("...");
        }
        self.values_left -= 1;
        // SAFETY: reads only; no function here allocates in Lua.
        unsafe {
            match lua_type(state, index) {
                LUA_TNONE | LUA_TNIL => Value::Null,
                LUA_TBOOLEAN => Value::Bool(lua_toboolean(state, index) != 0),
                LUA_TNUMBER => crate::values::value::number(lua_tonumber(state, index)),
                LUA_TSTRING => Value::Text(self.text(text_at(state, index))),
                LUA_TTABLE => self.read_table(index),
                LUA_TLIGHTUSERDATA if is_null(state, index) => Value::Null,
                LUA_TCDATA => int64_at(state, index).map_or_else(|| named("[cdata]"), Value::Int),
                kind => Value::Text(match objects::at(state, index) {
                    Some(object) => format!("[{}]", object.class().name),
                    None => self.name_of(kind),
                }),
            }
        }
    }

    fn is_full(&self) -> bool {
        self.values_left == 0 || self.bytes_left == 0
    }

    unsafe fn name_of(&self, kind: c_int) -> String {
        // SAFETY: Lua's own names are terminated and live for ever.
        let name = unsafe { CStr::from_ptr(lua_typename(self.state, kind)) };
        format!("[{}]", name.to_string_lossy())
    }

    fn text(&mut self, bytes: &[u8]) -> String {
        let is_cut = bytes.len() > self.bytes_left;
        let kept = &bytes[..bytes.len().min(self.bytes_left)];
        self.bytes_left -= kept.len();
        let mut text = String::from_utf8_lossy(kept).into_owned();
        if is_cut {
            text.push_str("...");
        }
        text
    }

    unsafe fn read_table(&mut self, index: c_int) -> Value {
        // SAFETY: the stack has room for three values of each of so many tables.
        unsafe {
            if has_meta(self.state, index, current().refs.get().request_meta) {
                return Value::Text(object::name_of(self.state, index));
            }
            let at = lua_topointer(self.state, index);
            if self.inside.contains(&at) {
                return named("[table that contains itself]");
            }
            if self.inside.len() >= DEPTH_MAX {
                return named("[...]");
            }
            self.inside.push(at);
            let value = self.read_entries(index);
            self.inside.pop();
            value
        }
    }

    unsafe fn read_entries(&mut self, index: c_int) -> Value {
        let state = self.state;
        // SAFETY: `lua_next` with the table unchanged does not raise; raw reads do not either.
        unsafe {
            let top = lua_gettop(state);
            let mut members = Vec::new();
            // A row's columns come first, in their order.
            let columns = if rows::push_columns(state, index) {
                let columns = lua_gettop(state);
                for at in 1..=lua_objlen(state, columns) {
                    lua_rawgeti(state, columns, at as i64);
                    let name = self.text(text_at(state, -1));
                    lua_rawget(state, index);
                    members.push((name, self.read(columns + 1)));
                    lua_settop(state, columns);
                }
                Some(columns)
            } else {
                lua_settop(state, top);
                None
            };
            let length = lua_objlen(state, index);
            let mut items = Vec::new();
            lua_pushnil(state);
            let key = lua_gettop(state);
            while lua_next(state, index) != 0 {
                if self.is_full() {
                    members.push(("...".to_owned(), Value::Null));
                    break;
                }
                let is_column = columns.is_some_and(|columns| {
                    lua_type(state, key) == LUA_TSTRING
                        && rows::has_column(state, columns, text_at(state, key))
                });
                if !is_column {
                    let number = lua_tonumber(state, key);
                    let is_item = columns.is_none()
                        && lua_type(state, key) == LUA_TNUMBER
                        && number == (items.len() + 1) as f64;
                    let value = self.read(key + 1);
                    if is_item {
                        items.push(value);
                    } else {
                        let name = self.key(key);
                        members.push((name, value));
                    }
                }
                lua_settop(state, key);
            }
            lua_settop(state, top);
            if members.is_empty() && (!items.is_empty() || length > 0) {
                return Value::List(items);
            }
            // Both a list and named values, or a list with holes: all of it by name.
            let numbered = items.into_iter().enumerate();
            let mut all: Vec<_> = numbered
                .map(|(at, item)| ((at + 1).to_string(), item))
                .collect();
            if columns.is_none() {
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            all.extend(members);
            Value::Map(all)
        }
    }

    /// A key as text. A number must not be made a string in place: `lua_next` goes on from it.
    unsafe fn key(&mut self, key: c_int) -> String {
        // SAFETY: the key is only looked at, and a number is not made a string in its place; nothing raises.
        unsafe {
            match lua_type(self.state, key) {
                LUA_TSTRING => self.text(text_at(self.state, key)),
                LUA_TNUMBER => lua_tonumber(self.state, key).to_string(),
                LUA_TBOOLEAN => (lua_toboolean(self.state, key) != 0).to_string(),
                kind => self.name_of(kind),
            }
        }
    }
}

fn named(name: &str) -> Value {
    Value::Text(name.to_owned())
}
