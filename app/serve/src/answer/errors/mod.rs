//! The answers that the app did not write: to requests without a route, and to errors.
//!
//! They are JSON, `{"error": "..."}`, and a page for clients that prefer HTML. A message reaches the client only where
//! it describes the client's own fault. An error after which a change may have been saved or not says so.

mod page;

use sampan_host::database::COMMIT_UNKNOWN;
use sampan_host::events::STREAMS_FULL;
use sampan_host::limits::{CANCELLED, CLOSED};
use sampan_host::log::Level;
use sampan_host::sources::FILES_FULL;
use sampan_host::{Error, ErrorKind, answer as rules, refusals, request};
use sampan_http::codec::Exceeded;
use sampan_http::{HeaderError, ReadError, Request, Response};

/// The answer of the HTTP engine itself. It tells the limit that the request was above.
pub(crate) fn refusal(status: u16, limit: Option<Exceeded>, request: Option<&Request>) -> Response {
    let message = limit.map(|limit| above(status, limit));
    let told = Told {
        message: message.as_deref(),
        code: None,
    };
    with_message(status, told, request, None)
}

/// Builds the answer to a request that exceeds a limit. The name of the setting is for the log.
pub(crate) fn above(status: u16, Exceeded { name, max }: Exceeded) -> String {
    let unit = match name {
        _ if name.ends_with("_bytes_max") => " bytes",
        _ if name.ends_with("_millis_max") => " ms",
        _ => "",
    };
    let label = match name {
        "headers_max" => "too many header fields",
        _ => rules::label(status),
    };
    format!("{label}: at most {max}{unit}")
}

/// Returns the reason why a body cannot be read any further, for the script that reads it as it comes. What the script
/// leaves unhandled is answered as the HTTP engine would have answered it.
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

/// The time after which a client should ask again for a stream or a file for which there was no place, in seconds.
const FULL_RETRY_SECONDS: &[u8] = b"5";

/// The message of an answer after which a change may have been saved or not.
const UNKNOWN: &str = "the change may or may not have been saved";

/// The parts of an answer to an error that do not follow from its status.
#[derive(Clone, Copy, Default)]
struct Told<'a> {
    message: Option<&'a str>,
    /// The code of the error, which stays the same in later versions.
    code: Option<&'a str>,
}

impl<'a> Told<'a> {
    /// The parts of an error that a client may see.
    fn of(error: &'a Error) -> Self {
        let is_public = error.kind().is_public();
        if !is_public && error.code() == Some(COMMIT_UNKNOWN) {
            return Self {
                message: Some(UNKNOWN),
                code: Some(COMMIT_UNKNOWN),
            };
        }
        Self {
            message: Some(error.message()).filter(|text| is_public && !text.is_empty()),
            code: None,
        }
    }
}

/// The default answer to an error that no `on_error` handled. `id` is that of a request whose error was logged.
pub(crate) fn answer_to(error: &Error, request: &Request, id: Option<&str>) -> Response {
    let status = error.kind().status();
    let mut response = with_message(status, Told::of(error), Some(request), id);
    if let Some(STREAMS_FULL | FILES_FULL) = error.code() {
        // An answer that has no room for it goes without.
        let _ = response.header(b"Retry-After", FULL_RETRY_SECONDS);
    }
    response
}

/// Returns the answer to an error that is known when the request is gone.
pub(crate) fn late_answer(error: &Error) -> Response {
    with_message(error.kind().status(), Told::of(error), None, None)
}

/// Returns the error for a field line that cannot be sent.
#[cold]
pub(crate) fn refused(fault: HeaderError, name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name);
    match fault {
        HeaderError::InvalidName => refusals::header_name(&name),
        HeaderError::InvalidValue => refusals::header_value(&name),
        HeaderError::InvalidLength | HeaderError::TooLarge => Error::script(fault.to_string()),
    }
}

fn with_message(
    status: u16,
    told: Told<'_>,
    request: Option<&Request>,
    id: Option<&str>,
) -> Response {
    let mut response = Response::new(status);
    write(&mut response, told, request, id);
    response
}

/// Gives a response without a body the default one of its status.
pub(crate) fn fill(response: &mut Response, request: &Request) {
    write(response, Told::default(), Some(request), None);
}

/// Writes the body, as the client of `request` prefers it. `id` is that of a request whose error was logged.
fn write(response: &mut Response, told: Told<'_>, request: Option<&Request>, id: Option<&str>) {
    if let Some(request) = request {
        // Plain text; a response that has no room for it is not kept by caches for long either.
        let _ = response.header(b"Vary", b"Accept");
        if prefers_page(request) {
            return page::write(response, told.message, id);
        }
    }
    response.content_type(rules::JSON);
    let label = rules::label(response.status());
    let message = told.message.unwrap_or(label);
    rules::write_error(response.body_mut(), message, told.code);
}

/// Reports whether the client of a request would rather have a page than JSON.
pub fn prefers_page(request: &Request) -> bool {
    request.header("accept").is_some_and(request::prefers_html)
}

/// Reports whether a run was stopped because its client waits no more, which is no fault.
pub(crate) fn is_given_up(error: &Error) -> bool {
    error.kind() == ErrorKind::Stopped && error.code() == Some(CANCELLED)
}

/// Reports whether an error is worth a line in the log: the client's own faults are not.
pub(crate) fn is_logged(kind: ErrorKind) -> bool {
    !kind.is_public()
}

/// Returns the log level of an error. A script that was stopped because its client left has done nothing
/// wrong.
pub(crate) fn level(error: &Error) -> Level {
    match (error.kind(), error.code()) {
        (ErrorKind::Stopped, Some(CANCELLED | CLOSED)) => Level::Info,
        _ => Level::Error,
    }
}
