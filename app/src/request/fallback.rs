//! The answer where the script gives none: 404, 405, or 204 for OPTIONS.

use crate::request::errors;
use crate::routing::routes::Allow;
use sampan_http::{Body, Response};

/// What holds unless the script says otherwise.
#[derive(Clone, Copy)]
pub(super) struct Fallback {
    pub(super) status: u16,
    /// The methods that the path has, where the method was the wrong one or OPTIONS.
    pub(super) allow: Allow,
}

impl Fallback {
    pub(super) const NONE: Self = Self {
        status: 200,
        allow: Allow::NONE,
    };

    /// Completes an answer that the script left as it was.
    pub(super) fn complete(self, response: &mut Response) {
        if self.status == 200 || response.status() != self.status {
            return;
        }
        if !self.allow.is_empty() && !response.has_header("allow") {
            // Method names joined by commas are always a valid value.
            let _ = response.header(b"Allow", self.allow.field_value().as_bytes());
        }
        if self.status >= 400 && is_blank(response) {
            errors::fill(response);
        }
    }
}

/// Whether nobody wrote a body or said what it would be.
fn is_blank(response: &Response) -> bool {
    let is_empty = match response.body() {
        Body::Empty => true,
        Body::Bytes(bytes) => bytes.is_empty(),
        _ => false,
    };
    is_empty && response.default_content_type().is_none() && !response.has_header("content-type")
}
