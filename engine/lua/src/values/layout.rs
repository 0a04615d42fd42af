//! Looks at Lua values where they lie in memory, without Lua's API: a cell of a row costs a few instructions that way
//! instead of some calls. Only reads, and only while nothing of Lua runs.
//!
//! The layout is LuaJIT's own (`lj_obj.h`, 64-bit references), whose sources are a part of the build; [`check`] makes
//! sure of it at start. Nothing here keeps a value alive: callers hold its root on the stack.

pub(crate) mod check;

use crate::vm::state::State;
use mlua_sys::lua51::*;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// A value as it lies in memory: a number, or a tag in the upper 17 bits over an address.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct StackSlot(u64);

/// `GCtab`.
#[repr(C)]
#[allow(dead_code, reason = "the fields that are not read make the layout")]
pub(crate) struct Table {
    next: *const c_void,
    marked: u8,
    kind: u8,
    flags: [u8; 2],
    array: *const StackSlot,
    gclist: *const c_void,
    metatable: *const Table,
    node: *const TableNode,
    array_size: u32,
    node_mask: u32,
}

/// An entry of a table's hash part.
#[repr(C)]
#[allow(dead_code, reason = "the fields that are not read make the layout")]
pub(crate) struct TableNode {
    pub(crate) value: StackSlot,
    pub(crate) key: StackSlot,
    next: *const TableNode,
}

/// `GCstr`; the bytes follow it.
#[repr(C)]
#[allow(dead_code, reason = "the fields that are not read make the layout")]
struct Text {
    next: *const c_void,
    marked: u8,
    kind: u8,
    flags: [u8; 2],
    id: u32,
    hash: u32,
    length: u32,
}

/// `GCcdata`; the payload follows it.
#[repr(C)]
#[allow(dead_code, reason = "the fields that are not read make the layout")]
struct Cdata {
    next: *const c_void,
    marked: u8,
    kind: u8,
    ctype: u16,
}

/// The value of a slot.
pub(crate) enum SlotValue<'a> {
    Nil,
    Bool(bool),
    Number(f64),
    Text(&'a [u8]),
    Table(&'a Table),
    Int64(i64),
    /// A light pointer; which one is told by comparing slots.
    Light,
    /// Anything else, by its name.
    Other(&'static str),
}

/// Values that are told from others by where they lie, or by what lies there.
#[derive(Clone, Copy)]
pub(crate) struct FixedValues {
    /// `app.null`.
    pub(crate) null: StackSlot,
    /// The mark of the host's yields, and the metatables of rows.
    pub(crate) mark: StackSlot,
    pub(crate) array_meta: *const Table,
    pub(crate) request_meta: *const Table,
}

/// `LJ_TNIL` and so on: what the upper bits say, complemented.
mod tag {
    pub(crate) const NIL: u32 = 0;
    pub(crate) const FALSE: u32 = 1;
    pub(crate) const TRUE: u32 = 2;
    pub(crate) const LIGHT: u32 = 3;
    pub(crate) const TEXT: u32 = 4;
    pub(crate) const THREAD: u32 = 6;
    pub(crate) const FUNCTION: u32 = 8;
    pub(crate) const CDATA: u32 = 10;
    pub(crate) const TABLE: u32 = 11;
    pub(crate) const NUMBER: u32 = 13;
}

/// The position of the tag.
const TAG_SHIFT: u32 = 47;

/// `LuaJIT`'s numbers of the two 64-bit integer types, in `lj_ctype.h`.
const CTYPE_INT64: u16 = 11;
const CTYPE_UINT64: u16 = 12;

impl Default for StackSlot {
    fn default() -> Self {
        Self::NIL
    }
}

impl StackSlot {
    pub(crate) const NIL: Self = Self(u64::MAX);

    #[inline]
    pub(crate) fn is_nil(self) -> bool {
        self == Self::NIL
    }

    #[inline]
    fn tag(self) -> u32 {
        !(((self.0 as i64) >> TAG_SHIFT) as u32)
    }

    #[inline]
    fn address<T>(self) -> *const T {
        (self.0 & ((1 << TAG_SHIFT) - 1)) as usize as *const T
    }

    /// The slot of a number, which is not NaN.
    #[inline]
    pub(crate) fn number(number: f64) -> Self {
        Self(number.to_bits())
    }

    /// Returns the value of the slot.
    ///
    /// # Safety
    /// The referenced memory must be alive for `'a`.
    #[inline]
    pub(crate) unsafe fn see<'a>(self) -> SlotValue<'a> {
        // SAFETY: the tag says what lies at the address; the caller keeps it alive.
        unsafe {
            match self.tag() {
                tag::NIL => SlotValue::Nil,
                tag::FALSE => SlotValue::Bool(false),
                tag::TRUE => SlotValue::Bool(true),
                tag::LIGHT => SlotValue::Light,
                tag::TEXT => {
                    let text = self.address::<Text>();
                    let length = (*text).length as usize;
                    SlotValue::Text(std::slice::from_raw_parts(text.add(1).cast(), length))
                }
                tag::TABLE => SlotValue::Table(&*self.address()),
                tag::CDATA => see_cdata(&*self.address()),
                tag::FUNCTION => SlotValue::Other("function"),
                tag::THREAD => SlotValue::Other("thread"),
                // Builds for processors without quick floating point keep small integers apart.
                tag::NUMBER => SlotValue::Number(f64::from(self.0 as u32 as i32)),
                tag if tag > tag::NUMBER => SlotValue::Number(f64::from_bits(self.0)),
                _ => SlotValue::Other("userdata"),
            }
        }
    }
}

#[inline]
unsafe fn see_cdata<'a>(cdata: &Cdata) -> SlotValue<'a> {
    // SAFETY: the payload of these two types has eight bytes, aligned as they are.
    unsafe {
        let payload = (&raw const *cdata).add(1);
        match cdata.ctype {
            CTYPE_INT64 => SlotValue::Int64(*payload.cast::<i64>()),
            CTYPE_UINT64 => match i64::try_from(*payload.cast::<u64>()) {
                Ok(value) => SlotValue::Int64(value),
                Err(_) => SlotValue::Other("cdata"),
            },
            _ => SlotValue::Other("cdata"),
        }
    }
}

impl Table {
    /// The table at `index` of a stack.
    ///
    /// # Safety
    /// There must be a table, which must stay there for `'a`.
    #[inline]
    pub(crate) unsafe fn at<'a>(state: State, index: c_int) -> &'a Self {
        // SAFETY: the caller promises a table that stays; for a table this gives the address of its `GCtab`.
        unsafe { &*lua_topointer(state, index).cast() }
    }

    /// The slots of the array part, from key 0.
    #[inline]
    pub(crate) fn array(&self) -> &[StackSlot] {
        if self.array_size == 0 {
            return &[];
        }
        // SAFETY: a table's own array has so many slots.
        unsafe { std::slice::from_raw_parts(self.array, self.array_size as usize) }
    }

    /// Returns the address of a slot of the array part, to write to it.
    #[inline]
    pub(crate) fn place(&self, at: usize) -> *mut StackSlot {
        self.array.cast_mut().wrapping_add(at)
    }

    /// The entries of the hash part. Those whose value is nil are none.
    #[inline]
    pub(crate) fn nodes(&self) -> &[TableNode] {
        // SAFETY: there is at least one node, be it the one that all empty tables share.
        unsafe { std::slice::from_raw_parts(self.node, self.node_mask as usize + 1) }
    }

    /// The metatable.
    #[inline]
    pub(crate) fn metatable(&self) -> Option<&Self> {
        // SAFETY: the pointer is null, or that of the metatable, which this table keeps alive while it is borrowed.
        unsafe { self.metatable.as_ref() }
    }

    /// The value under a key that is a string, by its hash as LuaJIT finds it.
    #[inline]
    pub(crate) fn find(&self, key: StackSlot) -> StackSlot {
        // SAFETY: a string begins with its head. The mask keeps the place among the nodes, and the chain of a node ends
        // in null.
        unsafe {
            let at = (*key.address::<Text>()).id & self.node_mask;
            let mut node = self.node.add(at as usize);
            while let Some(entry) = node.as_ref() {
                if entry.key == key {
                    return entry.value;
                }
                node = entry.next;
            }
        }
        StackSlot::NIL
    }

    /// The value under a key that is a string. `hint` is where such a key was last time.
    #[inline]
    pub(crate) fn get(&self, key: StackSlot, hint: &Cell<u32>) -> StackSlot {
        let nodes = self.nodes();
        match nodes.get(hint.get() as usize) {
            Some(node) if node.key == key => node.value,
            _ => match nodes.iter().position(|node| node.key == key) {
                Some(at) => {
                    hint.set(at as u32);
                    nodes[at].value
                }
                None => StackSlot::NIL,
            },
        }
    }
}
