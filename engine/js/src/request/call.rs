//! The hot path: a handler is called and what it returns is written, without a future and, for plain handlers, without
//! a promise.

use crate::promises::suspend::{Waiting, ended};
use crate::promises::thenable::promise_of;
use crate::request::object;
use crate::request::response::Answerer;
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::isolate::run::RunResult;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, UNDEFINED, Val, boolean, number};
use rquickjs::qjs;
use sampan_host::{Call, Error, ErrorKind, HandlerId, ResponseSink, Step};
use std::cell::OnceCell;
use std::rc::Rc;

/// The result of a handler.
enum CallOutcome {
    Answered,
    Failed(Error),
    Waits(Val),
}

/// Calls a handler, with the middleware around it.
pub(crate) fn start(
    core: &Rc<Core>,
    call: Call<'_>,
    status: u16,
    sink: &mut dyn ResponseSink,
) -> Step {
    let handler = call
        .handler
        .unwrap_or_else(|| call.middleware.first().copied().unwrap_or_default());
    let request = OnceCell::new();
    let answerer = Answerer {
        core,
        handler,
        status,
        request,
    };
    let RunResult { value, tasks } =
        core.enter(handler, None, |cx| run(cx, &call, &answerer, sink));
    let error = match value {
        Ok(CallOutcome::Answered) => None,
        Ok(CallOutcome::Failed(error)) | Err(error) => Some(error),
        Ok(CallOutcome::Waits(promise)) => {
            let request = answerer.request.into_inner();
            let tasks = tasks.unwrap_or_default();
            let waiting = Waiting::new(core.clone(), tasks, promise, (handler, status), request);
            return Step::Waiting(Box::new(waiting));
        }
    };
    match (tasks, &error) {
        (Some(tasks), _) => ended(core, tasks, handler, error.as_ref()),
        (None, Some(error)) if error.kind() == ErrorKind::Memory => core.recover(),
        (None, _) => {}
    }
    error.map_or(Step::Done, Step::Failed)
}

#[inline]
fn run(
    cx: Cx<'_>,
    call: &Call<'_>,
    answerer: &Answerer<'_>,
    sink: &mut dyn ResponseSink,
) -> CallOutcome {
    let core = answerer.core;
    let returned = match invoke(cx, answerer, call) {
        Ok(returned) => returned,
        Err(Failure::Thrown) => {
            let exception = cx.exception();
            return raised(cx, answerer, exception, sink);
        }
        Err(Failure::Error(error)) => return CallOutcome::Failed(error),
    };
    match promise_of(cx, &returned) {
        Ok(Some(promise)) => {
            core.handled(cx, promise.raw());
            core.drain(cx);
            settled(cx, answerer, promise, sink)
        }
        Ok(None) => {
            core.drain(cx);
            finish(cx, answerer, returned.raw(), sink)
        }
        Err(Thrown) => {
            let exception = cx.exception();
            raised(cx, answerer, exception, sink)
        }
    }
}

/// Looks at the promise of a handler.
fn settled(
    cx: Cx<'_>,
    answerer: &Answerer<'_>,
    promise: Val,
    sink: &mut dyn ResponseSink,
) -> CallOutcome {
    match promise_result(cx, promise.raw()) {
        None => CallOutcome::Waits(promise),
        Some(Ok(value)) => finish(cx, answerer, value.raw(), sink),
        Some(Err(reason)) => raised(cx, answerer, reason, sink),
    }
}

/// Converts a thrown value: an answer if it is a `Response`, else an error.
#[cold]
fn raised(
    cx: Cx<'_>,
    answerer: &Answerer<'_>,
    thrown: Val,
    sink: &mut dyn ResponseSink,
) -> CallOutcome {
    match answerer.write_thrown(cx, thrown.raw(), sink) {
        Some(Ok(())) => CallOutcome::Answered,
        Some(Err(error)) => CallOutcome::Failed(error),
        None => CallOutcome::Failed(rejected(cx, thrown)),
    }
}

#[inline]
fn finish(
    cx: Cx<'_>,
    answerer: &Answerer<'_>,
    value: RawValue<'_>,
    sink: &mut dyn ResponseSink,
) -> CallOutcome {
    match answerer.write(cx, value, sink) {
        Ok(()) => CallOutcome::Answered,
        Err(error) => CallOutcome::Failed(error),
    }
}

/// Returns the result of a promise; `None` if it is pending.
pub(crate) fn promise_result(cx: Cx<'_>, promise: RawValue<'_>) -> Option<Result<Val, Val>> {
    // SAFETY: the promise is alive. The reference that comes back is owned.
    unsafe {
        let state = qjs::JS_PromiseState(cx.raw(), promise.js());
        if state == qjs::JSPromiseStateEnum_JS_PROMISE_PENDING {
            return None;
        }
        let result = cx.own(qjs::JS_PromiseResult(cx.raw(), promise.js()));
        Some(if state == qjs::JSPromiseStateEnum_JS_PROMISE_FULFILLED {
            Ok(result)
        } else {
            Err(result)
        })
    }
}

/// Converts a thrown value to the error of a request; it is kept for the error handler.
#[cold]
pub(crate) fn rejected(cx: Cx<'_>, reason: Val) -> Error {
    let error = error::describe(cx, reason.raw());
    cx.core().failure.replace(Some((reason, error.clone())));
    error
}

#[inline]
fn invoke(cx: Cx<'_>, answerer: &Answerer<'_>, call: &Call<'_>) -> Result<Val, Failure> {
    let core = answerer.core;
    if call.error.is_none() && core.failure.borrow().is_some() {
        // No error handler asked for what an earlier request threw.
        core.failure.take();
    }
    let is_for_fetch =
        call.middleware.is_empty() && call.handler.is_some() && call.handler == core.fetch.get();
    let made = object::new(cx, call.request.clone(), is_for_fetch)?;
    let request = answerer.request.get_or_init(|| made);
    let handler = match call.handler {
        Some(id) => core.handler(cx, id)?,
        None => cx.undefined(),
    };
    // The prelude gives responses without a status that of the path.
    let is_not_found =
        call.fallback != 200 && call.handler.is_some() && call.handler == core.not_found.get();
    if call.middleware.is_empty() && call.error.is_none() && !is_not_found {
        if !cx.is_function(handler.raw()) {
            return Ok(handler);
        }
        return Ok(cx.call(handler.raw(), UNDEFINED, &[request.raw()])?);
    }
    invoke_chain(cx, core, call, request, &handler)
}

fn invoke_chain(
    cx: Cx<'_>,
    core: &Core,
    call: &Call<'_>,
    request: &Val,
    handler: &Val,
) -> Result<Val, Failure> {
    let tables = core.tables()?;
    let mut chain = Vec::with_capacity(call.middleware.len());
    for id in call.middleware {
        chain.push(core.handler(cx, *id)?);
    }
    let chain = cx.array(chain)?;
    let is_traced = cx.dup(boolean(call.is_traced));
    if call.handler.is_none() {
        let status = match call.file {
            Some(file) => cx.array(vec![cx.string(file.path)?, cx.string(file.content_type)?])?,
            None => cx.dup(number(f64::from(call.fallback))),
        };
        return Ok(cx.call(
            tables.run_empty.raw(),
            UNDEFINED,
            &[request.raw(), chain.raw(), status.raw(), is_traced.raw()],
        )?);
    }
    let thrown = match call.error {
        Some(error) => original(cx, core, error)?,
        None => cx.undefined(),
    };
    let status = cx.dup(number(f64::from(core.default_status(call))));
    let args = [
        request.raw(),
        chain.raw(),
        handler.raw(),
        status.raw(),
        thrown.raw(),
        is_traced.raw(),
    ];
    Ok(cx.call(tables.run_handler.raw(), UNDEFINED, &args)?)
}

/// Returns the value that was thrown when the request failed, or an equal error if that is gone.
fn original(cx: Cx<'_>, core: &Core, error: &Error) -> Result<Val, Thrown> {
    let same = |known: &Error| {
        known.kind() == error.kind()
            && known.message() == error.message()
            && known.stack() == error.stack()
    };
    if let Some((thrown, known)) = core.failure.take()
        && same(&known)
    {
        return Ok(thrown);
    }
    error::to_exception(cx, error)
}

impl Core {
    /// The function or value behind an id.
    #[inline]
    fn handler<'a>(&'a self, cx: Cx<'a>, id: HandlerId) -> Result<Val, Failure> {
        let handlers = self.handlers.borrow();
        let handler = handlers.get(id as usize);
        handler.map(|handler| cx.dup(handler.raw())).ok_or_else(|| {
            Error::new(ErrorKind::Internal, format!("there is no handler {id}")).into()
        })
    }

    /// The status of plain values that a handler returns: that of the error for the error handler, 404 or 405 for the
    /// one that answers what no route does.
    #[inline]
    pub(crate) fn default_status(&self, call: &Call<'_>) -> u16 {
        match call.error {
            Some(error) => error.kind().status(),
            None if call.handler.is_some() && call.handler == self.not_found.get() => call.fallback,
            None => 200,
        }
    }
}
