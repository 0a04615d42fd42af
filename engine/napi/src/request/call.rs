//! A handler is called, and what it returns is written.

use crate::promises::suspend::Waiting;
use crate::promises::tasks::Tasks;
use crate::request::response::Answerer;
use crate::request::slots::RequestSlot;
use crate::sys::{Failure, Js};
use crate::vm::core::{Core, Cx};
use crate::vm::error;
use sampan_host::{Call, Error, ResponseSink, Step};
use std::cell::Cell;
use std::rc::Rc;

/// Calls a handler, with the middleware around it.
pub(crate) fn start(core: &Rc<Core>, call: &Call<'_>, sink: &mut dyn ResponseSink) -> Step {
    let handler = call
        .handler
        .unwrap_or_else(|| call.middleware.first().copied().unwrap_or_default());
    let slot = Rc::new(RequestSlot {
        view: Rc::clone(&call.request),
        tasks: Rc::<Tasks>::default(),
        is_taken: Cell::new(false),
        is_watched: Cell::new(false),
    });
    let request = core.requests.add(Rc::clone(&slot));
    let status = core.default_status(call);
    let answerer = Answerer::new(handler, status, request);
    let step = core.enter(handler, Some(Rc::clone(&slot)), |cx| {
        let returned = invoke(cx, call, &answerer);
        answerer.write_or_fail(cx, returned, sink)
    });
    match step {
        Ok(Some(key)) => {
            return Step::Waiting(Box::new(Waiting::new(core.clone(), key, answerer, slot)));
        }
        Ok(None) if answerer.feeds_stream.get() => return Step::Done,
        _ => {}
    }
    answerer.end(core);
    match step {
        Ok(_) => Step::Done,
        Err(error) => Step::Failed(error),
    }
}

/// `run(handler, request, status, middleware | undefined, error | undefined, end, isTraced)` of the prelude.
fn invoke<'a>(cx: Cx<'a>, call: &Call<'_>, answerer: &Answerer) -> Result<Js<'a>, Failure> {
    let core = cx.core();
    if call.error.is_none() && core.failure.borrow().is_some() {
        // An error that an earlier request threw, and that was not asked for.
        core.failure.take();
    }
    let request = cx.number(answerer.request)?;
    let status = cx.whole(answerer.status.into())?;
    let run = core.tables()?.run.get(cx.env());
    let handler = match call.handler {
        Some(id) => cx.number(f64::from(id))?,
        None => cx.undefined(),
    };
    if call.middleware.is_empty() && call.error.is_none() {
        return Ok(cx.call(run, &[handler, request, status])?);
    }
    let mut chain = Vec::with_capacity(call.middleware.len());
    for id in call.middleware {
        chain.push(cx.number(f64::from(*id))?);
    }
    let chain = cx.array(&chain)?;
    let thrown = match call.error {
        Some(error) => original(cx, error)?,
        None => cx.undefined(),
    };
    let end = match (call.handler, call.file) {
        (Some(_), _) => cx.undefined(),
        (None, Some(file)) => cx.array(&[cx.string(file.path)?, cx.string(file.content_type)?])?,
        (None, None) => cx.number(f64::from(call.fallback))?,
    };
    let is_traced = cx.boolean(call.is_traced);
    let args = [handler, request, status, chain, thrown, end, is_traced];
    Ok(cx.call(core.tables()?.run.get(cx.env()), &args)?)
}

/// Returns the value that was thrown when the request failed, which the prelude has kept; or an equal error.
fn original<'a>(cx: Cx<'a>, error: &Error) -> Result<Js<'a>, Failure> {
    let same = |known: &Error| {
        known.kind() == error.kind()
            && known.message() == error.message()
            && known.stack() == error.stack()
    };
    if cx.core().failure.take().is_some_and(|known| same(&known)) {
        return cx.call_own("lastThrown", &[]);
    }
    error::to_exception(cx, error, None)
}

impl Core {
    /// The status of plain values that a handler returns: that of the error for the error handler, 404 or 405 for the
    /// one that answers what no route does.
    fn default_status(&self, call: &Call<'_>) -> u16 {
        match call.error {
            Some(error) => error.kind().status(),
            None if call.handler.is_some() && call.handler == self.not_found.get() => call.fallback,
            None => 200,
        }
    }
}
