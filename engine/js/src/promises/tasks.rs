//! The tasks of a request: the futures behind its promises.
//!
//! A future belongs to the request whose script was running when it was made. Dropping a request's tasks drops its
//! futures and with them the only references to the functions that would go on with its script.

mod advance;

use crate::vm::limits::PENDING_MAX;
use crate::vm::sys::{Cx, Failure, Val};
use sampan_host::engine::cancelled;
use sampan_host::{Error, LocalFuture, RequestObjects, Value};
use sampan_js_contract::BoundRow;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

/// The tasks of one request, or of an isolate's module top level.
#[derive(Default)]
pub(crate) struct Tasks {
    pending: RefCell<Slab<PendingFuture>>,
    /// The number of futures that there have been.
    count: Cell<u64>,
    /// True if they feed a body stream, which then drives them.
    pub(crate) feeds_stream: Cell<bool>,
    /// The waker that is woken when tasks are added or cancelled from elsewhere.
    waker: RefCell<Option<Waker>>,
    /// The native objects that go with the request.
    objects: RefCell<RequestObjects>,
}

/// A task that waits for a promise. The script of another request may settle the promise, so settling wakes the task.
pub(crate) type Waiter = RefCell<Option<Waker>>;

/// The purpose of a future.
#[derive(Clone, Copy)]
pub(crate) enum TaskKind {
    /// The timer of this number, by which it is cleared.
    Timer(i64),
    /// The operation of a row: a record that it gives is renamed, and errors get the name of the row.
    Row(BoundRow),
    /// Anything else.
    Other,
}

/// A future and the promise that waits for it.
struct PendingFuture {
    /// Taken out while it is polled.
    future: Option<LocalFuture<Result<Value, Error>>>,
    /// The number of futures before it.
    number: u64,
    resolve: Val,
    reject: Val,
    kind: TaskKind,
    /// The error that it may become: an object that knows who called.
    failure: Option<Val>,
}

impl PendingFuture {
    fn timer(&self) -> Option<i64> {
        match self.kind {
            TaskKind::Timer(number) => Some(number),
            _ => None,
        }
    }
}

impl Tasks {
    /// Reports whether nothing is left to wait for.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.borrow().is_empty()
    }

    /// Makes a promise of what `future` will give. If that is an error, it is told with `failure`.
    pub(crate) fn promise(
        &self,
        cx: Cx<'_>,
        future: LocalFuture<Result<Value, Error>>,
        kind: TaskKind,
        failure: Option<Val>,
    ) -> Result<Val, Failure> {
        if self.pending.borrow().len() >= PENDING_MAX {
            return Err(Error::script(format!(
                "too much to wait for: a request may wait for {PENDING_MAX} things at a time"
            ))
            .into());
        }
        let (promise, resolve, reject) = cx.promise()?;
        let number = self.count.replace(self.count.get() + 1);
        self.pending.borrow_mut().insert(PendingFuture {
            future: Some(future),
            number,
            resolve,
            reject,
            kind,
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
            .find(|(_, task)| task.timer() == Some(timer))
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

    /// The request is given up: all that its promises wait for fails, and its native objects go. Timers go on.
    pub(crate) fn cancel_all(&self) {
        let mut dropped = Vec::new();
        for (_, task) in &mut *self.pending.borrow_mut() {
            if task.timer().is_none() {
                let failed: LocalFuture<_> = Box::pin(std::future::ready(Err(cancelled())));
                dropped.push(task.future.replace(failed));
            }
        }
        let objects = self.objects.take();
        // Only now: a destructor may be anybody's code.
        drop((dropped, objects));
        self.wake();
    }
}
