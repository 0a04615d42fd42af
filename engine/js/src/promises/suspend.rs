//! Handlers that wait, and work that outlives an answer.

use crate::promises::tasks::{Tasks, Waiter};
use crate::request::call::{promise_result, rejected};
use crate::request::response::{Answerer, signal_of};
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::limits::{BACKGROUND_MAX, BACKGROUND_MILLIS_MAX};
use crate::vm::sys::hidden;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, UNDEFINED, Val, native, number};
use rquickjs::qjs;
use sampan_host::engine::cancelled;
use sampan_host::{Error, ErrorKind, HandlerId, ResponseSink, Suspended};
use std::cell::OnceCell;
use std::ffi::c_int;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

pub(crate) fn is_settled(cx: Cx<'_>, promise: RawValue<'_>) -> bool {
    // SAFETY: something else holds the promise for the lifetime of the `RawValue`; this only reads its state.
    let state = unsafe { qjs::JS_PromiseState(cx.raw(), promise.js()) };
    state != qjs::JSPromiseStateEnum_JS_PROMISE_PENDING
}

/// A promise that is watched until it is settled or this is dropped.
pub(crate) struct WatchedPromise {
    promise: Val,
    waiter: Rc<Waiter>,
    key: usize,
    // Last: it keeps the context of the promise.
    core: Rc<Core>,
}

impl WatchedPromise {
    /// Watches `promise`; its rejection counts as handled.
    pub(crate) fn new(core: Rc<Core>, promise: Val) -> Self {
        let waiter: Rc<Waiter> = Rc::default();
        let key = core.waiters.borrow_mut().insert(waiter.clone());
        let watched = Self {
            promise,
            waiter,
            key,
            core,
        };
        if watched.attach().is_err() {
            drop(watched.core.cx().exception());
        }
        watched
    }

    fn attach(&self) -> Result<(), Thrown> {
        let cx = self.core.cx();
        let mut data = [number(self.key as f64).js()];
        // SAFETY: the data are copied; the promise and the function are alive. The reference that comes back is owned.
        unsafe {
            let wake = cx.check(qjs::JS_NewCFunctionData(
                cx.raw(),
                Some(on_settled),
                1,
                0,
                1,
                data.as_mut_ptr(),
            ))?;
            cx.check(qjs::JS_PromiseThen(
                cx.raw(),
                self.promise.js(),
                wake.js(),
                wake.js(),
            ))?;
        }
        Ok(())
    }

    /// Has the context woken when the promise is settled.
    pub(crate) fn wake(&self, cx: &Context<'_>) {
        let mut waker = self.waiter.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            *waker = Some(cx.waker().clone());
        }
    }

    /// Reports whether the promise is settled.
    pub(crate) fn is_settled(&self) -> bool {
        is_settled(self.core.cx(), self.promise.raw())
    }

    /// The promise.
    pub(crate) fn promise(&self) -> RawValue<'_> {
        self.promise.raw()
    }
}

impl Drop for WatchedPromise {
    fn drop(&mut self) {
        self.core.waiters.borrow_mut().try_remove(self.key);
    }
}

// SAFETY: called by QuickJS alone, with a context that has a core.
unsafe extern "C" fn on_settled(
    ctx: *mut qjs::JSContext,
    _: qjs::JSValue,
    _: c_int,
    _: *mut qjs::JSValue,
    _: c_int,
    data: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: the function was made with one datum, which it keeps.
        let key = unsafe { RawValue::from_js(*data) };
        let key = crate::vm::sys::whole_number(key).unwrap_or(-1);
        let waiter = cx.core().waiters.borrow().get(key as usize).cloned();
        // The number may belong to another task by now, which then wakes for nothing.
        if let Some(waker) = waiter.and_then(|waiter| waiter.take()) {
            waker.wake();
        }
        Ok(cx.undefined())
    })
}

/// A handler whose promise is pending.
pub(crate) struct Waiting {
    tasks: Rc<Tasks>,
    handler: HandlerId,
    /// The status of plain values.
    status: u16,
    request: Option<Val>,
    is_over: bool,
    // Last: it keeps the isolate.
    watched: WatchedPromise,
}

impl Waiting {
    pub(crate) fn new(
        core: Rc<Core>,
        tasks: Rc<Tasks>,
        promise: Val,
        (handler, status): (HandlerId, u16),
        request: Option<Val>,
    ) -> Self {
        Self {
            handler,
            status,
            request,
            is_over: false,
            watched: WatchedPromise::new(core, promise),
            tasks,
        }
    }

    fn finish(&mut self, sink: &mut dyn ResponseSink) -> Result<(), Error> {
        let core = &self.watched.core;
        let request = self.request.take().map(OnceCell::from).unwrap_or_default();
        let answerer = Answerer {
            core,
            handler: self.handler,
            status: self.status,
            request,
        };
        let ran = core.enter(
            self.handler,
            Some(self.tasks.clone()),
            |cx| match promise_result(cx, self.watched.promise()) {
                Some(Ok(value)) => answerer.write(cx, value.raw(), sink),
                Some(Err(reason)) => answerer
                    .write_thrown(cx, reason.raw(), sink)
                    .unwrap_or_else(|| Err(rejected(cx, reason))),
                None => Err(Error::new(
                    ErrorKind::Internal,
                    "the promise is not settled",
                )),
            },
        );
        ran.value?
    }

    fn end(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        self.is_over = true;
        let error = result.as_ref().err();
        ended(&self.watched.core, self.tasks.clone(), self.handler, error);
        result
    }
}

impl Suspended for Waiting {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Poll<Result<(), Error>> {
        if self.is_over {
            return Poll::Ready(Err(Error::new(
                ErrorKind::Internal,
                "the handler has ended",
            )));
        }
        self.watched.wake(cx);
        let (tasks, core) = (self.tasks.clone(), self.watched.core.clone());
        if let Err(error) = tasks.advance_all(&core, self.handler, cx, || self.watched.is_settled())
        {
            return Poll::Ready(self.end(Err(error)));
        }
        if !self.watched.is_settled() {
            return Poll::Pending;
        }
        let result = self.finish(sink);
        Poll::Ready(self.end(result))
    }

    fn cancel(&mut self) {
        // First, so that what listeners of the signal wait for is not meant.
        self.tasks.cancel_all();
        let core = self.watched.core.clone();
        let ran = core.enter(self.handler, Some(self.tasks.clone()), |cx| {
            let signal = match &self.request {
                Some(request) => signal_of(cx, request)?,
                None => None,
            };
            signal.map_or(Ok(()), |signal| abort(cx, &signal))
        });
        if let Ok(Err(Failure::Error(error))) | Err(error) = ran.value {
            (core.contract.report)(error);
        }
    }
}

/// Aborts the signal of a request that is given up. The reason is what its waits fail with, under the name that the Web
/// gives it.
pub(crate) fn abort(cx: Cx<'_>, signal: &Val) -> Result<(), Failure> {
    let reason = error::to_exception(cx, &cancelled())?;
    hidden(cx, reason.raw(), c"name", cx.string("AbortError")?)?;
    let abort = cx.core().tables()?.abort_signal.raw();
    cx.call(abort, UNDEFINED, &[signal.raw(), reason.raw()])?;
    Ok(())
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            self.tasks.abandon(&self.watched.core);
        }
    }
}

/// Treats the unfinished work when it has ended. An error does not end it, as others may wait for it; using up time or
/// memory does.
pub(crate) fn ended(core: &Rc<Core>, tasks: Rc<Tasks>, handler: HandlerId, error: Option<&Error>) {
    match error.map(Error::kind) {
        Some(ErrorKind::Stopped) => tasks.abandon(core),
        Some(ErrorKind::Memory) => {
            tasks.abandon(core);
            core.recover();
        }
        _ => continue_in_background(core, tasks, handler),
    }
}

/// Lets what a request left unfinished go on after its answer, for a while. While a body stream is sent, that drives
/// the tasks instead, and calls this at its end.
fn continue_in_background(core: &Rc<Core>, tasks: Rc<Tasks>, handler: HandlerId) {
    if tasks.is_empty() || tasks.feeds_stream.get() {
        return;
    }
    if core.background.get() >= BACKGROUND_MAX {
        tasks.abandon(core);
        let text = format!(
            "work after an answer was dropped: there is such work of {BACKGROUND_MAX} requests already"
        );
        (core.contract.report)(Error::script(text));
        return;
    }
    core.background.set(core.background.get() + 1);
    let until = Instant::now() + Duration::from_millis(BACKGROUND_MILLIS_MAX);
    let left = BackgroundWork {
        owner: Owner::Request(core.clone()),
        tasks,
        handler,
        until: Some(until),
    };
    (core.spawn)(Box::pin(left));
}

/// Lets timers of the module top level run for as long as the isolate lives.
pub(crate) fn keep_top_level(core: &Rc<Core>, tasks: Rc<Tasks>) {
    *core.top_level.borrow_mut() = Some(tasks.clone());
    let left = BackgroundWork {
        owner: Owner::Isolate(Rc::downgrade(core)),
        tasks,
        handler: 0,
        until: None,
    };
    (core.spawn)(Box::pin(left));
}

/// The owner of a request's unfinished work.
enum Owner {
    /// Work of a request keeps the isolate.
    Request(Rc<Core>),
    /// Work of the module top level ends with the isolate.
    Isolate(Weak<Core>),
}

/// Work that no answer waits for.
struct BackgroundWork {
    owner: Owner,
    tasks: Rc<Tasks>,
    handler: HandlerId,
    until: Option<Instant>,
}

impl std::future::Future for BackgroundWork {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let core = match &self.owner {
            Owner::Request(core) => core.clone(),
            Owner::Isolate(core) => match core.upgrade() {
                Some(core) => core,
                None => return Poll::Ready(()),
            },
        };
        if self.until.is_some_and(|until| Instant::now() >= until) {
            (core.contract.report)(Error::script(format!(
                "work after an answer was dropped after {BACKGROUND_MILLIS_MAX} ms"
            )));
            return Poll::Ready(());
        }
        self.tasks.wake_on_change(cx);
        if let Err(error) = self.tasks.advance_all(&core, self.handler, cx, || false) {
            if error.kind() == ErrorKind::Memory {
                core.recover();
            }
            (core.contract.report)(error);
            // A runaway of the top level costs itself, not the timers beside it.
            return if self.until.is_some() {
                Poll::Ready(())
            } else {
                self.again(cx)
            };
        }
        if self.tasks.is_empty() && self.until.is_some() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl BackgroundWork {
    fn again(&self, cx: &Context<'_>) -> Poll<()> {
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for BackgroundWork {
    fn drop(&mut self) {
        match &self.owner {
            Owner::Request(core) => {
                self.tasks.abandon(core);
                core.background.set(core.background.get() - 1);
            }
            Owner::Isolate(core) => {
                if let Some(core) = core.upgrade() {
                    self.tasks.abandon(&core);
                }
            }
        }
    }
}

/// A promise that is settled by native code.
impl Cx<'_> {
    /// A promise with the functions that settle it.
    pub(crate) fn promise(self) -> Result<(Val, Val, Val), Thrown> {
        let mut functions = [UNDEFINED.js(); 2];
        // SAFETY: QuickJS writes both functions unless it throws, and gives the references of all three.
        unsafe {
            let promise = qjs::JS_NewPromiseCapability(self.raw(), functions.as_mut_ptr());
            let promise = self.check(promise)?;
            let [resolve, reject] = functions;
            Ok((promise, self.own(resolve), self.own(reject)))
        }
    }
}
