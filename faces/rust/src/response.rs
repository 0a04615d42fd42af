//! Answers of native routes.

use crate::error::{Error, ErrorKind};
use crate::stream::{Pieces, Reader};
use futures_core::Stream;
use sampan_app::http::{Body, BodyStream};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Display;
use tokio::io::AsyncRead;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

/// An answer: a status, headers and a body. `Date`, `Content-Length` and what else is about the connection is the server's.
///
/// ```
/// # use sampan::Response;
/// let response = Response::text("made").status(201).header("Location", "/things/7")?;
/// # assert_eq!(response.status_code(), 201);
/// # Ok::<(), sampan::Error>(())
/// ```
#[derive(Debug)]
pub struct Response(sampan_app::Response);

impl Response {
    /// An answer without a body. A status that cannot end a request (only 200 to 999 can) becomes 500.
    pub fn new(status: u16) -> Self {
        Self(sampan_app::Response::new(status))
    }

    fn with_body(content_type: &'static str, body: Vec<u8>) -> Self {
        let mut response = sampan_app::Response::new(200);
        response.content_type(content_type);
        *response.body_mut() = body;
        Self(response)
    }

    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::with_body(TEXT, text.into().into_bytes())
    }

    /// HTML, as it is: nothing is escaped.
    pub fn html(text: impl Into<String>) -> Self {
        Self::with_body(HTML, text.into().into_bytes())
    }

    /// Bytes. Set a `Content-Type` if they are anything known.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::with_body(BYTES, bytes.into())
    }

    /// A value as JSON.
    ///
    /// # Errors
    /// It cannot be JSON, as a map whose keys are no texts.
    pub fn json(value: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(value);
        let body = body.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        Ok(Self::with_body(JSON, body))
    }

    /// A body that comes in pieces: the items of a stream, each sent as soon as it is there. The stream is polled on the thread of its worker, and
    /// only while the client takes what it gives; it is dropped when the client leaves. An error cuts the connection, so that the client can
    /// tell, and is logged. A stream that gives nothing for `limits.stream_idle_millis_max` is cut too.
    ///
    /// The content type is `application/octet-stream` unless there is such a header. For a HEAD request the stream is not polled.
    ///
    /// ```
    /// # use sampan::{App, Request, Response};
    /// use futures_util::stream;
    ///
    /// /// A number each second, for an `EventSource` in a page.
    /// fn ticks(_: Request) -> Result<Response, sampan::Error> {
    ///     let events = stream::unfold(0, async |count| {
    ///         tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    ///         let event = format!("data: {count}\n\n");
    ///         Some((Ok::<_, std::io::Error>(event), count + 1))
    ///     });
    ///     Response::stream(events).header("Content-Type", "text/event-stream")
    /// }
    ///
    /// let app = App::new().get("/ticks", ticks);
    /// # drop(app);
    /// ```
    pub fn stream<S, B, E>(stream: S) -> Self
    where
        S: Stream<Item = Result<B, E>> + 'static,
        B: AsRef<[u8]> + 'static,
        E: Display,
    {
        Self::streamed(Pieces(Box::pin(stream)))
    }

    /// A body that is read from a file, a process, another connection, as far as the client takes it. Else as [`Response::stream`].
    ///
    /// ```
    /// # use sampan::{App, Request, Response};
    /// async fn camera(_: Request) -> Response {
    ///     match tokio::net::TcpStream::connect("10.0.0.7:8000").await {
    ///         Ok(pictures) => Response::reader(pictures),
    ///         Err(_) => Response::new(502),
    ///     }
    /// }
    ///
    /// let app = App::new().get("/camera", camera);
    /// # drop(app);
    /// ```
    pub fn reader(reader: impl AsyncRead + 'static) -> Self {
        Self::streamed(Reader(Box::pin(reader)))
    }

    fn streamed(stream: impl BodyStream + 'static) -> Self {
        let mut response = sampan_app::Response::new(200);
        response.content_type(BYTES);
        response.set_body(Body::Stream(Box::new(stream)));
        Self(response)
    }

    /// Sends the client elsewhere, with 303: it asks for `location` with GET.
    ///
    /// # Errors
    /// The location has control characters.
    pub fn redirect(location: &str) -> Result<Self, Error> {
        Self::new(303).header("Location", location)
    }

    /// The same answer with another status, under the rule of [`Response::new`].
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.0.set_status(status);
        self
    }

    /// The status.
    pub fn status_code(&self) -> u16 {
        self.0.status()
    }

    /// The same answer with one header more; others of the same name stay.
    ///
    /// # Errors
    /// The name is none, the value has control characters, or all headers together are larger than 64 KiB.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, Error> {
        let added = self.0.header(name.as_bytes(), value.as_ref());
        added.map_err(|fault| Error::new(ErrorKind::Config, format!("{name:?}: {fault}")))?;
        Ok(self)
    }

    pub(crate) fn into_inner(self) -> sampan_app::Response {
        self.0
    }
}

/// What a handler may return.
pub trait IntoResponse {
    /// The answer that it is.
    fn into_response(self) -> Response;
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

/// 204.
impl IntoResponse for () {
    fn into_response(self) -> Response {
        Response::new(204)
    }
}

/// Plain text.
impl IntoResponse for &'static str {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

/// Plain text.
impl IntoResponse for String {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

/// Plain text.
impl IntoResponse for Cow<'static, str> {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

/// Bytes.
impl IntoResponse for Vec<u8> {
    fn into_response(self) -> Response {
        Response::bytes(self)
    }
}

/// Nothing is 404.
impl<T: IntoResponse> IntoResponse for Option<T> {
    fn into_response(self) -> Response {
        match self {
            Some(answer) => answer.into_response(),
            None => Response::text("404 Not Found").status(404),
        }
    }
}

/// An error answers what it becomes.
impl<T: IntoResponse, E: IntoResponse> IntoResponse for Result<T, E> {
    fn into_response(self) -> Response {
        match self {
            Ok(answer) => answer.into_response(),
            Err(error) => error.into_response(),
        }
    }
}

/// [`Error::status`], without details but for those of a client's own fault.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self.status() {
            status @ 400..500 => Response::text(self.message()).status(status),
            500 => Response::text("500 Internal Server Error").status(500),
            status => Response::new(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_answers() {
        assert_eq!(().into_response().status_code(), 204);
        assert_eq!("x".into_response().status_code(), 200);
        assert_eq!(None::<String>.into_response().status_code(), 404);
        let failed: Result<String, Error> = Err(Error::new(ErrorKind::Internal, "x"));
        assert_eq!(failed.into_response().status_code(), 500);
        assert_eq!(Response::new(7).status_code(), 500);
        assert!(Response::text("").header("a b", "c").is_err());
        assert!(Response::text("").header("a", "b\r\nc").is_err());
    }
}
