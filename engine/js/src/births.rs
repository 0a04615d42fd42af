//! Which promises were made inside of the brackets that are open, and whether an older one was settled in there.
//!
//! Jobs do not say whose they are. But those of an async function that a bracket called, which started with an empty queue, are its own
//! until it settles a promise that is older than the bracket: others may wait for that one, and would go on inside of the bracket.

use crate::class_calls::ClassCalls;
use crate::suspend::is_settled;
use crate::sys::{Cx, Raw, UNDEFINED, address};
use rquickjs::qjs;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

/// What is known while brackets are open. Time is counted in brackets that began; what was made before all of them is of time 0.
#[derive(Default)]
pub(crate) struct Births {
    /// How one hears of promises that are settled; there once the isolate is set up.
    pub(crate) calls: OnceCell<ClassCalls>,
    time: Cell<u64>,
    /// How many brackets are open, and when the innermost began.
    open: Cell<u32>,
    began: Cell<u64>,
    /// When the promises were made that are not settled, as far as that was inside.
    born: RefCell<HashMap<usize, u64>>,
    /// When the oldest promise was made that was settled inside of the innermost bracket.
    settled: Cell<Option<u64>>,
}

/// What was known of the bracket around.
pub(crate) struct Outer {
    began: u64,
    settled: Option<u64>,
}

impl Births {
    /// A bracket begins.
    pub(crate) fn begin(&self, cx: Cx<'_>) -> Outer {
        if self.open.get() == 0 {
            // SAFETY: the runtime is alive; the hook needs nothing beyond its context.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), Some(on_event), std::ptr::null_mut()) };
            if let Some(calls) = self.calls.get() {
                calls.replace(cx, on_settle);
            }
        }
        self.open.set(self.open.get() + 1);
        self.time.set(self.time.get() + 1);
        Outer {
            began: self.began.replace(self.time.get()),
            settled: self.settled.take(),
        }
    }

    /// The innermost bracket ends.
    pub(crate) fn end(&self, cx: Cx<'_>, outer: Outer) {
        let inner = self.settled.get();
        self.settled
            .set(outer.settled.into_iter().chain(inner).min());
        self.began.set(outer.began);
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            // SAFETY: the runtime is alive.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), None, std::ptr::null_mut()) };
            if let Some(calls) = self.calls.get() {
                calls.restore(cx);
            }
            self.born.borrow_mut().clear();
            self.settled.set(None);
        }
    }

    /// Whether the innermost bracket settled a promise that is older than it.
    pub(crate) fn settled_older(&self) -> bool {
        self.settled
            .get()
            .is_some_and(|made| made < self.began.get())
    }

    fn made(&self, promise: Raw) {
        let mut born = self.born.borrow_mut();
        born.insert(address(promise) as usize, self.time.get());
    }

    fn settled(&self, promise: usize) {
        let made = self.born.borrow_mut().remove(&promise).unwrap_or(0);
        let oldest = self.settled.get().map_or(made, |oldest| oldest.min(made));
        self.settled.set(Some(oldest));
    }
}

/// A promise is made. QuickJS calls this with the context that runs.
unsafe extern "C" fn on_event(
    ctx: *mut qjs::JSContext,
    event: qjs::JSPromiseHookType,
    promise: Raw,
    _: Raw,
    _: *mut c_void,
) {
    if event == qjs::JSPromiseHookType_JS_PROMISE_HOOK_INIT {
        // SAFETY: the context has a core.
        unsafe { Cx::from_raw(ctx) }.core().births.made(promise);
    }
}

/// A function that settles a promise is called. QuickJS calls this with the context that runs and one of these functions.
unsafe extern "C" fn on_settle(
    ctx: *mut qjs::JSContext,
    function: Raw,
    this: Raw,
    count: c_int,
    args: *mut Raw,
    flags: c_int,
) -> Raw {
    // SAFETY: the context has a core.
    let cx = unsafe { Cx::from_raw(ctx) };
    let births = &cx.core().births;
    let Some(calls) = births.calls.get() else {
        return UNDEFINED;
    };
    // The function may be called by the last that holds it or the promise.
    let promise = cx.dup(calls.promise_of(function));
    let was_settled = is_settled(cx, promise.raw());
    // SAFETY: the engine's own function gets what it would have got.
    let result = unsafe { calls.original()(ctx, function, this, count, args, flags) };
    if !was_settled && is_settled(cx, promise.raw()) {
        births.settled(address(promise.raw()) as usize);
    }
    result
}
