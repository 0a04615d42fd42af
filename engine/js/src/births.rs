//! Which promises were made inside of the brackets that are open, and whether an older one was settled in there.
//!
//! Jobs do not say whose they are. But those of an async function that a bracket called, which started with an empty queue, are its own
//! until it settles a promise that is older than the bracket: others may wait for that one, and would go on inside of the bracket.
//! The engine tells of promises that are made and fulfilled; it does not tell of those that are rejected where somebody waits.

use crate::sys::{Cx, Raw, address};
use rquickjs::qjs;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;

/// What is known while brackets are open. Time is counted in brackets that began; what was made before all of them is of time 0.
#[derive(Default)]
pub(crate) struct Births {
    time: Cell<u64>,
    /// How many brackets are open, and when the innermost began.
    open: Cell<u32>,
    began: Cell<u64>,
    /// When the promises were made that are not fulfilled, as far as that was inside.
    born: RefCell<HashMap<usize, u64>>,
    /// When the oldest promise was made that was fulfilled inside of the innermost bracket.
    fulfilled: Cell<Option<u64>>,
}

/// What was known of the bracket around.
pub(crate) struct Outer {
    began: u64,
    fulfilled: Option<u64>,
}

impl Births {
    /// A bracket begins.
    pub(crate) fn begin(&self, cx: Cx<'_>) -> Outer {
        if self.open.get() == 0 {
            // SAFETY: the runtime is alive; the hook needs nothing beyond its context.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), Some(on_event), std::ptr::null_mut()) };
        }
        self.open.set(self.open.get() + 1);
        self.time.set(self.time.get() + 1);
        Outer {
            began: self.began.replace(self.time.get()),
            fulfilled: self.fulfilled.take(),
        }
    }

    /// The innermost bracket ends.
    pub(crate) fn end(&self, cx: Cx<'_>, outer: Outer) {
        let inner = self.fulfilled.get();
        self.fulfilled
            .set(outer.fulfilled.into_iter().chain(inner).min());
        self.began.set(outer.began);
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            // SAFETY: the runtime is alive.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), None, std::ptr::null_mut()) };
            self.born.borrow_mut().clear();
            self.fulfilled.set(None);
        }
    }

    /// Whether the innermost bracket fulfilled a promise that is older than it.
    pub(crate) fn fulfilled_older(&self) -> bool {
        self.fulfilled
            .get()
            .is_some_and(|made| made < self.began.get())
    }

    fn made(&self, promise: Raw) {
        let mut born = self.born.borrow_mut();
        born.insert(address(promise) as usize, self.time.get());
    }

    /// A promise is fulfilled, or (`is_final` is false) begins to follow another.
    fn resolved(&self, promise: Raw, is_final: bool) {
        let key = address(promise) as usize;
        let mut born = self.born.borrow_mut();
        let made = if is_final {
            born.remove(&key)
        } else {
            born.get(&key).copied()
        };
        let made = made.unwrap_or(0);
        let oldest = self.fulfilled.get().map_or(made, |oldest| oldest.min(made));
        self.fulfilled.set(Some(oldest));
    }
}

unsafe extern "C" fn on_event(
    ctx: *mut qjs::JSContext,
    event: qjs::JSPromiseHookType,
    promise: Raw,
    _: Raw,
    _: *mut c_void,
) {
    // SAFETY: QuickJS passes the context that runs, which has a core.
    let cx = unsafe { Cx::from_raw(ctx) };
    let births = &cx.core().births;
    match event {
        qjs::JSPromiseHookType_JS_PROMISE_HOOK_INIT => births.made(promise),
        qjs::JSPromiseHookType_JS_PROMISE_HOOK_BEFORE => births.resolved(promise, false),
        qjs::JSPromiseHookType_JS_PROMISE_HOOK_RESOLVE => births.resolved(promise, true),
        _ => {}
    }
}
