//! The answer where the script gives none: 404, 405, or 204 for OPTIONS.

use crate::request::errors;
use crate::request::request_view::View;
use crate::routing::routes::Allow;
use sampan_host::{RequestView, answer};
use sampan_http::{Body, Response};

/// The default answers, in use unless the script has its own.
#[derive(Clone, Copy)]
pub(crate) struct Fallback {
    pub(crate) status: u16,
    /// The methods that the path has, where the method was the wrong one or OPTIONS.
    pub(super) allow: Allow,
    /// True if a file stands at the end of the chain.
    pub(super) is_file: bool,
    /// True if a native handler stands there.
    pub(super) is_native: bool,
    /// True if it is a folder, which its client asks for again with a slash at the end.
    pub(super) is_folder: bool,
}

impl Fallback {
    pub(super) const NONE: Self = Self {
        status: 200,
        allow: Allow::NONE,
        is_file: false,
        is_native: false,
        is_folder: false,
    };
    pub(super) const FILE: Self = Self {
        is_file: true,
        ..Self::NONE
    };
    pub(crate) const NATIVE: Self = Self {
        is_native: true,
        ..Self::NONE
    };
    pub(super) const FOLDER: Self = Self {
        status: 301,
        is_folder: true,
        ..Self::NONE
    };

    /// A status, and the methods that the path has.
    pub(super) fn of(status: u16, allow: Allow) -> Self {
        Self {
            status,
            allow,
            ..Self::NONE
        }
    }

    /// Completes an answer that the script left as it was.
    pub(super) fn complete(self, response: &mut Response, view: &View) {
        if self.status == 200 || response.status() != self.status {
            return;
        }
        if !self.allow.is_empty() && !response.has_header("allow") {
            // Method names joined by commas are always a valid value.
            let _ = response.header(b"Allow", self.allow.field_value().as_bytes());
        }
        if self.is_folder {
            redirect(response, view);
        }
        if self.status >= 400 && is_blank(response) {
            errors::fill(response, view.request());
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

/// Reports whether nobody wrote a body or said what it would be.
fn is_blank(response: &Response) -> bool {
    let is_empty = match response.body() {
        Body::Empty => true,
        Body::Bytes(bytes) => bytes.is_empty(),
        _ => false,
    };
    is_empty && response.default_content_type().is_none() && !response.has_header("content-type")
}
