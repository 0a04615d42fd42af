//! One request, as a handler sees it: views into the bytes as they were received.

mod another_rule;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::codec::decoder::{Decoder, DecoderEvent};
use crate::codec::encoder::Exchange;
use crate::codec::fault::{Exceeded, Fault};
use crate::codec::fields::is_field_value;
use crate::codec::head::name_bit;
use crate::limits::Limits;
use crate::method::Method;
use crate::peer::{Peer, RemoteEnd};
use crate::received::{ReceivedBytes, ReceivedPart};
use crate::request_body::{ReadError, RequestBody};
use crate::response::HeaderError;
use crate::tls::TlsInfo;

pub use another_rule::CopiedRequest;

/// A request with its head, and its body unless that is read as it comes. Nothing is copied out of the receive buffer,
/// which it owns; lookups walk it.
///
/// Handlers get `&Rc<Request>`. One that needs the request after its call has returned keeps a clone; the
/// connection then receives into another buffer. Where no clone was kept the buffer is used again.
pub struct Request {
    pub(crate) decoder: Decoder,
    /// The source of the body, if the handler reads it as it comes.
    pub(crate) streamed: Option<Rc<RequestBody>>,
    client: RemoteEnd,
    /// True if the time of its handler is over.
    pub(crate) is_overdue: Cell<bool>,
    /// The fields `Link` of the next 103, each a line with its end; sent while the handler waits.
    pub(crate) early_links: RefCell<Vec<u8>>,
    /// The handler's findings at the head, for when the body is here.
    kept: RefCell<Option<Box<dyn Any>>>,
    /// The part of its buffer in the memory for bodies, if that has become a large one.
    received: Option<ReceivedPart>,
}

impl Request {
    pub(crate) fn empty(client: RemoteEnd) -> Request {
        Request {
            decoder: Decoder::new(),
            streamed: None,
            client,
            is_overdue: Cell::new(false),
            early_links: RefCell::default(),
            kept: RefCell::new(None),
            received: None,
        }
    }

    /// Grows the buffer of the body, within the memory that bodies may have: to a capacity, or where that has no room,
    /// to the least that is needed.
    ///
    /// # Errors
    /// The limit that leaves no room for it.
    pub(crate) fn grow(
        &mut self,
        (capacity, least): (usize, usize),
        all: &Arc<ReceivedBytes>,
    ) -> Result<(), Exceeded> {
        let grown = self.grow_to(capacity, all);
        grown.or_else(|_| self.grow_to(least, all))
    }

    fn grow_to(&mut self, capacity: usize, all: &Arc<ReceivedBytes>) -> Result<(), Exceeded> {
        let peer = self.client.peer;
        let part = self
            .received
            .get_or_insert_with(|| ReceivedPart::new(all, peer));
        part.grow_to(capacity)?;
        match self.decoder.grow_to(capacity) {
            true => Ok(()),
            false => Err(Exceeded {
                name: "process_bytes_max",
                max: capacity as u64,
            }),
        }
    }

    /// Keeps a value of the handler's from [`Handler::body_rule`](crate::Handler::body_rule) until the request is
    /// handled, such as the route that it found.
    pub fn keep(&self, value: Box<dyn Any>) {
        self.kept.replace(Some(value));
    }

    /// Takes the value of [`Request::keep`].
    #[inline]
    pub fn take_kept(&self) -> Option<Box<dyn Any>> {
        self.kept.take()
    }

    /// Sends a 103 with this value of `Link` while the handler waits, to a client of HTTP/1.1 (RFC 8297).
    ///
    /// # Errors
    /// The value has control bytes.
    pub fn early_hint(&self, link: &[u8]) -> Result<(), HeaderError> {
        if !is_field_value(link) {
            return Err(HeaderError::InvalidValue);
        }
        let mut lines = self.early_links.borrow_mut();
        for part in [b"Link: ", link, b"\r\n"] {
            lines.extend_from_slice(part);
        }
        Ok(())
    }

    /// Reports whether its handler is given up because `handler_millis_max` has passed, for what is dropped then.
    pub fn is_overdue(&self) -> bool {
        self.is_overdue.get()
    }

    /// Makes [`Request::is_overdue`] say so, for a handler that is given up elsewhere.
    pub fn set_overdue(&self) {
        self.is_overdue.set(true);
    }

    /// Takes the values of [`Request::early_hint`] that have not been sent.
    pub fn take_early_hints(&self) -> Vec<u8> {
        self.early_links.take()
    }

    /// Has these sent, which another request has had taken.
    pub fn add_early_hints(&self, lines: &[u8]) {
        self.early_links.borrow_mut().extend_from_slice(lines);
    }

    /// Returns a copy for another thread; `None` where the body is read as it comes.
    pub fn to_owned_request(&self) -> Option<OwnedRequest> {
        let tls = self.client.tls.as_deref();
        self.streamed.is_none().then(|| OwnedRequest {
            decoder: self.decoder.whole(),
            peer: self.client.peer,
            is_unnamed: self.client.is_unnamed,
            tls: tls.cloned(),
            received: self.received.as_ref().map(ReceivedPart::copied),
        })
    }

    pub(crate) fn set_client(&mut self, client: &RemoteEnd) {
        self.client.clone_from(client);
    }

    /// A request made of bytes, as if they had come from 127.0.0.1: for tests of handlers.
    ///
    /// # Errors
    /// The fault that a client would be answered with; 400 also for bytes that end too early.
    pub fn from_bytes(bytes: &[u8]) -> Result<Rc<Request>, Fault> {
        Request::from_bytes_and_peer(bytes, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Does what [`Request::from_bytes`] does, for a request from a client of this address.
    ///
    /// # Errors
    /// As [`Request::from_bytes`].
    pub fn from_bytes_and_peer(bytes: &[u8], peer: SocketAddr) -> Result<Rc<Request>, Fault> {
        let limits = Limits::default();
        let mut request = Request::empty(RemoteEnd::plain(peer));
        request.decoder.feed(bytes);
        loop {
            match request.decoder.next(&limits) {
                DecoderEvent::Request => return Ok(Rc::new(request)),
                DecoderEvent::Head => request.decoder.accept_body(limits.body_bytes_max)?,
                DecoderEvent::Fault(fault) => return Err(fault),
                DecoderEvent::Incomplete(_) => {
                    return Err(Fault::bad("incomplete request"));
                }
            }
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.decoder.head().method.unwrap_or(Method::Other)
    }

    /// The method as sent.
    pub fn method_str(&self) -> &str {
        match self.method().name() {
            Some(name) => name,
            None => text(
                self.decoder
                    .head()
                    .method_text
                    .of(self.decoder.head_bytes()),
            ),
        }
    }

    /// The whole request target as sent (RFC 9112 section 3.2).
    pub fn target(&self) -> &str {
        text(self.decoder.head().target.of(self.decoder.head_bytes()))
    }

    /// The path, still percent-encoded: it begins with `/`, or is `*` (OPTIONS only).
    #[inline]
    pub fn path(&self) -> &str {
        text(self.path_bytes())
    }

    /// The bytes of [`Request::path`]: to compare them costs less than to make text of them.
    #[inline]
    pub fn path_bytes(&self) -> &[u8] {
        match self.decoder.head().path.of(self.decoder.head_bytes()) {
            b"" => b"/",
            path => path,
        }
    }

    /// Returns the part after the first `?` of the target, still percent-encoded.
    pub fn query(&self) -> Option<&str> {
        self.decoder
            .head()
            .query
            .map(|query| text(query.of(self.decoder.head_bytes())))
    }

    /// The authority that the client asked: of an absolute-form target, else of the Host field. `None` only
    /// for HTTP/1.0 requests.
    pub fn host(&self) -> Option<&str> {
        self.decoder
            .head()
            .authority
            .map(|authority| text(authority.of(self.decoder.head_bytes())))
    }

    /// The version of HTTP, as logs write it: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2.0`.
    pub fn protocol(&self) -> &'static str {
        let head = self.decoder.head();
        match (head.is_http2, head.version_minor) {
            (true, _) => "HTTP/2.0",
            (false, 0) => "HTTP/1.0",
            (false, _) => "HTTP/1.1",
        }
    }

    /// Reports whether the client asks over HTTP/2 for a WebSocket (RFC 8441): then the answer may be an
    /// [`Upgrade`](crate::Upgrade), and the fields of RFC 6455 about the key and the connection are not there.
    pub fn is_extended_connect(&self) -> bool {
        self.decoder.head().is_extended_connect
    }

    /// The value of the first field of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let head = self.decoder.head();
        if head.name_bits & name_bit(name.as_bytes()) == 0 {
            return None;
        }
        let bytes = self.decoder.head_bytes();
        head.fields
            .iter()
            .find(|field| field.name.of(bytes).eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| field.value.of(bytes))
    }

    /// The values of all fields of this name, in any case, as one list (RFC 9110 section 5.3).
    pub fn joined_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let first = self.header(name)?;
        let is_it = |(other, _): &(&str, _)| other.eq_ignore_ascii_case(name);
        let more = self.headers().filter(is_it).skip(1);
        Some(more.fold(first.into(), |joined, (_, value)| {
            [&*joined, b", ", value].concat().into()
        }))
    }

    /// All fields in order, names as sent. Trailers are not among them.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let bytes = self.decoder.head_bytes();
        self.decoder
            .head()
            .fields
            .iter()
            .map(move |field| (text(field.name.of(bytes)), field.value.of(bytes)))
    }

    /// The body without its coding; empty where there is none, and where it is read as it comes.
    pub fn body(&self) -> &[u8] {
        self.decoder.body()
    }

    /// Reports whether there is a body to be read as it comes, see [`Handler::body_rule`](crate::Handler::body_rule).
    pub fn is_streamed(&self) -> bool {
        self.streamed.is_some()
    }

    /// The next piece of such a body, never an empty one; `None` at its end. Nothing is received while no reader waits
    /// here. There is one reader: of several that wait, one is woken. After an error, or the end, the same is said
    /// again.
    pub fn poll_body(&self, cx: &Context<'_>) -> Poll<Option<Result<Vec<u8>, ReadError>>> {
        match &self.streamed {
            Some(body) => body.poll(cx),
            None => Poll::Ready(None),
        }
    }

    /// Makes the reader of the body get a fault instead.
    pub(crate) fn refuse_body(&mut self, fault: Fault) {
        let body = RequestBody::default();
        body.fail(ReadError::Fault(fault));
        self.streamed = Some(Rc::new(body));
    }

    /// Goes to the bytes behind this request.
    pub(crate) fn advance(&mut self) {
        self.decoder.advance();
        self.streamed = None;
        self.early_links.get_mut().clear();
        self.kept.take();
    }

    /// Forgets everything, for use by another connection.
    pub(crate) fn clear(&mut self) {
        self.decoder.clear();
        self.client.tls = None;
        self.streamed = None;
        self.early_links.get_mut().clear();
        self.kept.take();
        self.received = None;
    }

    /// The other end of the connection, which may be a proxy.
    pub fn peer(&self) -> Peer {
        self.client.peer
    }

    /// Reports whether its client is not known, because a proxy has named none by the PROXY protocol. The peer is that
    /// proxy, which has not read the request: any field may be the client's own.
    pub fn has_unnamed_client(&self) -> bool {
        self.client.is_unnamed
    }

    /// The TLS of its connection; `None` on a plain one.
    pub fn tls(&self) -> Option<&TlsInfo> {
        self.client.tls.as_deref()
    }

    pub(crate) fn exchange(&self) -> Exchange {
        let head = self.decoder.head();
        Exchange {
            head_only: head.method == Some(Method::Head),
            version_minor: head.version_minor,
            keep_alive: head.keep_alive,
        }
    }
}

/// A request with its body on its way to another thread.
#[derive(Debug)]
pub struct OwnedRequest {
    decoder: Decoder,
    peer: Peer,
    is_unnamed: bool,
    tls: Option<TlsInfo>,
    received: Option<ReceivedPart>,
}

impl OwnedRequest {
    /// Returns the request as handlers see it, on the thread that it has come to.
    pub fn into_request(self) -> Rc<Request> {
        let mut request = Request::empty(RemoteEnd {
            peer: self.peer,
            is_unnamed: self.is_unnamed,
            tls: self.tls.map(Rc::new),
        });
        request.decoder = self.decoder;
        request.received = self.received;
        Rc::new(request)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method_str())
            .field("target", &self.target())
            .field("peer", &self.client.peer)
            .finish_non_exhaustive()
    }
}

/// Tokens are ASCII and targets were checked by the codec, so nothing is lost here.
#[inline]
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
