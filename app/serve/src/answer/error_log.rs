//! Errors of requests in the log: once each, with their place and stack and the request that they belong to.

use crate::answer::errors;
use sampan_host::log::{Cause, Entry, Log};
use sampan_host::trace::{Trace, TraceIds};
use sampan_host::{Error, RequestView};
use std::borrow::Cow;

/// Logs an error of a request, in a text that names it.
#[cold]
pub fn log_of(logger: &dyn Log, request: Option<&dyn RequestView>, text: String, error: &Error) {
    let trace = request.and_then(Trace::ids_of);
    let request = request.map(|request| (request.id(), (request.method(), request.path())));
    log_as(logger, request, trace, text, error);
}

/// Logs for a request of which only the id, the method and the path are left.
#[cold]
pub(crate) fn log_as(
    logger: &dyn Log,
    request: Option<(Cow<'_, str>, (&str, &str))>,
    trace: Option<TraceIds>,
    text: String,
    error: &Error,
) {
    if !errors::is_logged(error.kind()) {
        return;
    }
    let cause = match error.place() {
        Some(place) => Cause::raised_at(&place.to_string(), error.stack()),
        None => Cause::message(error.message()),
    };
    let code = error.code().map(|code| [("code".to_owned(), code.into())]);
    let entry = Entry {
        fields: code.as_ref().map_or(&[], |code| code.as_slice()),
        stack: error.stack(),
        request: request.as_ref().map(|(_, line)| *line),
        id: request.map(|(id, _)| id),
        trace,
        ..Entry::text(text)
    };
    logger.write_limited(errors::level(error), cause, &entry);
}
