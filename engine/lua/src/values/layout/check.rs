//! The check at start of how values lie in memory.

use super::{SlotValue, Table};
use crate::values::integers::push_i64;
use crate::vm::state::{State, push_text};
use mlua_sys::lua51::*;

/// Reports whether values lie in memory as this module expects. Under protection; leaves nothing on the stack.
pub(crate) unsafe fn check(state: State) -> bool {
    const ODD: i64 = 0x1234_5678_9abc_def1;
    // SAFETY: under protection. The table is looked at only while it is on the stack.
    unsafe {
        let top = lua_gettop(state);
        lua_createtable(state, 4, 4);
        lua_createtable(state, 0, 0);
        let meta = lua_topointer(state, -1);
        lua_setmetatable(state, -2);
        lua_pushnumber(state, 0.5);
        lua_rawseti(state, -2, 1);
        lua_pushboolean(state, 1);
        lua_rawseti(state, -2, 2);
        push_i64(state, ODD);
        lua_rawseti(state, -2, 3);
        push_text(state, b"key");
        push_text(state, b"some text");
        lua_rawset(state, -3);
        let table = Table::at(state, -1);
        let array = table.array();
        let key = table.nodes().iter().find(|node| !node.value.is_nil());
        let known = array.len() == 5
            && array[0].is_nil()
            && matches!(array[1].see(), SlotValue::Number(0.5))
            && matches!(array[2].see(), SlotValue::Bool(true))
            && matches!(array[3].see(), SlotValue::Int64(ODD))
            && array[4].is_nil()
            && table.nodes().len() == 4
            && key.is_some_and(|node| {
                matches!(node.key.see(), SlotValue::Text(b"key"))
                    && matches!(node.value.see(), SlotValue::Text(b"some text"))
            })
            && key.is_some_and(|node| table.find(node.key) == node.value)
            && std::ptr::eq(table.metatable, meta.cast());
        lua_settop(state, top);
        known
    }
}
