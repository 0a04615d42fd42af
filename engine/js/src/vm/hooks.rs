//! The services of the engine for the Web surface (the contract in `web/mod.rs`): the log, sleeping, and giving up a
//! sleep.
//!
//! `app` gives them with the [`Setup`](sampan_host::Setup): the engine knows no capability by its name.

use crate::promises::suspend;
use crate::promises::tasks::TaskKind;
use crate::promises::tasks::Tasks;
use crate::vm::error::{self};
use crate::vm::sys::whole_number;
use crate::vm::sys::{Cx, Failure, Native, RawValue, Thrown, UNDEFINED, Val, entry};
use rquickjs::qjs;
use sampan_host::{Error, Value};
use std::ffi::CStr;
use std::rc::Rc;
use std::time::Duration;

const HOOKS: &[(&CStr, Native)] = &[
    (c"__host_log", entry(log)),
    (c"__host_report", entry(report)),
    (c"__host_sleep", entry(sleep)),
    (c"__host_cancel", entry(cancel)),
    (c"__host_hidden", entry(hidden)),
];

/// Puts the hooks on the global object, from where the Web surface takes them.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    // SAFETY: the context is alive. The reference that comes back is owned.
    let global = unsafe { cx.own(qjs::JS_GetGlobalObject(cx.raw())) };
    HOOKS
        .iter()
        .try_for_each(|(name, hook)| cx.define(global.raw(), name, cx.function(name, 2, 0, *hook)?))
}

/// `__host_log(level, text)`
fn log(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let [level, text, ..] = args else {
        return Err(Error::script("log: needs a level and a text").into());
    };
    (cx.core().console)(&cx.text(*level)?, &cx.text(*text)?);
    Ok(cx.undefined())
}

/// `__host_report(error)`
pub(crate) fn report(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let thrown = args.first().copied();
    let error = error::describe(cx, thrown.unwrap_or(UNDEFINED));
    if !cx.core().must_stop() {
        (cx.core().contract.report)(error);
    }
    Ok(cx.undefined())
}

/// `__host_sleep(ms, id)`
fn sleep(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let number =
        |index: usize| whole_number(args.get(index).copied().unwrap_or(UNDEFINED)).unwrap_or(0);
    let (millis, id) = (number(0), number(1));
    let slept = (cx.core().sleep)(Duration::from_millis(millis.try_into().unwrap_or(0)));
    let future = Box::pin(async move {
        slept.await;
        Ok(Value::Null)
    });
    let tasks = cx.core().tasks();
    let promise = tasks.promise(cx, future, TaskKind::Timer(id), None)?;
    cx.core()
        .timers
        .borrow_mut()
        .insert(id, Rc::downgrade(&tasks));
    Ok(promise)
}

/// `__host_cancel(id)`
fn cancel(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let id = args.first().and_then(|id| whole_number(*id));
    let tasks = id.and_then(|id| cx.core().timers.borrow_mut().remove(&id));
    if let (Some(id), Some(tasks)) = (id, tasks.and_then(|tasks| tasks.upgrade())) {
        Tasks::cancel(&tasks, id);
    }
    Ok(cx.undefined())
}

/// `__host_hidden(name)`
fn hidden(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let name = cx.text(args.first().copied().unwrap_or(UNDEFINED))?;
    Ok(cx.core().hidden.symbol(cx, &name)?)
}

/// Keeps the work that the module top level left waiting goes on beside the requests.
pub(crate) fn keep_timers(core: &Rc<crate::vm::isolate::Core>, tasks: Option<Rc<Tasks>>) {
    if let Some(tasks) = tasks.filter(|tasks| !tasks.is_empty()) {
        suspend::keep_top_level(core, tasks);
    }
}
