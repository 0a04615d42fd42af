//! [`Value`] from and to Lua.

use crate::values::integers::push_i64;
use crate::values::keys::KeySummary;
use crate::values::layout::{SlotValue, Table};
use crate::values::objects;
use crate::values::rows;
use crate::vm::isolate::current;
use crate::vm::isolate::room::need_room;
use crate::vm::state::{State, push_ref, push_text, text_at};
use mlua_sys::lua51::*;
use sampan_host::words::cannot_pass;
use sampan_host::{Error, Value};
use std::ffi::{CStr, c_int};

/// The greatest depth to which tables may nest on their way out of Lua; cycles end here.
const DEPTH_MAX: u32 = 128;

/// Room on the Lua stack for [`DEPTH_MAX`] tables in the middle of being walked.
pub(crate) const STACK_SLOTS: c_int = 3 * DEPTH_MAX as c_int + 8;

/// `LuaJIT`'s numbers of the two 64-bit integer types, in `lj_ctype.h`.
const CTYPE_INT64: u16 = 11;
const CTYPE_UINT64: u16 = 12;

/// The 64-bit integer in the cdata at `index`, if it is one.
pub(crate) unsafe fn int64_at(state: State, index: c_int) -> Option<i64> {
    // SAFETY: for cdata `lua_topointer` gives the payload, in front of which stands the object's header, whose last
    // field is the 16-bit number of its type (`GCcdata` in `lj_obj.h`). `isolate` checks this layout at start.
    unsafe {
        if lua_type(state, index) != LUA_TCDATA {
            return None;
        }
        let payload = lua_topointer(state, index);
        match *payload.cast::<u16>().sub(3) {
            CTYPE_INT64 => Some(*payload.cast::<i64>()),
            CTYPE_UINT64 => i64::try_from(*payload.cast::<u64>()).ok(),
            _ => None,
        }
    }
}

/// Reports whether the value at `index` is `app.null`.
pub(crate) unsafe fn is_null(state: State, index: c_int) -> bool {
    // SAFETY: reading the type and the pointer of a value changes nothing on the stack and raises nothing.
    unsafe {
        lua_type(state, index) == LUA_TLIGHTUSERDATA && lua_touserdata(state, index).is_null()
    }
}

/// Reads the value at `index`, which must be absolute. Never raises; the caller has made [`STACK_SLOTS`] of room.
pub(crate) unsafe fn read(state: State, index: c_int) -> Result<Value, Error> {
    let mut bytes_left = current().limits.memory_bytes_max;
    // SAFETY: the index is absolute and the caller has made room, as `read_nested` needs.
    unsafe { read_nested(state, index, DEPTH_MAX, &mut bytes_left) }
}

/// Takes a size from what may still be read: tables may share others, so that a small one is huge when it is copied. A
/// list or a map takes the room of its values, and each text and name its bytes, before they are copied.
fn spend(bytes_left: &mut usize, bytes: usize) -> Result<(), Error> {
    *bytes_left = bytes_left
        .checked_sub(bytes)
        .ok_or_else(|| current().limits.value_too_large())?;
    if current().watch.must_stop() {
        return Err(current().limits.stopped(current().watch.cause()));
    }
    Ok(())
}

unsafe fn read_nested(
    state: State,
    index: c_int,
    depth_left: u32,
    bytes_left: &mut usize,
) -> Result<Value, Error> {
    // SAFETY: reads only; no function here allocates in Lua.
    unsafe {
        Ok(match lua_type(state, index) {
            LUA_TNONE | LUA_TNIL => Value::Null,
            LUA_TBOOLEAN => Value::Bool(lua_toboolean(state, index) != 0),
            LUA_TNUMBER => number(lua_tonumber(state, index)),
            LUA_TSTRING => text(text_at(state, index), bytes_left)?,
            LUA_TTABLE if depth_left == 0 => {
                return Err(refuse("a table that contains itself or nests too deeply"));
            }
            LUA_TTABLE => {
                spend(bytes_left, 0)?;
                read_table(state, index, depth_left - 1, bytes_left)?
            }
            LUA_TLIGHTUSERDATA if is_null(state, index) => Value::Null,
            LUA_TCDATA => match int64_at(state, index) {
                Some(value) => Value::Int(value),
                None => {
                    return Err(refuse("a cdata that is no integer of 64 bits with a sign"));
                }
            },
            kind => {
                if let Some(object) = objects::at(state, index) {
                    return Ok(Value::Object(objects::check(object)?));
                }
                let name = CStr::from_ptr(lua_typename(state, kind)).to_string_lossy();
                return Err(refuse(&format!("a {name}")));
            }
        })
    }
}

/// A value that is none for a capability.
#[cold]
fn refuse(what: &str) -> Error {
    Error::script(cannot_pass(what))
}

/// A Lua number: an integer where it is one exactly.
pub(crate) fn number(value: f64) -> Value {
    whole(value).map_or(Value::Float(value), Value::Int)
}

/// The whole number that a number is, if it is one.
#[inline]
pub(crate) fn whole(value: f64) -> Option<i64> {
    // From 2^53 on it may stand for others too; JavaScript draws the line there as well.
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    let whole = value as i64;
    let is_whole = whole as f64 == value && value.abs() <= EXACT_MAX;
    (is_whole && (whole != 0 || value.is_sign_positive())).then_some(whole)
}

/// A table with the keys 1 to n is a list, one with only text keys a map. A list may have holes, which are read as
/// nothing, as long as more than about half of it is there.
unsafe fn read_table(
    state: State,
    index: c_int,
    depth_left: u32,
    bytes_left: &mut usize,
) -> Result<Value, Error> {
    // SAFETY: `lua_next` with the table unchanged does not raise; raw reads do not either.
    unsafe {
        let top = lua_gettop(state);
        if rows::push_columns(state, index) {
            let read = read_row(state, index, depth_left, bytes_left);
            lua_settop(state, top);
            return read;
        }
        if let Some(items) = read_plain_list(state, index, bytes_left)? {
            return Ok(Value::List(items));
        }
        let keys = KeySummary::of(state, index);
        if keys.count == 0 {
            let is_list = has_meta(state, index, current().refs.get().array_meta);
            return Ok(if is_list {
                Value::List(Vec::new())
            } else {
                Value::Map(Vec::new())
            });
        }
        if let Some(length) = keys.length {
            spend(bytes_left, length * size_of::<Value>())?;
            let mut items = Vec::with_capacity(length);
            for at in 1..=length {
                lua_rawgeti(state, index, at as i64);
                let item = read_nested(state, lua_gettop(state), depth_left, bytes_left);
                lua_pop(state, 1);
                items.push(item?);
            }
            return Ok(Value::List(items));
        }
        if keys.has_first {
            return Err(refuse(
                "a table with both a list and named keys, or with too many holes,",
            ));
        }
        spend(bytes_left, keys.count * size_of::<Member>())?;
        let mut members = Vec::with_capacity(keys.count);
        lua_pushnil(state);
        while lua_next(state, index) != 0 {
            let member = read_member(state, depth_left, bytes_left);
            lua_settop(state, top + 1);
            members.push(member?);
        }
        // LuaJIT lists them in an order of its own.
        members.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Ok(Value::Map(members))
    }
}

/// A list as most are, with plain values and without holes, read where it lies; `None` if the table is anything else.
unsafe fn read_plain_list(
    state: State,
    index: c_int,
    bytes_left: &mut usize,
) -> Result<Option<Vec<Value>>, Error> {
    // SAFETY: the table stays on the stack, and nothing of Lua runs meanwhile.
    unsafe {
        let table = Table::at(state, index);
        if table.nodes().iter().any(|node| !node.value.is_nil()) {
            return Ok(None);
        }
        let slots = table.array().get(1..).unwrap_or_default();
        let Some(last) = slots.iter().rposition(|slot| !slot.is_nil()) else {
            return Ok(None);
        };
        let left_before = *bytes_left;
        spend(bytes_left, (last + 1) * size_of::<Value>())?;
        let mut items = Vec::with_capacity(last + 1);
        for slot in &slots[..=last] {
            items.push(match slot.see() {
                SlotValue::Bool(value) => Value::Bool(value),
                SlotValue::Number(value) => number(value),
                SlotValue::Int64(value) => Value::Int(value),
                SlotValue::Text(bytes) => text(bytes, bytes_left)?,
                SlotValue::Nil | SlotValue::Table(_) | SlotValue::Light | SlotValue::Other(_) => {
                    *bytes_left = left_before;
                    return Ok(None);
                }
            });
        }
        Ok(Some(items))
    }
}

/// A Lua string: text where it is UTF-8.
fn text(bytes: &[u8], bytes_left: &mut usize) -> Result<Value, Error> {
    spend(bytes_left, bytes.len())?;
    if bytes.is_ascii() {
        // SAFETY: `is_ascii` has found that all bytes are ASCII, which is UTF-8.
        return Ok(Value::Text(unsafe {
            String::from_utf8_unchecked(bytes.to_owned())
        }));
    }
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Bytes(bytes.to_owned()),
    })
}

/// A name and its value in a map.
type Member = (String, Value);

/// The name of a member.
fn name(bytes: &[u8], bytes_left: &mut usize) -> Result<String, Error> {
    spend(bytes_left, bytes.len())?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The key and value on top of the stack. The key must not be changed in place: `lua_next` goes on from it.
unsafe fn read_member(
    state: State,
    depth_left: u32,
    bytes_left: &mut usize,
) -> Result<Member, Error> {
    // SAFETY: both values stay on the stack while they are read, a number is not made a string, and nothing raises.
    unsafe {
        let top = lua_gettop(state);
        let name = match lua_type(state, top - 1) {
            LUA_TSTRING => name(text_at(state, top - 1), bytes_left)?,
            LUA_TNUMBER => lua_tonumber(state, top - 1).to_string(),
            _ => {
                return Err(refuse(
                    "a table with a key that is neither a string nor a number",
                ));
            }
        };
        Ok((name, read_nested(state, top, depth_left, bytes_left)?))
    }
}

/// A row as a map: its columns in order, then what the script has added. The metatable is on top.
unsafe fn read_row(
    state: State,
    row: c_int,
    depth_left: u32,
    bytes_left: &mut usize,
) -> Result<Value, Error> {
    // SAFETY: raw reads; `lua_next` with the table unchanged does not raise.
    unsafe {
        let columns = lua_gettop(state);
        let count = lua_objlen(state, columns);
        spend(bytes_left, count * size_of::<Member>())?;
        let mut members = Vec::with_capacity(count);
        for at in 1..=count {
            lua_rawgeti(state, columns, at as i64);
            let name = name(text_at(state, -1), bytes_left)?;
            lua_rawget(state, row);
            let value = read_nested(state, columns + 1, depth_left, bytes_left)?;
            lua_settop(state, columns);
            members.push((name, value));
        }
        let own = members.len();
        lua_pushnil(state);
        while lua_next(state, row) != 0 {
            let key = columns + 1;
            if lua_type(state, key) != LUA_TSTRING
                || !rows::has_column(state, columns, text_at(state, key))
            {
                spend(bytes_left, size_of::<Member>())?;
                members.push(read_member(state, depth_left, bytes_left)?);
            }
            lua_settop(state, key);
        }
        members[own..].sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Ok(Value::Map(members))
    }
}

/// Reports whether the table at `index` has the metatable that the registry keeps under `reference`.
pub(crate) unsafe fn has_meta(state: State, index: c_int, reference: c_int) -> bool {
    // SAFETY: the metatable is compared raw, so nothing raises; the caller has room for two values.
    unsafe {
        if lua_getmetatable(state, index) == 0 {
            return false;
        }
        push_ref(state, reference);
        let same = lua_rawequal(state, -1, -2) != 0;
        lua_pop(state, 2);
        same
    }
}

/// Pushes a value. May raise for lack of memory, so the value must not be owned by a frame below.
pub(crate) unsafe fn push(state: State, value: &Value) {
    // SAFETY: the caller is under protection; room is made for each level before it is needed.
    unsafe {
        need_room(state, 8);
        match value {
            Value::Null => lua_pushnil(state),
            Value::Bool(value) => lua_pushboolean(state, c_int::from(*value)),
            Value::Int(value) => push_i64(state, *value),
            Value::Float(value) => lua_pushnumber(state, *value),
            Value::Text(text) => push_text(state, text.as_bytes()),
            Value::Bytes(bytes) => push_text(state, bytes),
            Value::List(items) => {
                lua_createtable(state, items.len() as c_int, 0);
                for (index, item) in items.iter().enumerate() {
                    push_or_null(state, item);
                    lua_rawseti(state, -2, index as i64 + 1);
                }
                if items.is_empty() {
                    push_ref(state, current().refs.get().array_meta);
                    lua_setmetatable(state, -2);
                }
            }
            Value::Map(members) => {
                lua_createtable(state, 0, members.len() as c_int);
                for (name, member) in members {
                    push_text(state, name.as_bytes());
                    push_or_null(state, member);
                    lua_rawset(state, -3);
                }
            }
            Value::Rows(rows) => rows::push_rows(state, rows),
            Value::Row(rows) if rows.is_empty() => lua_pushnil(state),
            Value::Row(rows) => rows::push_first(state, rows),
            Value::Object(object) => objects::push(state, *object),
        }
    }
}

/// Inside of lists and maps nothing is `app.null`, so that it survives.
unsafe fn push_or_null(state: State, value: &Value) {
    // SAFETY: under protection, with room for a value; a light pointer needs no memory, and `push` asks no more.
    unsafe {
        match value {
            Value::Null => lua_pushlightuserdata(state, std::ptr::null_mut()),
            value => push(state, value),
        }
    }
}
