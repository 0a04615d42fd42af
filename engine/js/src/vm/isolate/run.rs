//! One run of a script: the isolate is entered, works off its jobs, reports unhandled rejections, and is left.

use super::Core;
use crate::promises::tasks::Tasks;
use crate::vm::error;
use crate::vm::interrupts::{self, Reachable};
use crate::vm::limits;
use crate::vm::memory::NEVER_COLLECT;
use crate::vm::sys::{Cx, RawValue, address};
use rquickjs::qjs;
use sampan_host::{Error, HandlerId};
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// The result of entering the isolate.
pub(crate) struct RunResult<R> {
    /// The result of the body, or the reason why it does not count.
    pub(crate) value: Result<R, Error>,
    /// The tasks that the run left, if it made any.
    pub(crate) tasks: Option<Rc<Tasks>>,
}

/// The isolate is entered; a panic leaves it too.
struct Entered<'a> {
    core: &'a Core,
    is_left: bool,
    _reachable: Reachable,
}

impl<'a> Entered<'a> {
    #[inline]
    fn new(core: &'a Core, handler: HandlerId) -> Self {
        // SAFETY: the context lives as long as the core, which `Entered` borrows, and neither of them can go to another
        // thread. This type is private to this file, which drops it at the end of the block that made it.
        let reachable = unsafe { Reachable::new(core.counter) };
        core.is_entered.set(true);
        core.watch.enter(handler);
        Self {
            core,
            is_left: false,
            _reachable: reachable,
        }
    }

    /// Reports whether the run was told to stop.
    #[inline]
    fn leave(mut self) -> bool {
        self.is_left = true;
        self.core.is_entered.set(false);
        self.core.watch.leave()
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_left {
            self.core.is_entered.set(false);
            self.core.watch.leave();
        }
    }
}

impl Core {
    /// Gives the runtime its callbacks, which find the core by its address.
    pub(super) fn attach(self: &Rc<Self>, cx: Cx<'_>) {
        let address = Rc::as_ptr(self).cast_mut().cast::<c_void>();
        // SAFETY: the core does not move and outlives the runtime; the callbacks only read it. The core parts from the
        // memory before it frees the context and the runtime.
        unsafe {
            self.memory.serve(cx.runtime(), self.counter);
            qjs::JS_SetContextOpaque(cx.raw(), address);
            qjs::JS_SetInterruptHandler(cx.runtime(), Some(interrupt), address);
            qjs::JS_SetHostPromiseRejectionTracker(cx.runtime(), Some(track_rejection), address);
        }
    }

    /// Runs `body` as a part of one request, then all jobs that it caused.
    #[inline]
    pub(crate) fn enter<R>(
        &self,
        handler: HandlerId,
        tasks: Option<Rc<Tasks>>,
        body: impl FnOnce(Cx<'_>) -> R,
    ) -> RunResult<R> {
        if self.is_entered.get() {
            return self.enter_again(tasks, body);
        }
        let cx = self.cx();
        self.prepare(cx);
        *self.current.borrow_mut() = tasks;
        let entered = Entered::new(self, handler);
        let value = body(cx);
        self.drain(cx);
        if !self.rejections.borrow().is_empty() {
            self.report_rejections(cx);
        }
        let stopped = entered.leave();
        let tasks = self.current.borrow_mut().take();
        self.contract.context.objects().sweep();
        if stopped || self.memory.is_exhausted() {
            return RunResult {
                value: Err(self.stopped(cx)),
                tasks,
            };
        }
        RunResult {
            value: Ok(value),
            tasks,
        }
    }

    /// Something below a running script is dropped or asked for: a part of that run, with other tasks.
    #[cold]
    fn enter_again<R>(
        &self,
        tasks: Option<Rc<Tasks>>,
        body: impl FnOnce(Cx<'_>) -> R,
    ) -> RunResult<R> {
        self.innermost_reader.own_all();
        let outer = self.current.replace(tasks);
        let value = Ok(body(self.cx()));
        RunResult {
            value,
            tasks: self.current.replace(outer),
        }
    }

    /// The stack is counted from here, and cyclic garbage is looked for before memory runs out.
    #[inline]
    fn prepare(&self, cx: Cx<'_>) {
        self.memory.begin();
        // SAFETY: the runtime is alive and runs nothing.
        let threshold = unsafe {
            qjs::JS_UpdateStackTop(cx.runtime());
            qjs::JS_GetGCThreshold(cx.runtime()) as usize
        };
        if threshold != self.gc_threshold.get() {
            self.choose_gc_threshold(cx, threshold);
        }
    }

    /// QuickJS has collected, and will again when there is half as much more than was alive then. Near the limit that
    /// is too late; but each collection looks at everything that is alive, so there must be more than before.
    #[cold]
    fn choose_gc_threshold(&self, cx: Cx<'_>, threshold: usize) {
        let limit = self.limits.memory_bytes_max;
        let alive = threshold / 3 * 2;
        let latest = (limit / 8 * 7).max(alive.saturating_add(limit / 64));
        let wanted = match threshold {
            // A block was refused in the run before.
            NEVER_COLLECT => self.gc_threshold.get(),
            _ => threshold.max(limits::GARBAGE_BYTES_MIN).min(latest),
        };
        self.gc_threshold.set(wanted);
        // SAFETY: the runtime is alive and runs nothing.
        unsafe { qjs::JS_SetGCThreshold(cx.runtime(), wanted as _) };
    }

    /// Runs jobs until there are none, or drops them if the run must stop.
    #[inline]
    pub(crate) fn drain(&self, cx: Cx<'_>) {
        while cx.has_jobs() {
            if self.must_stop() {
                return self.drop_jobs(cx);
            }
            self.run_job(cx);
        }
    }

    fn run_job(&self, cx: Cx<'_>) {
        let mut ctx = std::ptr::null_mut();
        // SAFETY: the runtime is alive, `ctx` is writable.
        let status = unsafe { qjs::JS_ExecutePendingJob(cx.runtime(), &raw mut ctx) };
        if status < 0 {
            if self.dropping_jobs.get() {
                return drop(cx.exception());
            }
            let failure = error::take(cx);
            if !self.must_stop() {
                (self.contract.report)(failure);
            }
        }
    }

    /// Runs down the job queue with every call interrupted, so that no script runs: an interrupted async function never
    /// settles its promise.
    #[cold]
    fn drop_jobs(&self, cx: Cx<'_>) {
        /// More than a memory limit leaves room for.
        const JOBS_MAX: usize = 10_000_000;
        self.dropping_jobs.set(true);
        for _ in 0..JOBS_MAX {
            if !cx.has_jobs() {
                break;
            }
            if let Some(counter) = self.counter {
                counter.expire();
            }
            self.run_job(cx);
        }
        self.dropping_jobs.set(false);
    }

    /// Remembers where an interrupted run was.
    pub(crate) fn note_interrupt(&self, error: &Error) {
        self.stopped_at
            .borrow_mut()
            .get_or_insert_with(|| error.clone());
    }

    #[cold]
    fn stopped(&self, cx: Cx<'_>) -> Error {
        interrupts::skip_none();
        drop(cx.exception());
        self.rejections.borrow_mut().clear();
        let error = if self.memory.is_exhausted() {
            self.limits.out_of_memory()
        } else {
            self.stopped_error()
        };
        match self.stopped_at.borrow_mut().take() {
            Some(at) => error
                .at(at.place().cloned())
                .with_stack(at.stack().unwrap_or_default()),
            None => error,
        }
    }

    /// A promise was rejected without a handler, or has got its first handler after that.
    fn rejection(&self, cx: Cx<'_>, promise: RawValue<'_>, reason: RawValue<'_>, is_handled: bool) {
        let mut rejections = self.rejections.borrow_mut();
        if is_handled {
            rejections.retain(|(other, _)| address(other.raw()) != address(promise));
        } else {
            rejections.push((cx.dup(promise), cx.dup(reason)));
        }
    }

    /// Takes a promise whose rejection the engine handles itself off the list.
    pub(crate) fn handled(&self, cx: Cx<'_>, promise: RawValue<'_>) {
        // SAFETY: something else holds the promise for the lifetime of the `RawValue`, and this only sets its flag.
        unsafe { qjs::JS_PromiseMarkAsHandled(cx.raw(), promise.js()) };
        let mut rejections = self.rejections.borrow_mut();
        if !rejections.is_empty() {
            rejections.retain(|(other, _)| address(other.raw()) != address(promise));
        }
    }

    /// Reports the promises that were rejected without a handler. A report runs getters and `toJSON` of the reason: the
    /// jobs that these make run here, so that none is left to the next run, and the rejections are reported as well.
    #[cold]
    fn report_rejections(&self, cx: Cx<'_>) {
        /// The rounds of reports, each about the rejections that the one before has caused; later ones are dropped.
        const ROUNDS_MAX: usize = 8;
        for _ in 0..ROUNDS_MAX {
            for (_, reason) in self.rejections.take() {
                let error = error::describe(cx, reason.raw());
                if self.must_stop() {
                    break;
                }
                let text = format!("unhandled rejection: {}", error.message());
                (self.contract.report)(error.with_message(text));
            }
            self.drain(cx);
            if self.must_stop() || self.rejections.borrow().is_empty() {
                break;
            }
        }
        drop(self.rejections.take());
    }
}

/// The interrupt handler of a runtime: it says stop for as long as the run is to stop, and takes samples where they are
/// wanted.
///
/// # Safety
/// `opaque` must be the address of the runtime's [`Core`].
unsafe extern "C" fn interrupt(_: *mut qjs::JSRuntime, opaque: *mut c_void) -> c_int {
    // SAFETY: the address is that of a core, as the caller promises. QuickJS calls this while its runtime is alive, and
    // the core outlives its runtime.
    let core = unsafe { &*opaque.cast::<Core>() };
    if core.sampler.get().is_some() {
        if core.is_sampling() {
            return 0;
        }
        core.sample();
    }
    let must_stop = core.must_stop();
    if must_stop {
        interrupts::skip_next();
    }
    c_int::from(must_stop)
}

/// QuickJS calls this when a promise is rejected without a handler, and when it gets one after all.
// SAFETY: called by QuickJS alone, with the pointer that was given with this function.
unsafe extern "C" fn track_rejection(
    ctx: *mut qjs::JSContext,
    promise: qjs::JSValue,
    reason: qjs::JSValue,
    is_handled: bool,
    opaque: *mut c_void,
) {
    // SAFETY: the core outlives the runtime; QuickJS passes a live context, and holds the values until this returns.
    let (core, cx, promise, reason) = unsafe {
        (
            &*opaque.cast::<Core>(),
            Cx::from_raw(ctx),
            RawValue::from_js(promise),
            RawValue::from_js(reason),
        )
    };
    // A panic must not cross C; what could panic here is a borrow, and then there is nothing to note.
    let noted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        core.rejection(cx, promise, reason, is_handled)
    }));
    drop(noted);
}
