//! What belongs to the brackets that are open: the jobs that run in them, and the promises that were made in them.
//!
//! A bracket has the queue of jobs to itself. Those that were there wait until it is over, and so do those of others that come: of
//! whoever waits for a promise that is older than the bracket and is settled in it. What else comes is its own.

use crate::class_calls::ClassCalls;
use crate::job_queue::{JobQueue, Parked};
use crate::suspend::is_settled;
use crate::sys::{Cx, Raw, UNDEFINED, Val, address};
use rquickjs::qjs;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};

/// How many promises are kept whose functions must not go on; the oldest make room.
const DEAD_MAX: usize = 256;

/// What is known while brackets are open. Time is counted in brackets that began; what was made before all of them is of time 0.
#[derive(Default)]
pub(crate) struct Births {
    /// How one hears of promises that are settled, and where their jobs are; there once the isolate is set up.
    pub(crate) engine: OnceCell<(ClassCalls, JobQueue)>,
    time: Cell<u64>,
    /// The brackets that are open, the innermost last.
    open: RefCell<Vec<Bracket>>,
    /// The promises that are not settled and were made in a bracket that is open, and when.
    born: RefCell<HashMap<usize, (Val, u64)>>,
    /// Promises of functions that began in a bracket which failed, and were not over.
    dead: RefCell<VecDeque<Val>>,
    has_dead: Cell<bool>,
}

/// A bracket that is open.
struct Bracket {
    began: u64,
    /// Jobs that were there before.
    parked: Parked,
    /// Jobs that came because a promise was settled that is older, and when that was made.
    of_others: Vec<(u64, Parked)>,
}

impl Births {
    /// A bracket begins.
    pub(crate) fn begin(&self, cx: Cx<'_>) {
        let Some((calls, queue)) = self.engine.get() else {
            return;
        };
        if self.open.borrow().is_empty() {
            // SAFETY: the runtime is alive; the hook needs nothing beyond its context.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), Some(on_event), std::ptr::null_mut()) };
            calls.replace(cx, on_settle);
        }
        self.time.set(self.time.get() + 1);
        self.open.borrow_mut().push(Bracket {
            began: self.time.get(),
            parked: queue.park(cx, 0),
            of_others: Vec::new(),
        });
    }

    /// The innermost bracket ends. If it failed, nothing that began in it goes on. True if it settled what others waited for.
    pub(crate) fn end(&self, cx: Cx<'_>, has_failed: bool) -> bool {
        let Some(((calls, queue), bracket)) = self.engine.get().zip(self.open.borrow_mut().pop())
        else {
            return false;
        };
        if self.open.borrow().is_empty() {
            // SAFETY: the runtime is alive.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), None, std::ptr::null_mut()) };
            calls.restore(cx);
        }
        if has_failed {
            queue.cancel(cx);
            self.bury(bracket.began);
        }
        let settled_older = !bracket.of_others.is_empty();
        let mut waited = bracket.parked;
        for (made, jobs) in bracket.of_others {
            match self.open.borrow_mut().last_mut() {
                Some(around) if made < around.began => around.of_others.push((made, jobs)),
                _ => waited.append(jobs),
            }
        }
        queue.put_back(cx, waited);
        if self.open.borrow().is_empty() {
            let born = self.born.take();
            drop(born);
        }
        settled_older
    }

    /// What was made since then and is not settled belongs to functions that must not go on.
    fn bury(&self, began: u64) {
        let mut dead = self.dead.borrow_mut();
        let mut dropped = Vec::new();
        for (_, (promise, _)) in self
            .born
            .borrow_mut()
            .extract_if(|_, (_, made)| *made >= began)
        {
            dead.push_back(promise);
            if dead.len() > DEAD_MAX {
                dropped.extend(dead.pop_front());
            }
        }
        self.has_dead.set(!dead.is_empty());
    }

    /// To be called before each job: those of functions that must not go on do nothing.
    #[inline]
    pub(crate) fn before_job(&self, cx: Cx<'_>) {
        if self.has_dead.get()
            && let Some((calls, queue)) = self.engine.get()
        {
            queue.cancel_next_for(cx, *calls, &self.dead.borrow());
        }
    }

    /// Lets go of all promises: the context is about to end.
    pub(crate) fn clear(&self) {
        drop(self.born.take());
        drop(self.dead.take());
        self.has_dead.set(false);
    }

    fn made(&self, cx: Cx<'_>, promise: Raw) {
        let mut born = self.born.borrow_mut();
        let replaced = born.insert(
            address(promise) as usize,
            (cx.dup(promise), self.time.get()),
        );
        debug_assert!(
            replaced.is_none(),
            "a promise that is kept keeps its address"
        );
    }

    /// When the promise was made, if that was before the innermost bracket began.
    fn older(&self, promise: Raw) -> Option<u64> {
        let made = match self.born.borrow().get(&(address(promise) as usize)) {
            Some((_, made)) => *made,
            None => 0,
        };
        let began = self.open.borrow().last().map_or(0, |bracket| bracket.began);
        (made < began).then_some(made)
    }

    /// Jobs beyond the first `kept` came because an older promise was settled that was `made` then.
    fn park_since(&self, cx: Cx<'_>, queue: JobQueue, kept: usize, made: u64) {
        let later = queue.park(cx, kept);
        if !later.is_empty()
            && let Some(bracket) = self.open.borrow_mut().last_mut()
        {
            bracket.of_others.push((made, later));
        }
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
        let cx = unsafe { Cx::from_raw(ctx) };
        cx.core().births.made(cx, promise);
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
    let Some((calls, queue)) = births.engine.get() else {
        return UNDEFINED;
    };
    // The function may be called by the last that holds it or the promise.
    let promise = cx.dup(calls.promise_of(function));
    let older = births
        .older(promise.raw())
        .map(|made| (made, queue.len(cx)));
    // SAFETY: the engine's own function gets what it would have got.
    let result = unsafe { calls.original()(ctx, function, this, count, args, flags) };
    if let Some((made, kept)) = older {
        births.park_since(cx, *queue, kept, made);
    }
    if is_settled(cx, promise.raw()) {
        let forgotten = births
            .born
            .borrow_mut()
            .remove(&(address(promise.raw()) as usize));
        drop(forgotten);
    }
    result
}
