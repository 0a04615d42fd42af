//! The tasks of a request: the futures behind its promises, and its native objects.
//!
//! Each future is a task of the worker. It settles its promise by itself; what the script does then is the platform's
//! matter.

use crate::sys::{Deferred, Failure, Js, Ref};
use crate::values::value;
use crate::vm::core::{Core, Cx};
use crate::vm::error;
use sampan_host::engine::cancelled;
use sampan_host::{Error, HandlerId, LocalFuture, Object, RequestObjects, Type, Value};
use sampan_js_contract::renamed;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

/// The most things that a request may wait for at a time.
const PENDING_MAX: usize = 10_000;

/// The tasks of one request.
#[derive(Default)]
pub(crate) struct Tasks {
    pending: RefCell<Vec<Weak<Pending>>>,
    objects: RefCell<RequestObjects>,
    is_cancelled: Cell<bool>,
    /// The waker for the moment when nothing is left.
    at_end: RefCell<Option<Waker>>,
}

/// One wait, as far as its request can give it up.
#[derive(Default)]
struct Pending {
    is_cancelled: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Tasks {
    /// A native object that a row gives goes with these, if its class says so.
    pub(crate) fn own(&self, core: &Core, object: Object) {
        self.objects
            .borrow_mut()
            .own(core.contract.context.objects(), object);
    }

    /// Reports whether there is something that the request waits for.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending
            .borrow()
            .iter()
            .any(|one| one.strong_count() > 0)
    }

    /// Has the task woken when one of its waits has ended.
    pub(crate) fn wake_at_end(&self, cx: &Context<'_>) {
        self.at_end.replace(Some(cx.waker().clone()));
    }

    fn add(&self) -> Result<Rc<Pending>, Error> {
        let mut pending = self.pending.borrow_mut();
        if pending.len() >= 16 && pending.len().is_power_of_two() {
            pending.retain(|one| one.strong_count() > 0);
        }
        if pending.len() >= PENDING_MAX {
            return Err(Error::script(format!(
                "too much to wait for: a request may wait for {PENDING_MAX} things at a time"
            )));
        }
        let one: Rc<Pending> = Rc::default();
        pending.push(Rc::downgrade(&one));
        Ok(one)
    }

    /// The request is given up: all that its promises wait for fails, and its native objects go.
    pub(crate) fn cancel_all(&self) {
        let pending = self.pending.take();
        for one in pending.iter().filter_map(Weak::upgrade) {
            one.is_cancelled.set(true);
            let waker = one.waker.borrow_mut().take();
            waker.inspect(Waker::wake_by_ref);
        }
        let objects = self.objects.take();
        drop(objects);
    }

    /// The request has ended: its native objects go.
    pub(crate) fn end(&self) {
        self.is_cancelled.set(true);
        let objects = self.objects.take();
        drop(objects);
    }
}

/// Creates a promise for a result of a type.
pub(crate) fn promise(
    cx: Cx<'_>,
    returns: Type,
    mut operation: LocalFuture<Result<Value, Error>>,
) -> Result<Js, Failure> {
    let core = cx.core();
    let slot = core.current();
    let tasks = slot.map(|slot| Rc::clone(&slot.tasks));
    let pending = match &tasks {
        Some(tasks) => tasks.add()?,
        None => Rc::default(),
    };
    let (deferred, promise) = cx.promise()?;
    // Knows who called.
    let here = cx.keep(core.call_own("here", &[])?)?;
    let weak = core.me.clone();
    let settles = async move {
        let result = poll_fn(|cx| {
            if pending.is_cancelled.get() {
                return Poll::Ready(Err(cancelled()));
            }
            pending.waker.replace(Some(cx.waker().clone()));
            operation.as_mut().poll(cx)
        })
        .await;
        drop(operation);
        let Some(core) = weak.upgrade() else {
            return;
        };
        if let (Ok(value), Some(tasks)) = (&result, &tasks)
            && !tasks.is_cancelled.get()
        {
            value.each_object(&mut |object| tasks.own(&core, object));
        }
        core.enter(HandlerId::MAX, None, |cx| {
            settle(cx, deferred, result, returns, here);
        });
        drop(pending);
        if let Some(tasks) = tasks {
            let waker = tasks.at_end.take();
            waker.inspect(Waker::wake_by_ref);
        }
    };
    (core.spawn)(Box::pin(settles));
    (core.platform.ring)();
    Ok(promise)
}

fn settle(cx: Cx<'_>, deferred: Deferred, result: Result<Value, Error>, returns: Type, here: Ref) {
    let settled = match result {
        Ok(value) => value::to_js(cx, renamed(value, returns))
            .map_err(Failure::from)
            .map(Ok),
        Err(failure) => error::to_exception(cx, &failure, Some(here.get())).map(Err),
    };
    let settled = settled.unwrap_or_else(|_| {
        // The value cannot be made: the script that waits for it is told that at least.
        Err(cx.exception().unwrap_or_else(|| cx.undefined()))
    });
    cx.settle(deferred, settled);
}
