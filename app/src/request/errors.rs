//! The answers that nobody wrote: to what is not there, and to what went wrong.
//!
//! They are JSON, `{"error": "..."}`. A message reaches the client only where it describes the client's own fault.

use sampan_host::{Error, ErrorKind, json};
use sampan_http::Response;

/// The content type of JSON.
pub(crate) const JSON: &str = "application/json";

/// What a status is called in an answer's body.
fn label(status: u16) -> &'static str {
    match status {
        400 => "bad request",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not found",
        405 => "method not allowed",
        408 => "request timeout",
        409 => "conflict",
        413 => "body too large",
        414 => "target too long",
        417 => "expectation failed",
        429 => "too many requests",
        431 => "header too large",
        501 => "not implemented",
        502 => "bad gateway",
        503 => "service unavailable",
        504 => "timeout",
        505 => "HTTP version not supported",
        402 | 406..=499 => "request refused",
        _ => "internal error",
    }
}

/// The default answer of a status.
pub(crate) fn answer(status: u16) -> Response {
    with_message(status, label(status))
}

/// The default answer to an error that no `on_error` handled.
pub(crate) fn answer_to(error: &Error) -> Response {
    let status = error.kind().status();
    let message = if error.kind().is_public() && !error.message().is_empty() {
        error.message()
    } else {
        label(status)
    };
    with_message(status, message)
}

fn with_message(status: u16, message: &str) -> Response {
    let mut response = Response::new(status);
    write(&mut response, message);
    response
}

/// Gives a response without a body the default one of its status.
pub(crate) fn fill(response: &mut Response) {
    let message = label(response.status());
    write(response, message);
}

fn write(response: &mut Response, message: &str) {
    response.content_type(JSON);
    let body = response.body_mut();
    body.extend_from_slice(b"{\"error\":");
    json::write_string(body, message.as_bytes());
    body.push(b'}');
}

/// Whether an error is worth a line in the log: the client's own faults are not.
pub(crate) fn is_logged(kind: ErrorKind) -> bool {
    !kind.is_public()
}
