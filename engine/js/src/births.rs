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

/// What is known while brackets are open. A promise is as deep as the bracket in which it was made; 0 is outside of all.
#[derive(Default)]
pub(crate) struct Births {
    /// How many brackets are open.
    depth: Cell<u32>,
    /// How deep the promises are that were made inside and are not fulfilled.
    born: RefCell<HashMap<usize, u32>>,
    /// The least deep promise that was fulfilled inside of the innermost bracket.
    fulfilled: Cell<Option<u32>>,
}

/// What the bracket around it knew.
pub(crate) struct Outer(Option<u32>);

impl Births {
    /// A bracket begins.
    pub(crate) fn begin(&self, cx: Cx<'_>) -> Outer {
        if self.depth.get() == 0 {
            // SAFETY: the runtime is alive; the hook needs nothing beyond its context.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), Some(on_event), std::ptr::null_mut()) };
        }
        self.depth.set(self.depth.get() + 1);
        Outer(self.fulfilled.take())
    }

    /// The innermost bracket ends.
    pub(crate) fn end(&self, cx: Cx<'_>, outer: Outer) {
        let inner = self.fulfilled.get();
        let least = outer.0.into_iter().chain(inner).min();
        self.fulfilled.set(least);
        self.depth.set(self.depth.get() - 1);
        if self.depth.get() == 0 {
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
            .is_some_and(|depth| depth < self.depth.get())
    }

    fn made(&self, promise: Raw) {
        let mut born = self.born.borrow_mut();
        born.insert(address(promise) as usize, self.depth.get());
    }

    fn fulfil(&self, promise: Raw) {
        let depth = self.born.borrow_mut().remove(&(address(promise) as usize));
        let depth = depth.unwrap_or(0);
        let least = self.fulfilled.get().map_or(depth, |least| least.min(depth));
        self.fulfilled.set(Some(least));
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
        qjs::JSPromiseHookType_JS_PROMISE_HOOK_RESOLVE => births.fulfil(promise),
        _ => {}
    }
}
