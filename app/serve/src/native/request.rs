//! A request as native handlers see it.

use crate::request::request_view::View;
use sampan_host::{BodySource, Error, ErrorKind, RequestView};
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A request on its way to a native handler. It stays on the thread of its worker; clones are the same request. Nothing
/// is copied out of the buffer that it was received into.
#[derive(Clone)]
pub struct NativeRequest(Rc<View>);

impl NativeRequest {
    pub(crate) fn new(view: Rc<View>) -> Self {
        Self(view)
    }

    /// The method as sent.
    pub fn method(&self) -> &str {
        self.0.method()
    }

    /// The path and the query as sent.
    pub fn target(&self) -> &str {
        self.0.request().target()
    }

    /// The path as sent, percent-encoded, without the query.
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// Returns the part after the first `?`, percent-encoded.
    pub fn query(&self) -> Option<&str> {
        self.0.query()
    }

    /// The whole URL that the client asked for, as far as it is known; that of a trusted proxy where there is one.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// A parameter of the route's pattern by its name, percent-decoded.
    pub fn param(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut params = self.params();
        params.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The parameters of the route's pattern, in its order.
    pub fn params(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        (0..).map_while(|index| self.0.param(index))
    }

    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.0.header(name)
    }

    /// All headers in their order, names as sent.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.request().headers()
    }

    /// The body, whole; empty where it is streamed.
    pub fn body(&self) -> &[u8] {
        self.0.body()
    }

    /// Begins to read a streamed body.
    ///
    /// # Errors
    /// It has been read before: by another reader, or by middleware of the script.
    pub fn begin_body(&self) -> Result<(), Error> {
        self.0.body_source().map_or(Ok(()), BodySource::begin)
    }

    /// The next piece of a streamed body; `None` at its end. Nothing is received until it is asked for.
    pub fn poll_body(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, Error>>> {
        match self.0.body_source() {
            Some(body) => body.poll_piece(cx).map(Result::transpose),
            None => Poll::Ready(None),
        }
    }

    /// The address of the client, or `unix:` for that of a Unix socket. `X-Forwarded-For` of trusted proxies is
    /// believed.
    pub fn ip(&self) -> String {
        self.0.ip()
    }

    /// Tells the log that the program's handler has failed to answer it, and why.
    pub fn failed(&self, why: &str) {
        let error = Error::new(ErrorKind::Internal, format!("the program's handler {why}"));
        self.0.log(&error);
    }

    /// Asks, of what is dropped because its client has left, whether `handler_millis_max` has passed;
    /// else the client has left. The request is not kept for it.
    pub fn overdue(&self) -> impl Fn() -> bool + use<> {
        let view = Rc::downgrade(&self.0);
        move || {
            view.upgrade()
                .is_some_and(|view| view.request().is_overdue())
        }
    }

    /// The id of the request, as the log has it and `X-Request-Id` of the answer.
    pub fn id(&self) -> Cow<'_, str> {
        self.0.id()
    }
}

impl fmt::Debug for NativeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeRequest")
            .field(&self.0.title())
            .finish()
    }
}
