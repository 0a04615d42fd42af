//! Values that native data keep.

use super::{Cx, RawValue, UNDEFINED, Val, is_undefined};
use rquickjs::qjs;
use std::cell::Cell;

/// A place in the data of a native object, which owns a reference of the value that is in it. The finalizer of the
/// object frees that ([`Slot::take`]), and its `gc_mark` shows the value to the collector ([`Slot::js`]).
pub(crate) struct Slot(Cell<qjs::JSValue>);

impl Slot {
    /// Creates a slot with `undefined` in it.
    pub(crate) fn empty() -> Self {
        Self(Cell::new(UNDEFINED.js()))
    }

    /// Creates a slot with a value in it.
    pub(crate) fn of(value: Val) -> Self {
        Self(Cell::new(value.into_raw()))
    }

    /// Reports whether the value is `undefined`.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // SAFETY: the slot owns a reference of the value, which is looked at here only.
        is_undefined(unsafe { RawValue::from_js(self.js()) })
    }

    /// Returns the value, with a reference of its own.
    #[inline]
    pub(crate) fn get(&self, cx: Cx<'_>) -> Val {
        // SAFETY: the slot owns a reference of the value until the new one is there.
        cx.dup(unsafe { RawValue::from_js(self.js()) })
    }

    /// Puts a value in, and returns the one that was there.
    #[inline]
    pub(crate) fn replace(&self, cx: Cx<'_>, value: Val) -> Val {
        // SAFETY: the slot has owned the reference that it gives away.
        unsafe { cx.own(self.0.replace(value.into_raw())) }
    }

    /// The value as QuickJS wants it, still owned by the slot.
    #[inline]
    pub(crate) fn js(&self) -> qjs::JSValue {
        self.0.get()
    }

    /// Gives the reference away.
    pub(crate) fn take(&self) -> qjs::JSValue {
        self.0.replace(UNDEFINED.js())
    }
}
