//! Counts the collections of cyclic garbage.
//!
//! QuickJS does not tell when it collects. But it asks each object of a class with a `gc_mark` for its values: at the
//! beginning of a collection by one function, later by others. So an object that the isolate keeps counts how often the
//! first of these functions has asked it.

use crate::vm::sys::{Cx, Thrown};
use rquickjs::qjs;
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// The collections of an isolate.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    count: Cell<u64>,
    /// The address of the function by which a collection begins; 0 before the first one.
    first: Cell<usize>,
}

impl Collections {
    /// Returns the number since the last call.
    pub(crate) fn take(&self) -> u64 {
        self.count.take()
    }

    /// Begins to count, for as long as the isolate is there.
    pub(crate) fn install(self: &Rc<Self>, cx: Cx<'_>) -> Result<(), Thrown> {
        let class = cx.class(c"Collections", Some(finalize), Some(mark), None)?;
        // SAFETY: the class is registered. The reference that comes back is owned.
        let object = unsafe { cx.check(qjs::JS_NewObjectClass(cx.raw(), class)) }?;
        let own = Rc::into_raw(Rc::clone(self)).cast_mut().cast::<c_void>();
        // SAFETY: the object is of our class; the finalizer takes the reference back.
        unsafe { qjs::JS_SetOpaque(object.js(), own) };
        cx.core().shapes.keep_own(object);
        Ok(())
    }
}

/// Counts a collection.
///
/// # Safety
/// QuickJS calls it for an object of our class, on the thread of its runtime.
unsafe extern "C" fn mark(_: *mut qjs::JSRuntime, object: qjs::JSValue, mark: qjs::JS_MarkFunc) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class and owns what its pointer shows, unless that is null.
    let this = unsafe {
        qjs::JS_GetAnyOpaque(object, &raw mut id)
            .cast::<Collections>()
            .as_ref()
    };
    if let (Some(this), Some(mark)) = (this, mark) {
        if this.first.get() == 0 {
            this.first.set(mark as usize);
        }
        if this.first.get() == mark as usize {
            this.count.set(this.count.get() + 1);
        }
    }
}

/// Gives up the reference that an object has.
///
/// # Safety
/// QuickJS calls it once for an object of our class, on the thread of its runtime.
unsafe extern "C" fn finalize(_: *mut qjs::JSRuntime, object: qjs::JSValue) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its pointer is null or a reference that it owns.
    unsafe {
        let own = qjs::JS_GetAnyOpaque(object, &raw mut id).cast::<Collections>();
        if !own.is_null() {
            drop(Rc::from_raw(own.cast_const()));
        }
    }
}
