//! The names of properties.

pub(crate) mod check;

use crate::vm::sys::{Cx, RawValue, Thrown};
use rquickjs::qjs;
use std::ffi::c_int;

/// The names of an object's own enumerable properties that are strings, in order.
pub(crate) struct PropertyNames<'a> {
    cx: Cx<'a>,
    table: *mut qjs::JSPropertyEnum,
    length: u32,
}

impl<'a> PropertyNames<'a> {
    /// The names of `object`; for a proxy this runs its handler.
    #[inline]
    pub(crate) fn of(cx: Cx<'a>, object: RawValue<'_>) -> Result<Self, Thrown> {
        Self::matching(cx, object, qjs::JS_GPN_STRING_MASK)
    }

    /// Returns the selection with symbols.
    pub(crate) fn with_symbols(cx: Cx<'a>, object: RawValue<'_>) -> Result<Self, Thrown> {
        Self::matching(
            cx,
            object,
            qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_SYMBOL_MASK,
        )
    }

    #[inline]
    fn matching(cx: Cx<'a>, object: RawValue<'_>, kinds: u32) -> Result<Self, Thrown> {
        let mut names = Self {
            cx,
            table: std::ptr::null_mut(),
            length: 0,
        };
        let flags = (kinds | qjs::JS_GPN_ENUM_ONLY) as c_int;
        // SAFETY: the object is alive; the table is released on drop.
        let done = unsafe {
            qjs::JS_GetOwnPropertyNames(
                cx.raw(),
                &raw mut names.table,
                &raw mut names.length,
                object.js(),
                flags,
            )
        };
        if done < 0 { Err(Thrown) } else { Ok(names) }
    }

    /// The names.
    #[inline]
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = qjs::JSAtom> {
        // SAFETY: the table has `length` entries as long as `self` lives.
        (0..self.length as usize).map(|index| unsafe { (*self.table.add(index)).atom })
    }
}

impl Drop for PropertyNames<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.table.is_null() {
            // SAFETY: `JS_GetOwnPropertyNames` gave this value alone the table, which is freed once.
            unsafe { qjs::JS_FreePropertyEnum(self.cx.raw(), self.table, self.length) };
        }
    }
}
