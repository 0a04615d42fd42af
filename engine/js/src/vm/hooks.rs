//! What the Web surface asks of the engine (the contract in `web/mod.rs`): the log, sleeping, and giving up a sleep.
//!
//! All three are rows of capabilities, found by their names, so that the surface works with whatever `app` offers.

use crate::promises::suspend;
use crate::promises::tasks::Tasks;
use crate::vm::error::whole_number;
use crate::vm::sys::{Cx, Native, Raw, Thrown, UNDEFINED, arguments, native};
use rquickjs::qjs;
use sampan_host::{Args, Error, Function, Kind, Value};
use std::ffi::{CStr, c_int};
use std::rc::Rc;

const HOOKS: &[(&CStr, Native)] = &[
    (c"__host_log", log),
    (c"__host_sleep", sleep),
    (c"__host_cancel", cancel),
    (c"__host_hidden", hidden),
];

/// Puts the hooks on the global object, from where the Web surface takes them.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    // SAFETY: the context is alive.
    let global = cx.own(unsafe { qjs::JS_GetGlobalObject(cx.raw()) });
    HOOKS
        .iter()
        .try_for_each(|(name, hook)| cx.define(global.raw(), name, cx.function(name, 2, 0, *hook)?))
}

fn row(cx: Cx<'_>, module: &str, function: &str) -> Result<&'static Function, Error> {
    let modules = cx
        .core()
        .modules
        .iter()
        .filter(|candidate| candidate.name == module);
    let found = modules
        .flat_map(|module| module.functions)
        .find(|candidate| candidate.name == function);
    found.ok_or_else(|| {
        Error::script(format!(
            "there is no {module}.{function} here, which this needs"
        ))
    })
}

/// `__host_log(level, text)`
unsafe extern "C" fn log(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let [level, text, ..] = args else {
            return Err(Error::script("log: needs a level and a text").into());
        };
        let function = row(cx, "log", &cx.text(*level)?)?;
        let Kind::Sync(body) = function.kind else {
            return Err(Error::script("log: not a plain function").into());
        };
        let values = vec![Value::Text(cx.text(*text)?)];
        body(
            &cx.core().context_of_capabilities,
            Args::check("log", function, values)?,
        )?;
        Ok(cx.undefined())
    })
}

/// `__host_sleep(ms, id)`
unsafe extern "C" fn sleep(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let number =
            |index: usize| whole_number(args.get(index).copied().unwrap_or(UNDEFINED)).unwrap_or(0);
        let (millis, id) = (number(0), number(1));
        let function = row(cx, "time", "sleep")?;
        let Kind::Async(body) = function.kind else {
            return Err(Error::script("time.sleep: not an asynchronous function").into());
        };
        let args = Args::check("time", function, vec![Value::Float(millis as f64 / 1000.0)])?;
        let future = body(&cx.core().context_of_capabilities, args);
        let tasks = cx.core().tasks();
        let promise = tasks.promise(cx, future, Some(id), None)?;
        cx.core()
            .timers
            .borrow_mut()
            .insert(id, Rc::downgrade(&tasks));
        Ok(promise)
    })
}

/// `__host_cancel(id)`
unsafe extern "C" fn cancel(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let id = unsafe { arguments(argc, argv) }
            .first()
            .and_then(|id| whole_number(*id));
        let tasks = id.and_then(|id| cx.core().timers.borrow_mut().remove(&id));
        if let (Some(id), Some(tasks)) = (id, tasks.and_then(|tasks| tasks.upgrade())) {
            Tasks::cancel(&tasks, id);
        }
        Ok(cx.undefined())
    })
}

/// `__host_hidden(name)`
unsafe extern "C" fn hidden(
    ctx: *mut qjs::JSContext,
    _: Raw,
    argc: c_int,
    argv: *mut Raw,
    _: c_int,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values.
        let args = unsafe { arguments(argc, argv) };
        let name = cx.text(args.first().copied().unwrap_or(UNDEFINED))?;
        Ok(cx.core().hidden.symbol(cx, &name)?)
    })
}

/// What the module top level left waiting goes on beside the requests.
pub(crate) fn keep_timers(core: &Rc<crate::vm::isolate::Core>, tasks: Option<Rc<Tasks>>) {
    if let Some(tasks) = tasks.filter(|tasks| !tasks.is_empty()) {
        suspend::keep_top_level(core, tasks);
    }
}
