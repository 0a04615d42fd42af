//! Promises for what capabilities do asynchronously.
//!
//! The future behind each is a task of the worker. It settles its promise by itself; what the script does then is the
//! platform's matter.

use crate::sys::{Deferred, Failure, Js, Ref};
use crate::values::value;
use crate::vm::core::Cx;
use crate::vm::error;
use sampan_host::engine::cancelled;
use sampan_host::{Error, HandlerId, LocalFuture, Type, Value};
use sampan_js_contract::{BoundRow, renamed};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Creates a promise for the result of an operation, which is a row's where there is one.
pub(crate) fn promise<'a>(
    cx: Cx<'a>,
    row: Option<BoundRow>,
    mut operation: LocalFuture<Result<Value, Error>>,
) -> Result<Js<'a>, Failure> {
    let core = cx.core();
    let slot = core.current();
    let tasks = slot.map(|slot| Rc::clone(&slot.tasks));
    let pending = match &tasks {
        Some(tasks) => tasks.add()?,
        None => Rc::default(),
    };
    let (deferred, promise) = cx.promise()?;
    // Knows who called.
    let here = cx.keep(cx.call_own("here", &[])?)?;
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
            value.each_object(&mut |object| tasks.own(core.contract.context.objects(), object));
        }
        core.enter(HandlerId::MAX, None, |cx| {
            settle(cx, deferred, result, row, here);
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

fn settle(
    cx: Cx<'_>,
    deferred: Deferred,
    result: Result<Value, Error>,
    row: Option<BoundRow>,
    here: Ref,
) {
    let settled = match result {
        Ok(value) => {
            let returns = row.map_or(Type::Any, |row| row.function.returns);
            value::to_js(cx, renamed(&cx.core().contract, value, returns))
                .map_err(Failure::from)
                .map(Ok)
        }
        Err(mut failure) => {
            if let Some(row) = row {
                row.name_error(&mut failure);
            }
            error::to_exception(cx, &failure, Some(here.get(cx.env()))).map(Err)
        }
    };
    let settled = settled.unwrap_or_else(|_| {
        // The value cannot be made: the script that waits for it is told that at least.
        Err(cx.exception().unwrap_or_else(|| cx.undefined()))
    });
    cx.settle(deferred, settled);
}
