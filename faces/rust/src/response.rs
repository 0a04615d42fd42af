//! Answers of native routes.

use crate::error::{Error, ErrorKind};
use crate::stream::{Pieces, Reader};
use futures_core::Stream;
use sampan_http::{Body, BodyStream};
use sampan_serve::native::NativeRequest;
use serde::Serialize;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt::Display;
use tokio::io::AsyncRead;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

/// An answer: a status, headers and a body. `Date`, `Content-Length` and what else is about the connection is the
/// server's.
///
/// ```
/// # use sampan::Response;
/// let response = Response::text("made").status(201).header("Location", "/things/7")?;
/// # assert_eq!(response.status_code(), 201);
/// # Ok::<(), sampan::Error>(())
/// ```
#[derive(Debug)]
pub struct Response {
    inner: sampan_http::Response,
    /// The reason why the handler has failed, for the log.
    failure: Option<String>,
}

impl From<sampan_http::Response> for Response {
    fn from(inner: sampan_http::Response) -> Self {
        let failure = None;
        Self { inner, failure }
    }
}

impl Response {
    /// An answer without a body. A status that cannot end a request (only 200 to 999 can) becomes 500.
    pub fn new(status: u16) -> Self {
        sampan_http::Response::new(status).into()
    }

    fn with_body(content_type: &'static str, body: Vec<u8>) -> Self {
        let mut response = sampan_http::Response::new(200);
        response.content_type(content_type);
        *response.body_mut() = body;
        response.into()
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
    /// It cannot be JSON, as a map whose keys are not texts.
    pub fn json(value: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(value);
        let body = body.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        Ok(Self::with_body(JSON, body))
    }

    /// A body that comes in pieces: the items of a stream, each sent as soon as it is there. The stream is polled on
    /// the thread of its worker, and only while the client takes what it gives; it is dropped when the client leaves.
    /// An error cuts the connection, so that the client can tell, and is logged. A stream that gives nothing for
    /// `limits.stream_idle_millis_max` is cut too.
    ///
    /// The content type is `application/octet-stream` unless there is such a header. For a HEAD request the stream is
    /// not polled.
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

    /// A body that is read from a file, a process, another connection, as far as the client takes it. Else as
    /// [`Response::stream`].
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
        let mut response = sampan_http::Response::new(200);
        response.content_type(BYTES);
        response.set_body(Body::Stream(Box::new(stream)));
        response.into()
    }

    /// Sends the client elsewhere, with 303: it asks for `location` with GET.
    ///
    /// # Errors
    /// The location has control characters.
    pub fn redirect(location: &str) -> Result<Self, Error> {
        Self::new(303).header("Location", location)
    }

    /// Sets the status, under the rule of [`Response::new`].
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.inner.set_status(status);
        self
    }

    /// The status.
    pub fn status_code(&self) -> u16 {
        self.inner.status()
    }

    /// Adds a header; others of the same name stay.
    ///
    /// # Errors
    /// The name is none, the value has control characters, or all headers together are larger than 64 KiB.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, Error> {
        let added = self.inner.header(name.as_bytes(), value.as_ref());
        added.map_err(|fault| Error::new(ErrorKind::Config, format!("{name:?}: {fault}")))?;
        Ok(self)
    }

    /// The answer as the server has it, after the log was told why the handler has failed, if it has.
    pub(crate) fn answered(self, request: &NativeRequest) -> sampan_http::Response {
        if let Some(why) = &self.failure {
            request.failed(&format!("failed: {why}"));
        }
        self.inner
    }

    /// The answer of a handler that has failed: clients see no details.
    fn failed(status: u16, error: &dyn StdError) -> Self {
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            why += &format!(": {cause}");
            source = cause.source();
        }
        let answer = match status {
            500 => Self::text("500 Internal Server Error").status(500),
            status => Self::new(status),
        };
        Self {
            failure: Some(why),
            ..answer
        }
    }
}

/// The results of a handler, itself or by a future.
///
/// | type | the client gets |
/// |---|---|
/// | [`Response`] | that |
/// | `()` | 204 |
/// | `&'static str`, `String`, `Cow<'static, str>` | plain text |
/// | `Vec<u8>` | bytes |
/// | `Option<T>` | `T`; 404 for `None` |
/// | `Result<T, E>` | `T`; for an error 500 without details, and the log says what failed of which request |
/// | [`Error`] | its [status](Error::status); below 500 its message too, and no line of the log |
///
/// The `E` of a result is any type that `?` converts to `Box<dyn std::error::Error + Send + Sync>`: errors of the
/// standard library and of other crates, `anyhow::Error`, texts. An [`Error`] in its place answers as it does alone.
///
/// ```
/// # use sampan::{App, Error, Request, Response};
/// type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
///
/// fn double(request: Request) -> Result<String> {
///     let number = request.param("number").unwrap_or_default();
///     let number: i64 = number.parse().map_err(|_| Error::with_status(400, "a number is expected"))?;
///     let factor: i64 = std::fs::read_to_string("factor.txt")?.parse()?;
///     Ok((number * factor).to_string())
/// }
///
/// let app = App::new().get("/double/:number", double);
/// # drop(app);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the answer of a handler",
    label = "this is none of the types that become an answer",
    note = "return a Response, a text, bytes, (), an Option or a Result of these; see the table of sampan::IntoResponse"
)]
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

/// Answers 404 for `None`.
impl<T: IntoResponse> IntoResponse for Option<T> {
    fn into_response(self) -> Response {
        match self {
            Some(answer) => answer.into_response(),
            None => Response::text("404 Not Found").status(404),
        }
    }
}

/// An error is told to the log, and answered 500; one of our own as [`Error`] is.
impl<T, E> IntoResponse for Result<T, E>
where
    T: IntoResponse,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    fn into_response(self) -> Response {
        match self {
            Ok(answer) => answer.into_response(),
            Err(error) => match error.into().downcast::<Error>() {
                Ok(error) => error.into_response(),
                Err(other) => Response::failed(500, &*other),
            },
        }
    }
}

/// [`Error::status`], without details but for those of a client's own fault.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self.status() {
            status @ 400..500 => Response::text(self.message()).status(status),
            status => Response::failed(status, &self),
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
        let refused: Result<(), _> = Err(Error::with_status(404, "no such tea"));
        let refused = refused.into_response();
        assert_eq!((refused.status_code(), refused.failure), (404, None));
        let other: Result<(), _> = Err("7x".parse::<i32>().expect_err("no number"));
        let other = other.into_response();
        assert_eq!(other.status_code(), 500);
        assert!(
            other
                .failure
                .is_some_and(|why| why.contains("invalid digit"))
        );
        assert_eq!(Response::new(7).status_code(), 500);
        assert!(Response::text("").header("a b", "c").is_err());
        assert!(Response::text("").header("a", "b\r\nc").is_err());
    }
}
