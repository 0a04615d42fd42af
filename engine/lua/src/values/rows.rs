//! Rows of a query as Lua tables: plain tables that know their columns.
//!
//! All rows of one set of columns share a metatable. It has no metamethods and scripts do not see it (`getmetatable`
//! gives nil for a row, `setmetatable` may replace it); it lists the names of the columns behind a mark, so that JSON
//! can have them in order and with `null` where the table has nothing. What is derived from a set of columns is kept
//! with its batch's `Arc`, which all results of one prepared statement share.

use crate::values::integers::push_i64;
use crate::values::layout::{FixedValues, StackSlot, Table};
use crate::values::row_shapes::{RowColumn, RowShape};
use crate::vm::isolate::current;
use crate::vm::isolate::room::need_room;
use crate::vm::state::{State, push_mark, push_ref, push_text, text_at};
use mlua_sys::lua51::*;
use sampan_host::Rows;
use sampan_host::json::write_string;
use sampan_host::rows::RawCell;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

/// Rows with more columns than this are made one cell after the other: a Lua function has at most 200 variables.
const MADE_COLUMNS_MAX: usize = 100;

/// Pushes a list of rows. May raise for lack of memory; the batch must not be owned by a frame below.
pub(crate) unsafe fn push_rows(state: State, rows: &Rows) {
    // SAFETY: the caller runs under protection and has made room for the list and its metatable. The rows are borrowed,
    // so that an error skips no destructor.
    unsafe {
        lua_createtable(state, rows.len() as c_int, 0);
        // An empty result is `[]`.
        push_ref(state, current().refs.get().array_meta);
        lua_setmetatable(state, -2);
        if rows.is_empty() {
            return;
        }
        let list = lua_gettop(state);
        let makes = prepare(state, rows);
        for row in 0..rows.len() {
            push_row(state, rows, row, list + 1, makes);
            lua_rawseti(state, list, row as i64 + 1);
        }
        lua_settop(state, list);
    }
}

/// Pushes the first row of a batch that has one. May raise for lack of memory.
pub(crate) unsafe fn push_first(state: State, rows: &Rows) {
    // SAFETY: the caller runs under protection, and `prepare` makes room for a row. The rows are borrowed, so that an
    // error skips no destructor.
    unsafe {
        let makes = prepare(state, rows);
        let tool = lua_gettop(state);
        push_row(state, rows, 0, tool, makes);
        lua_replace(state, tool);
    }
}

/// Pushes what rows are made with: the function that makes them (then this is true) or their metatable. Makes room for
/// a row.
unsafe fn prepare(state: State, rows: &Rows) -> bool {
    // SAFETY: the caller runs under protection; `columns` is borrowed, so an error skips no destructor.
    unsafe {
        let columns = rows.columns();
        need_room(state, columns.len() as c_int + 16);
        let shapes = current().shapes.get();
        if (*shapes).of_columns(columns).is_none() {
            learn(state, columns);
        }
        let makes = columns.len() <= MADE_COLUMNS_MAX;
        let (meta, maker) = match (*shapes).of_columns(columns) {
            Some(shape) => (shape.meta_ref, shape.maker_ref),
            None => (LUA_REFNIL, LUA_REFNIL),
        };
        push_ref(state, if makes { maker } else { meta });
        makes
    }
}

/// Makes the metatable and the function of a set of columns, and remembers them.
#[cold]
unsafe fn learn(state: State, columns: &Arc<[String]>) {
    // SAFETY: under protection; what owns memory is made after the last call that may raise.
    unsafe {
        let bottom = lua_gettop(state);
        lua_createtable(state, columns.len() as c_int, 0);
        push_mark(state);
        lua_rawseti(state, -2, 0);
        let mut count = 0;
        for (at, name) in columns.iter().enumerate() {
            if !columns[..at].contains(name) {
                count += 1;
                push_text(state, name.as_bytes());
                lua_rawseti(state, -2, count);
            }
        }
        push_maker(state, columns);
        let maker_ref = luaL_ref(state, LUA_REGISTRYINDEX);
        let meta: *const Table = Table::at(state, -1);
        let meta_ref = luaL_ref(state, LUA_REGISTRYINDEX);
        let shape = RowShape {
            columns: columns.clone(),
            meta,
            meta_ref,
            maker_ref,
            names: names(columns),
        };
        if let Some((meta, maker)) = (*current().shapes.get()).keep(shape) {
            luaL_unref(state, LUA_REGISTRYINDEX, meta);
            luaL_unref(state, LUA_REGISTRYINDEX, maker);
        }
        lua_settop(state, bottom);
    }
}

/// Pushes the function that makes rows with the metatable on top, or nil if the columns are too many.
unsafe fn push_maker(state: State, columns: &[String]) {
    // SAFETY: the caller runs under protection and has made room. The columns are borrowed, so that an error skips no
    // destructor.
    unsafe {
        if columns.len() > MADE_COLUMNS_MAX {
            lua_pushnil(state);
            return;
        }
        let meta = lua_gettop(state);
        push_ref(state, current().refs.get().row_maker);
        lua_createtable(state, columns.len() as c_int, 0);
        for (at, name) in (1..).zip(columns) {
            push_text(state, name.as_bytes());
            lua_rawseti(state, -2, at);
        }
        lua_pushvalue(state, meta);
        lua_call(state, 2, 1);
    }
}

fn names(columns: &[String]) -> Vec<RowColumn> {
    let mut names = Vec::with_capacity(columns.len());
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].contains(name) {
            continue;
        }
        let mut text = vec![if at == 0 { b'{' } else { b',' }];
        write_string(&mut text, name.as_bytes());
        text.push(b':');
        names.push(RowColumn {
            text: text.into_boxed_slice(),
            place: Cell::new(0),
        });
    }
    names
}

/// Pushes one row, made with what [`prepare`] left at `tool`.
#[inline]
unsafe fn push_row(state: State, rows: &Rows, row: usize, tool: c_int, makes: bool) {
    // SAFETY: the caller is under protection and `prepare` has made room.
    unsafe {
        let columns = rows.columns().len();
        if makes {
            lua_pushvalue(state, tool);
            for column in 0..columns {
                push_cell(state, rows, row, column);
            }
            lua_call(state, columns as c_int, 1);
            return;
        }
        lua_createtable(state, 0, columns as c_int);
        for (column, name) in rows.columns().iter().enumerate() {
            push_text(state, name.as_bytes());
            push_cell(state, rows, row, column);
            lua_rawset(state, -3);
        }
        lua_pushvalue(state, tool);
        lua_setmetatable(state, -2);
    }
}

#[inline]
unsafe fn push_cell(state: State, rows: &Rows, row: usize, column: usize) {
    // SAFETY: under protection, with room for a value; the cells belong to the rows, and nothing on this frame has a
    // destructor.
    unsafe {
        match rows.raw(row, column) {
            RawCell::Text(bytes) | RawCell::Bytes(bytes) => push_text(state, bytes),
            RawCell::Int(value) => push_i64(state, value),
            RawCell::Float(value) => lua_pushnumber(state, value),
            // Seconds, as the module `time` has them.
            RawCell::Date(millis) => lua_pushnumber(state, millis as f64 / 1_000.0),
            RawCell::Null => lua_pushnil(state),
        }
    }
}

/// Reports whether a metatable is that of rows.
#[inline]
pub(crate) fn lists_columns(meta: &Table, fixed: FixedValues) -> bool {
    meta.array().first() == Some(&fixed.mark)
}

/// The names that the metatable of rows lists, each once.
#[inline]
pub(crate) fn columns(meta: &Table) -> &[StackSlot] {
    let names = meta.array().get(1..).unwrap_or_default();
    // The array may have been made larger than the list.
    let end = names.iter().rposition(|name| !name.is_nil());
    &names[..end.map_or(0, |end| end + 1)]
}

/// Pushes the metatable of the table at `index` if that is a row; false, with nothing pushed, if it is not.
pub(crate) unsafe fn push_columns(state: State, index: c_int) -> bool {
    // SAFETY: there is a table at the index.
    unsafe {
        let meta = Table::at(state, index).metatable();
        meta.is_some_and(|meta| lists_columns(meta, current().fixed.get()))
            && lua_getmetatable(state, index) != 0
    }
}

/// Reports whether `name` is among the columns of the metatable at `columns`.
pub(crate) unsafe fn has_column(state: State, columns: c_int, name: &[u8]) -> bool {
    // SAFETY: the metatable at `columns` is a table of ours; raw reads of it raise nothing, and each is popped.
    unsafe {
        (1..=lua_objlen(state, columns)).any(|at| {
            lua_rawgeti(state, columns, at as i64);
            // Equal strings are the same string.
            let same = std::ptr::eq(text_at(state, -1).as_ptr(), name.as_ptr());
            lua_pop(state, 1);
            same
        })
    }
}
