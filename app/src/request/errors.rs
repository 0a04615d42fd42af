//! The answers that nobody wrote: to what is not there, and to what went wrong.
//!
//! They are JSON, `{"error": "..."}`. A message reaches the client only where it describes the client's own fault.

use sampan_host::{Error, ErrorKind, answer as rules};
use sampan_http::Response;
use sampan_http::codec::Exceeded;

/// The answer of the HTTP engine itself. It names the limit that the request was above.
pub(crate) fn refusal(status: u16, limit: Option<Exceeded>) -> Response {
    let Some(Exceeded { name, max }) = limit else {
        return with_message(status, rules::label(status));
    };
    let unit = match name {
        _ if name.ends_with("_bytes_max") => " bytes",
        _ if name.ends_with("_millis_max") => " ms",
        _ => "",
    };
    with_message(
        status,
        &format!("{}: at most {max}{unit} ({name})", rules::label(status)),
    )
}

/// The default answer to an error that no `on_error` handled.
pub(crate) fn answer_to(error: &Error) -> Response {
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
