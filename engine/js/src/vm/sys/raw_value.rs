//! Values that something else holds.

use super::Val;
use rquickjs::qjs;
use std::marker::PhantomData;

/// A value that is held for `'a`, by something else: it owns no reference.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RawValue<'a> {
    raw: qjs::JSValue,
    held: PhantomData<&'a Val>,
}

impl<'a> RawValue<'a> {
    /// A value as QuickJS passes it.
    ///
    /// # Safety
    /// The value must be alive for `'a`: it has no reference count, or something holds it.
    #[inline]
    pub(crate) const unsafe fn from_js(raw: qjs::JSValue) -> Self {
        Self {
            raw,
            held: PhantomData,
        }
    }

    /// The value as QuickJS wants it.
    #[inline]
    pub(crate) fn js(self) -> qjs::JSValue {
        self.raw
    }
}

// SAFETY: `undefined` lies in the value itself and has no reference count, so it is valid for ever.
pub(crate) const UNDEFINED: RawValue<'static> = unsafe { RawValue::from_js(qjs::JS_UNDEFINED) };
// SAFETY: `null` lies in the value itself and has no reference count, so it is valid for ever.
pub(crate) const NULL: RawValue<'static> = unsafe { RawValue::from_js(qjs::JS_NULL) };
