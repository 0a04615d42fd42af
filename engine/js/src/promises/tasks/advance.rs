//! The futures of tasks are polled, and their promises settled.

use super::{PendingFuture, TaskKind, Tasks};
use crate::values::value;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::limits::ROUNDS_MAX;
use crate::vm::sys::{Cx, UNDEFINED};
use sampan_host::{Error, HandlerId, Object, Value};
use sampan_js_contract::renamed;
use std::rc::Rc;
use std::task::{Context, Poll};

impl Tasks {
    /// Polls the futures and goes on with the script for each that is ready. True if any was. An error ends the
    /// request: the script was stopped.
    pub(crate) fn advance(
        self: &Rc<Self>,
        core: &Rc<Core>,
        handler: HandlerId,
        cx: &mut Context<'_>,
    ) -> Result<bool, Error> {
        let mut any = false;
        // No key is larger. Futures that are added meanwhile wait for the next round: each has its turn in order.
        let (end, count) = (self.pending.borrow().capacity(), self.count.get());
        for key in 0..end {
            // Taken out, so that what the future does when it is polled may find the slab free.
            let Some(mut future) = self
                .pending
                .borrow_mut()
                .get_mut(key)
                .filter(|task| task.number < count)
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
                    if let Some(timer) = task.timer() {
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

    /// Gives up everything: drops the futures and the objects.
    pub(crate) fn abandon(&self, core: &Core) {
        // Their destructors may be anybody's code: nothing is borrowed meanwhile.
        let objects = self.objects.take();
        drop(objects);
        let pending = std::mem::take(&mut *self.pending.borrow_mut());
        for (_, task) in pending {
            if let Some(timer) = task.timer() {
                core.timers.borrow_mut().remove(&timer);
            }
        }
    }
}

/// Settles a promise with what its future gave.
fn settle(cx: Cx<'_>, task: &mut PendingFuture, result: Result<Value, Error>) {
    let row = match task.kind {
        TaskKind::Row(row) => Some(row),
        TaskKind::Timer(_) | TaskKind::Other => None,
    };
    let result = match (result, row) {
        (Ok(value), Some(row)) => Ok(renamed(&cx.core().contract, value, row.function.returns)),
        (Err(mut failure), Some(row)) => {
            row.name_error(&mut failure);
            Err(failure)
        }
        (result, None) => result,
    };
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
        // No memory for the value, or names that are refused: the script that waits for it is told that at least.
        let exception = cx.exception();
        drop(cx.call(task.reject.raw(), UNDEFINED, &[exception.raw()]));
        drop(cx.exception());
    }
}
