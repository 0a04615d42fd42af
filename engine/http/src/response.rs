//! Responses as a handler makes them: a status, validated field lines, a body.

pub(crate) mod length;
mod owned;

use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::codec::fault::Exceeded;
use crate::codec::fields::{is_field_value, is_token};
use crate::limits::RESPONSE_FIELDS_BYTES_MAX;

pub use length::LengthCheck;
pub use owned::OwnedResponse;

/// The room for a body at first: most bodies of JSON then need no second allocation.
const FIRST_BODY_BYTES: usize = 256;

/// A response that has not been sent. Framing, `Date` and `Connection` are the engine's, see [`Response::header`].
pub struct Response {
    status: u16,
    fields: Vec<u8>,
    content_type: Option<&'static str>,
    /// The properties of `fields`, so that sending needs no search.
    has_content_type: bool,
    has_date: bool,
    close: bool,
    declared_length: Option<u64>,
    body: Body,
}

/// The body of a response.
#[derive(Default)]
pub enum Body {
    /// No bytes.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, which others use as well; never copied when they are many.
    Shared(Arc<[u8]>),
    /// Bytes of another owner, which stay the same for each response; large ones are never copied.
    Lent(Box<dyn AsRef<[u8]>>),
    /// A part of an open file. The system sends it from where it keeps it.
    File(FilePart),
    /// Pieces as they become ready. With a declared length (see [`Response::header`]) they are sent as they are, and a
    /// stream of another length is cut. Without one they are chunked for HTTP/1.1 clients, and end with the connection
    /// for 1.0 clients.
    Stream(Box<dyn BodyStream>),
}

impl Body {
    /// The memory that the body holds for this response alone, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Body::Bytes(bytes) => bytes.capacity(),
            Body::Lent(lender) => (**lender).as_ref().len(),
            Body::Empty | Body::Shared(_) | Body::File(_) | Body::Stream(_) => 0,
        }
    }
}

/// A part of an open file.
#[derive(Clone, Debug)]
pub struct FilePart {
    /// The file. Its position is not used.
    pub file: Arc<File>,
    /// The start of the part, in bytes.
    pub start: u64,
    /// The length in bytes. Where the file has become shorter, the connection ends in the middle of the body.
    pub len: u64,
}

/// One piece of a streamed body.
pub enum Chunk {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Bytes of another owner, which stay the same for each response; large ones are never copied.
    Lent(Box<dyn AsRef<[u8]>>),
    /// Bytes of another owner, which may change as soon as its code runs again. What the client does not take at once
    /// is copied.
    LentBriefly(Box<dyn AsRef<[u8]>>),
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Chunk {
        Chunk::Bytes(bytes)
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        match self {
            Chunk::Bytes(bytes) => bytes,
            Chunk::Lent(lender) | Chunk::LentBriefly(lender) => (**lender).as_ref(),
        }
    }
}

/// The source of a streamed body. It is dropped when the client goes away.
pub trait BodyStream {
    /// The next piece, or `None` at the end. An empty piece is skipped. After an error or the end it is not
    /// asked again; an error aborts the connection without a final chunk, so that the client can tell.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>>;

    /// Takes note of the worker's state before each poll. Returns the time at which the stream is to be polled though
    /// nothing has woken it, by the worker's clock; `u64::MAX` for never. A stream is polled at once when its worker
    /// begins to end.
    fn look(&mut self, worker: WorkerMoment) -> u64 {
        let _ = worker;
        u64::MAX
    }

    /// Called before the server drops a stream that has not ended, because it is above a limit.
    fn cut(&mut self, limit: Exceeded) {
        let _ = limit;
    }
}

/// The state of a worker at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerMoment {
    /// The time, in milliseconds, by a clock that is as coarse as the worker's deadlines.
    pub now_millis: u64,
    /// Set once the worker is about to end: the time over which clients should spread when they come back, in
    /// milliseconds (`drain_millis`).
    pub ends_over_millis: Option<u64>,
}

/// The reason why a streamed body cannot be finished. Its text is for the source's own log; nothing of it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyError(pub String);

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "response body failed: {}", self.0)
    }
}

impl std::error::Error for BodyError {}

/// The reason why a header was not set. Nothing of it is in the response then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderError {
    /// The name is empty or has a byte that no token has (RFC 9110 section 5.6.2).
    InvalidName,
    /// The value has a control byte: CR, LF, NUL or any other but HTAB.
    InvalidValue,
    /// A `Content-Length` that is not a number.
    InvalidLength,
    /// All headers together would have more than 64 KiB.
    TooLarge,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeaderError::InvalidName => "invalid header name: it must be a token such as X-Name",
            HeaderError::InvalidValue => {
                "invalid header value: it contains a control byte such as CR, LF or NUL"
            }
            HeaderError::TooLarge => "the headers of the response have more than 65536 bytes",
            HeaderError::InvalidLength => "invalid Content-Length: it must be a number of bytes",
        })
    }
}

impl std::error::Error for HeaderError {}

/// The parts that the encoder writes.
#[derive(Debug)]
pub(crate) struct ResponseParts {
    pub(crate) status: u16,
    pub(crate) fields: Vec<u8>,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) has_content_type: bool,
    pub(crate) has_date: bool,
    pub(crate) close: bool,
    pub(crate) declared_length: Option<u64>,
}

impl Response {
    /// An empty response. `status` is a final one, 200 to 999; anything else becomes 500.
    pub fn new(status: u16) -> Response {
        Response {
            status: final_status(status),
            fields: Vec::new(),
            content_type: None,
            has_content_type: false,
            has_date: false,
            close: false,
            declared_length: None,
            body: Body::Empty,
        }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Changes the status, under the rule of [`Response::new`].
    pub fn set_status(&mut self, status: u16) {
        self.status = final_status(status);
    }

    /// Adds a header; one of the same name stays. What the engine itself decides is taken as follows:
    ///
    /// - `Content-Length` is computed from the body. A given value is used for streams, and for an answer to HEAD whose
    ///   body is empty; else it is ignored.
    /// - `Connection: close` ends the connection after this response; its other options, and the hop-by-hop
    ///   fields `Transfer-Encoding`, `Keep-Alive`, `Proxy-Connection`, `Upgrade`, `TE` and `Trailer`, are ignored.
    /// - `Date` replaces the engine's.
    ///
    /// # Errors
    /// A name that is not a token, a value with control bytes, or more than 64 KiB of headers; nothing is added then.
    pub fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeaderError> {
        if !is_token(name) {
            return Err(HeaderError::InvalidName);
        }
        if self.fields.len() + name.len() + value.len() > RESPONSE_FIELDS_BYTES_MAX {
            return Err(HeaderError::TooLarge);
        }
        if !is_field_value(value) {
            return Err(HeaderError::InvalidValue);
        }
        match Special::of(name) {
            Special::None => {}
            Special::Ignored => return Ok(()),
            Special::ContentLength => {
                let text = std::str::from_utf8(value)
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                self.declared_length = Some(
                    text.and_then(|text| text.parse().ok())
                        .ok_or(HeaderError::InvalidLength)?,
                );
                return Ok(());
            }
            Special::Connection => {
                self.close |= value
                    .split(|&byte| byte == b',')
                    .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"));
                return Ok(());
            }
            Special::ContentType => self.has_content_type = true,
            Special::Date => {
                // A second one would contradict the first.
                self.remove_header("date");
                self.has_date = true;
            }
        }
        self.fields.reserve(name.len() + value.len() + 4);
        self.fields.extend_from_slice(name);
        self.fields.extend_from_slice(b": ");
        self.fields.extend_from_slice(value);
        self.fields.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Sets a header in place of all of the same name.
    ///
    /// # Errors
    /// As [`Response::header`]; the old ones stay then.
    pub fn set_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeaderError> {
        if !is_field_value(value) {
            return Err(HeaderError::InvalidValue);
        }
        match std::str::from_utf8(name) {
            Ok(text) if is_token(name) => self.remove_header(text),
            _ => return Err(HeaderError::InvalidName),
        }
        self.header(name, value)
    }

    /// Adds the headers of another response whose names this one does not have.
    ///
    /// # Errors
    /// More than 64 KiB of headers; nothing is added then.
    pub fn add_missing(&mut self, other: &Response) -> Result<(), HeaderError> {
        let mut missing = Vec::new();
        for line in lines(&other.fields) {
            let name = &line[..memchr::memchr(b':', line).unwrap_or(0)];
            if !lines(&self.fields).any(|line| is_of(line, name)) {
                missing.extend_from_slice(line);
                self.has_content_type |= matches!(Special::of(name), Special::ContentType);
                self.has_date |= matches!(Special::of(name), Special::Date);
            }
        }
        if self.fields.len() + missing.len() > RESPONSE_FIELDS_BYTES_MAX {
            return Err(HeaderError::TooLarge);
        }
        self.fields.append(&mut missing);
        Ok(())
    }

    /// Reports whether a header of this name was added. The engine's own and the default content type do not count.
    pub fn has_header(&self, name: &str) -> bool {
        lines(&self.fields).any(|line| is_of(line, name.as_bytes()))
    }

    /// The first header of this name.
    pub fn get_header(&self, name: &str) -> Option<&[u8]> {
        self.headers()
            .find(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// The headers that were added, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        lines(&self.fields).map(|line| {
            let colon = memchr::memchr(b':', line).expect("every line was written with a colon");
            (&line[..colon], &line[colon + 2..line.len() - 2])
        })
    }

    /// Removes all headers of this name.
    pub fn remove_header(&mut self, name: &str) {
        if !self.has_header(name) {
            return;
        }
        let mut kept = Vec::with_capacity(self.fields.len());
        for line in lines(&self.fields) {
            if !is_of(line, name.as_bytes()) {
                kept.extend_from_slice(line);
            }
        }
        self.fields = kept;
        match Special::of(name.as_bytes()) {
            Special::ContentType => self.has_content_type = false,
            Special::Date => self.has_date = false,
            _ => {}
        }
    }

    /// The content type for a response that has a body and no `Content-Type` header. It must be a valid
    /// field value; one that is not is dropped.
    pub fn content_type(&mut self, content_type: &'static str) {
        debug_assert!(is_field_value(content_type.as_bytes()));
        self.content_type = is_field_value(content_type.as_bytes()).then_some(content_type);
    }

    /// The default content type as set.
    pub fn default_content_type(&self) -> Option<&'static str> {
        self.content_type
    }

    /// Returns the `Content-Length` that was given, whether it is used or not.
    pub fn declared_length(&self) -> Option<u64> {
        self.declared_length
    }

    /// Drops the `Content-Length` that was given: for a stream of another length that takes the place of the body.
    pub fn forget_length(&mut self) {
        self.declared_length = None;
    }

    /// Ends the connection after this response.
    pub fn close(&mut self) {
        self.close = true;
    }

    /// The body.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The body as bytes to append to; any other kind of body is replaced by an empty one first.
    pub fn body_mut(&mut self) -> &mut Vec<u8> {
        if !matches!(self.body, Body::Bytes(_)) {
            self.body = Body::Bytes(Vec::with_capacity(FIRST_BODY_BYTES));
        }
        match &mut self.body {
            Body::Bytes(bytes) => bytes,
            _ => unreachable!("made to be bytes above"),
        }
    }

    /// The body, to be taken or replaced.
    pub fn body_as_mut(&mut self) -> &mut Body {
        &mut self.body
    }

    /// Replaces the body.
    pub fn set_body(&mut self, body: Body) {
        self.body = body;
    }

    /// Returns the same response once more; nothing if its body is a stream. Both share the body from then on.
    pub fn twin(&mut self) -> Option<Response> {
        let (body, twin) = match std::mem::take(&mut self.body) {
            Body::Empty => (Body::Empty, Some(Body::Empty)),
            Body::Bytes(bytes) => shared(bytes.into()),
            Body::Shared(bytes) => shared(bytes),
            Body::Lent(lender) => shared((*lender).as_ref().into()),
            Body::File(part) => (Body::File(part.clone()), Some(Body::File(part))),
            stream @ Body::Stream(_) => (stream, None),
        };
        self.body = body;
        Some(Response {
            fields: self.fields.clone(),
            body: twin?,
            ..*self
        })
    }

    pub(crate) fn into_parts(self) -> (ResponseParts, Body) {
        let parts = ResponseParts {
            status: self.status,
            fields: self.fields,
            content_type: self.content_type,
            has_content_type: self.has_content_type,
            has_date: self.has_date,
            close: self.close,
            declared_length: self.declared_length,
        };
        (parts, self.body)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("fields", &String::from_utf8_lossy(&self.fields))
            .finish_non_exhaustive()
    }
}

/// Returns two bodies with the same bytes.
fn shared(bytes: Arc<[u8]>) -> (Body, Option<Body>) {
    (Body::Shared(Arc::clone(&bytes)), Some(Body::Shared(bytes)))
}

/// A status that can end an exchange; 1xx is interim and only the engine sends it.
fn final_status(status: u16) -> u16 {
    if (200..=999).contains(&status) {
        status
    } else {
        500
    }
}

/// The lines of a field block, each with its CRLF.
fn lines(fields: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = fields;
    std::iter::from_fn(move || {
        let (line, after) = rest.split_at(memchr::memchr(b'\n', rest)? + 1);
        rest = after;
        Some(line)
    })
}

/// Reports whether a line has this name.
fn is_of(line: &[u8], name: &[u8]) -> bool {
    line.get(name.len()) == Some(&b':') && line[..name.len()].eq_ignore_ascii_case(name)
}

/// Header names that mean something to the engine.
enum Special {
    None,
    Ignored,
    ContentLength,
    ContentType,
    Connection,
    Date,
}

impl Special {
    fn of(name: &[u8]) -> Special {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
        match name.len() {
            2 if is("te") => Special::Ignored,
            4 if is("date") => Special::Date,
            7 if is("upgrade") || is("trailer") => Special::Ignored,
            10 if is("connection") => Special::Connection,
            10 if is("keep-alive") => Special::Ignored,
            12 if is("content-type") => Special::ContentType,
            14 if is("content-length") => Special::ContentLength,
            16 if is("proxy-connection") => Special::Ignored,
            17 if is("transfer-encoding") => Special::Ignored,
            _ => Special::None,
        }
    }
}

#[cfg(test)]
mod tests;
