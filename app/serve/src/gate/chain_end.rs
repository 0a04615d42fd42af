//! The end of a chain of middleware: what answers a request that all of it lets through.

use crate::answer::errors;
use crate::files::ServedFile;
use crate::native::answer::NATIVE_TYPE;
use crate::native::route::NativeHandler;
use crate::request::request_view::View;
use crate::routing::routes::Allow;
use sampan_host::engine::END_OF_CHAIN;
use sampan_host::{FileAnswer, HandlerId, RequestView, answer};
use sampan_http::{Body, Response};
use std::rc::Rc;

/// The end of a chain of middleware.
pub(crate) enum ChainEnd {
    /// A function of the script.
    Handler(HandlerId),
    /// A file.
    File(Rc<ServedFile>),
    /// A handler of the program that Sampan is a part of.
    Native(NativeHandler),
    /// A folder that has a page: its client asks again, with a slash at the end.
    Folder,
    /// A status, because nothing is there: 404, 405, or 204 for OPTIONS; or 400, because the path is refused.
    Status {
        /// The status.
        status: u16,
        /// The methods that the path has, where the method was the wrong one or OPTIONS.
        allow: Allow,
        /// The script's own answer to it.
        handler: Option<HandlerId>,
        /// The page that a browser gets where the answer has no body.
        page: Option<Rc<ServedFile>>,
    },
}

/// The answer that the server makes at the end of a chain, when the script has run.
#[derive(Clone)]
pub(crate) enum EndAnswer {
    /// A file.
    File(Rc<ServedFile>),
    /// The answer of a native handler.
    Native(NativeHandler),
    /// The socket that the handler has accepted.
    Socket,
}

impl ChainEnd {
    /// The status of the answer unless something else is said.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Handler(_) | Self::File(_) | Self::Native(_) => 200,
            Self::Folder => 301,
            Self::Status { status, .. } => *status,
        }
    }

    /// The function of the script that stands there.
    pub(crate) fn handler(&self) -> Option<HandlerId> {
        match self {
            Self::Handler(handler) => Some(*handler),
            Self::Status { handler, .. } => *handler,
            _ => None,
        }
    }

    /// The answer that the server makes itself.
    pub(crate) fn answer(&self) -> Option<EndAnswer> {
        match self {
            Self::File(file) => Some(EndAnswer::File(Rc::clone(file))),
            Self::Native(handler) => Some(EndAnswer::Native(handler.clone())),
            _ => None,
        }
    }

    /// Returns the server's own answer as middleware sees it.
    pub(crate) fn seen(&self) -> Option<FileAnswer<'_>> {
        let content_type = match self {
            Self::File(file) => file.content_type(),
            Self::Native(_) => NATIVE_TYPE,
            _ => return None,
        };
        Some(FileAnswer {
            path: END_OF_CHAIN,
            content_type,
        })
    }

    /// Completes an answer that the script left as it was.
    pub(crate) fn complete(&self, response: &mut Response, view: &View) {
        match self {
            Self::Folder if response.status() == self.status() => redirect(response, view),
            Self::Status {
                status,
                allow,
                page,
                ..
            } if response.status() == *status => {
                if !allow.is_empty() && !response.has_header("allow") {
                    // Method names joined by commas are always a valid value.
                    let _ = response.header(b"Allow", allow.field_value().as_bytes());
                }
                if *status >= 400 && is_blank(response) {
                    match page {
                        Some(page) => page.complete(response, view.request()),
                        None => errors::fill(response, view.request()),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Sends the client to the page of a folder, to which the links in it are relative.
#[cold]
fn redirect(response: &mut Response, view: &View) {
    if response.has_header("location") {
        return;
    }
    let query = view.query().map(|query| format!("?{query}"));
    let query = query.unwrap_or_default();
    let target = format!("{}/{query}", view.normal_path());
    if let Ok(location) = answer::location(target.as_bytes()) {
        // Without control characters it is always a valid value.
        let _ = response.header(b"Location", location.as_bytes());
    }
}

/// Reports whether a response has no body, and no type that says what it would be.
fn is_blank(response: &Response) -> bool {
    let is_empty = match response.body() {
        Body::Empty => true,
        Body::Bytes(bytes) => bytes.is_empty(),
        _ => false,
    };
    is_empty && response.default_content_type().is_none() && !response.has_header("content-type")
}
