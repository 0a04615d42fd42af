//! Requests of native routes.

use crate::error::Error;
use sampan_serve::native::NativeRequest;
use std::borrow::Cow;
use std::fmt;

/// A request to a native route. Clones are the same request. It stays on the thread of its worker: what another thread
/// needs is copied.
#[derive(Clone)]
pub struct Request(NativeRequest);

impl Request {
    pub(crate) fn new(request: NativeRequest) -> Self {
        Self(request)
    }

    /// The method as sent.
    pub fn method(&self) -> &str {
        self.0.method()
    }

    /// The path and the query, as sent.
    pub fn target(&self) -> &str {
        self.0.target()
    }

    /// The path as sent: percent-encoded, without the query.
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// Returns the part after the first `?`, percent-encoded.
    pub fn query(&self) -> Option<&str> {
        self.0.query()
    }

    /// The whole URL, with what trusted proxies say of scheme and host.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// A parameter of the route's pattern, percent-decoded: `id` of `/users/:id`.
    pub fn param(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.param(name)
    }

    /// All parameters, in the order of the pattern.
    pub fn params(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.0.params()
    }

    /// The value of the first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.0.header(name)
    }

    /// All headers in their order, names as sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.headers()
    }

    /// The body, whole. It is at most `limits.body_bytes_max` long: a larger one is answered 413 before a handler is
    /// called. Empty where the handler takes a [`RequestBody`](crate::RequestBody).
    pub fn body(&self) -> &[u8] {
        self.0.body()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// The body is not JSON, or not of this form. A handler that returns the error answers 400 with its message.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        let read = serde_json::from_slice(self.body());
        read.map_err(|error| Error::with_status(400, format!("the body's JSON: {error}")))
    }

    /// The client's address; `X-Forwarded-For` of trusted proxies is believed. `unix:` for a client of a Unix socket.
    pub fn ip(&self) -> String {
        self.0.ip()
    }

    /// The id of the request, as the log has it. Asking for it puts it into the answer as `X-Request-Id`.
    pub fn id(&self) -> Cow<'_, str> {
        self.0.id()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method())
            .field("target", &self.target())
            .finish_non_exhaustive()
    }
}
