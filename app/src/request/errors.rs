//! The answers that nobody wrote: to what is not there, and to what went wrong.
//!
//! They are JSON, `{"error": "..."}`. A message reaches the client only where it describes the client's own fault.

use crate::scripts;
use sampan_host::engine::{CANCELLED, CLOSED};
use sampan_host::{Error, ErrorKind, answer as rules, request};
use sampan_http::codec::Exceeded;
use sampan_http::{ReadError, Response};
use sampan_log::Level;

/// The answer of the HTTP engine itself. It names the limit that the request was above.
pub(crate) fn refusal(status: u16, limit: Option<Exceeded>) -> Response {
    match limit {
        Some(limit) => with_message(status, &above(status, limit)),
        None => with_message(status, rules::label(status)),
    }
}

fn above(status: u16, Exceeded { name, max }: Exceeded) -> String {
    let unit = match name {
        _ if name.ends_with("_bytes_max") => " bytes",
        _ if name.ends_with("_millis_max") => " ms",
        _ => "",
    };
    format!("{}: at most {max}{unit} ({name})", rules::label(status))
}

/// Why a body cannot be read any further, for the script that reads it as it comes. What the script leaves unhandled is answered as
/// the HTTP engine would have answered it.
pub(crate) fn unreadable(error: ReadError) -> Error {
    match error {
        ReadError::Over => request::is_over(),
        ReadError::Fault(fault) => {
            let text = match fault.limit {
                Some(limit) => above(fault.status, limit),
                None => format!("the body cannot be read: {}", fault.reason),
            };
            Error::new(ErrorKind::Status(fault.status), text)
        }
    }
}

/// The default answer to an error that no `on_error` handled. A program that handed the request over is told of the error too.
pub(crate) fn answer_to(error: &Error) -> Response {
    if is_logged(error.kind()) {
        scripts::tell_caller(error);
    }
    with_message(error.kind().status(), rules::public_message(error))
}

fn with_message(status: u16, message: &str) -> Response {
    let mut response = Response::new(status);
    write(&mut response, message);
    response
}

/// Gives a response without a body the default one of its status.
pub(crate) fn fill(response: &mut Response) {
    let message = rules::label(response.status());
    write(response, message);
}

fn write(response: &mut Response, message: &str) {
    response.content_type(rules::JSON);
    rules::write_error(response.body_mut(), message);
}

/// Whether an error is worth a line in the log: the client's own faults are not.
pub(crate) fn is_logged(kind: ErrorKind) -> bool {
    !kind.is_public()
}

/// How loud the log says it. A script that was stopped because nobody waits for it any more has done nothing wrong.
pub(crate) fn level(error: &Error) -> Level {
    match (error.kind(), error.code()) {
        (ErrorKind::Stopped, Some(CANCELLED | CLOSED)) => Level::Info,
        _ => Level::Error,
    }
}
