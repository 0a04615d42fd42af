//! The tasks of a request: the futures behind its promises.
//!
//! A future belongs to the request whose script was running when it was made. Dropping a request's tasks drops its
//! futures and with them the only references to the functions that would go on with its script.

use crate::values::value;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::limits::{PENDING_MAX, ROUNDS_MAX};
use crate::vm::sys::{Cx, Failure, UNDEFINED, Val};
use sampan_host::engine::cancelled;
use sampan_host::{Error, HandlerId, LocalFuture, Object, RequestObjects, Value};
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The tasks of one request, or of an isolate's module top level.
#[derive(Default)]
pub(crate) struct Tasks {
    pending: RefCell<Slab<PendingFuture>>,
    /// True if they feed a body stream, which then drives them.
    pub(crate) feeds_stream: Cell<bool>,
    /// The waker that is woken when tasks are added or cancelled from elsewhere.
    waker: RefCell<Option<Waker>>,
    /// The native objects that go with the request.
    objects: RefCell<RequestObjects>,
}

/// A future and the promise that waits for it.
struct PendingFuture {
    /// Taken out while it is polled.
    future: Option<LocalFuture<Result<Value, Error>>>,
    resolve: Val,
    reject: Val,
    /// The timer that it is, so that it can be cleared.
    timer: Option<i64>,
    /// The error that it may become: an object that knows who called.
    failure: Option<Val>,
}

impl Tasks {
    /// Reports whether nothing is left to wait for.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.borrow().is_empty()
    }

    fn keys(&self) -> Vec<usize> {
        self.pending.borrow().iter().map(|(key, _)| key).collect()
    }

    /// Makes a promise of what `future` will give. If that is an error, it is told with `failure`.
    pub(crate) fn promise(
        &self,
        cx: Cx<'_>,
        future: LocalFuture<Result<Value, Error>>,
        timer: Option<i64>,
        failure: Option<Val>,
    ) -> Result<Val, Failure> {
        if self.pending.borrow().len() >= PENDING_MAX {
            return Err(Error::script(format!(
                "too much to wait for: a request may wait for {PENDING_MAX} things at a time"
            ))
            .into());
        }
        let (promise, resolve, reject) = cx.promise()?;
        self.pending.borrow_mut().insert(PendingFuture {
            future: Some(future),
            resolve,
            reject,
            timer,
            failure,
        });
        self.wake();
        Ok(promise)
    }

    /// Drops the future of a timer. Its promise stays as it is for ever.
    pub(crate) fn cancel(&self, timer: i64) -> bool {
        let found = self
            .pending
            .borrow()
            .iter()
            .find(|(_, task)| task.timer == Some(timer))
            .map(|(key, _)| key);
        // The task is dropped after the slab is free again: a future's destructor may be anybody's code.
        let task = found.and_then(|key| self.pending.borrow_mut().try_remove(key));
        self.wake();
        task.is_some()
    }

    /// Has the context woken when the tasks change by something other than their futures.
    pub(crate) fn wake_on_change(&self, cx: &Context<'_>) {
        *self.waker.borrow_mut() = Some(cx.waker().clone());
    }

    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        waker.inspect(Waker::wake_by_ref);
    }

    /// Polls the futures and goes on with the script for each that is ready. True if any was. An error ends the
    /// request: the script was stopped.
    pub(crate) fn advance(
        self: &Rc<Self>,
        core: &Rc<Core>,
        handler: HandlerId,
        cx: &mut Context<'_>,
    ) -> Result<bool, Error> {
        let mut any = false;
        for key in self.keys() {
            // Taken out, so that what the future does when it is polled may find the slab free.
            let Some(mut future) = self
                .pending
                .borrow_mut()
                .get_mut(key)
                .and_then(|task| task.future.take())
            else {
                continue;
            };
            let outer = core.polled.replace(Some(self.clone()));
            let polled = future.as_mut().poll(cx);
            drop(core.polled.replace(outer));
            match polled {
                Poll::Pending => {
                    if let Some(task) = self.pending.borrow_mut().get_mut(key) {
                        task.future = Some(future);
                    }
                }
                Poll::Ready(result) => {
                    drop(future);
                    let Some(mut task) = self.pending.borrow_mut().try_remove(key) else {
                        continue;
                    };
                    any = true;
                    if let Ok(value) = &result {
                        value.each_object(&mut |object| self.own(core, object));
                    }
                    if let Some(timer) = task.timer {
                        core.timers.borrow_mut().remove(&timer);
                    }
                    core.enter(handler, Some(self.clone()), |cx| {
                        settle(cx, &mut task, result)
                    })
                    .value?;
                }
            }
        }
        Ok(any)
    }

    /// Advances until nothing is ready any more, or long enough; then the waker is told to come back.
    pub(crate) fn advance_all(
        self: &Rc<Self>,
        core: &Rc<Core>,
        handler: HandlerId,
        cx: &mut Context<'_>,
        mut is_done: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        for _ in 0..ROUNDS_MAX {
            if is_done() || !self.advance(core, handler, cx)? {
                return Ok(());
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// A native object that a row gives goes with these, if its class says so.
    pub(crate) fn own(&self, core: &Core, object: Object) {
        let objects = core.contract.context.objects();
        self.objects.borrow_mut().own(objects, object);
    }

    /// The request is given up: all that its promises wait for fails, and its native objects go. Timers go on.
    pub(crate) fn cancel_all(&self) {
        let mut dropped = Vec::new();
        for (_, task) in &mut *self.pending.borrow_mut() {
            if task.timer.is_none() {
                let failed: LocalFuture<_> = Box::pin(std::future::ready(Err(cancelled())));
                dropped.push(task.future.replace(failed));
            }
        }
        let objects = self.objects.take();
        // Only now: a destructor may be anybody's code.
        drop((dropped, objects));
        self.wake();
    }

    /// Gives up everything: drops the futures and the objects.
    pub(crate) fn abandon(&self, core: &Core) {
        // Their destructors may be anybody's code: nothing is borrowed meanwhile.
        let objects = self.objects.take();
        drop(objects);
        let pending = std::mem::take(&mut *self.pending.borrow_mut());
        for (_, task) in pending {
            if let Some(timer) = task.timer {
                core.timers.borrow_mut().remove(&timer);
            }
        }
    }
}

/// Settles a promise with what its future gave.
fn settle(cx: Cx<'_>, task: &mut PendingFuture, result: Result<Value, Error>) {
    let settled = match result {
        Ok(value) => value::to_js(cx, value)
            .and_then(|value| cx.call(task.resolve.raw(), UNDEFINED, &[value.raw()])),
        Err(failure) => task
            .failure
            .take()
            .map_or_else(|| error::here(cx), Ok)
            .and_then(|made| error::fill(cx, made, &failure))
            .and_then(|error| cx.call(task.reject.raw(), UNDEFINED, &[error.raw()])),
    };
    if settled.is_err() {
        // No memory for the value: the script that waits for it is told that at least.
        let exception = cx.exception();
        drop(cx.call(task.reject.raw(), UNDEFINED, &[exception.raw()]));
        drop(cx.exception());
    }
}
