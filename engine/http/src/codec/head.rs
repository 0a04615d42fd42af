//! The head of a request: request line and field lines, parsed by httparse and then held to the rules
//! that httparse does not have. Everything is kept as spans; nothing is copied.

use std::mem::MaybeUninit;

use super::framing::{BodyFraming, Framing};
use super::target;
use crate::codec::fault::Fault;
use crate::limits::{HEADERS_CEILING, Limits};
use crate::method::Method;

/// A piece of a head: `start` counts from the first byte of the request line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// The caller's positions are inside a head, and a head is at most [`crate::limits::HEAD_BYTES_CEILING`] long.
    pub(super) fn new(start: usize, len: usize) -> Span {
        Span {
            start: start as u32,
            len: len as u32,
        }
    }

    /// Returns the span, counted from a place `bytes` earlier.
    pub(super) fn shifted(self, bytes: usize) -> Span {
        Span {
            start: self.start + bytes as u32,
            len: self.len,
        }
    }

    /// Reports whether nothing is in it.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The bytes of this piece of `head`.
    #[inline]
    pub fn of(self, head: &[u8]) -> &[u8] {
        &head[self.start as usize..self.start as usize + self.len as usize]
    }
}

/// One field line; the value is without the whitespace around it.
#[derive(Debug, Clone, Copy)]
pub struct FieldSpan {
    /// The name, as sent.
    pub name: Span,
    /// The value.
    pub value: Span,
}

/// The content of a head. It is filled from valid heads only, by the decoder.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The method; its text is `method_text`.
    pub method: Option<Method>,
    /// The method as sent.
    pub method_text: Span,
    /// The whole target as sent.
    pub target: Span,
    /// The path, still percent-encoded; empty where an absolute-form target has none, which means `/`.
    pub path: Span,
    /// The part after the `?`.
    pub query: Option<Span>,
    /// The authority of an absolute-form target, else the value of Host.
    pub authority: Option<Span>,
    /// 0 or 1.
    pub version_minor: u8,
    /// True if it came over HTTP/2; then `version_minor` is 1.
    pub is_http2: bool,
    /// True for a request of HTTP/2 to make a WebSocket of its stream (RFC 8441). Its method is GET, as over HTTP/1.1.
    pub is_extended_connect: bool,
    /// All field lines in order.
    pub fields: Vec<FieldSpan>,
    /// A bit for each name, by [`name_bit`]: most names that are asked for are not there, and one look tells so.
    pub(crate) name_bits: u64,
    /// True if the connection may go on after this request (RFC 9112 section 9.3).
    pub keep_alive: bool,
    /// True if the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
    /// The end of the body.
    pub body: BodyFraming,
}

/// The bit of a field name: by its length and its last letter, in any case.
#[inline]
pub(crate) fn name_bit(name: &[u8]) -> u64 {
    let last = name.last().map_or(0, |byte| usize::from(byte | 0x20));
    1 << (((name.len() & 7) << 3) | (last & 7))
}

impl Head {
    /// The fault of a body that is announced to be larger than this.
    pub(crate) fn body_above(&self, bytes_max: usize) -> Option<Fault> {
        match self.body {
            BodyFraming::Sized(bytes) if bytes > bytes_max as u64 => {
                let max = bytes_max as u64;
                Some(Fault::above(413, "body too large", "body_bytes_max", max))
            }
            _ => None,
        }
    }

    /// Parses a complete head: `bytes` ends with the empty line, and every LF in it follows a CR.
    pub(super) fn parse(&mut self, bytes: &[u8], limits: &Limits) -> Result<(), Fault> {
        let mut slots = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; HEADERS_CEILING];
        let mut parsed = httparse::Request::new(&mut []);
        match parsed.parse_with_uninit_headers(bytes, &mut slots) {
            // httparse must see the end where the line scan saw it, or the two disagree on what was sent.
            Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
            Ok(_) => return Err(Fault::bad("malformed head")),
            Err(error) => return Err(refuse(error, bytes)),
        }
        let (Some(method), Some(text), Some(minor)) = (parsed.method, parsed.path, parsed.version)
        else {
            return Err(Fault::bad("malformed request line"));
        };
        if text.len() > limits.target_bytes_max {
            return Err(Fault::above(
                414,
                "target too long",
                "target_bytes_max",
                limits.target_bytes_max as u64,
            ));
        }
        if parsed.headers.len() > limits.headers_max {
            return Err(Fault::above(
                431,
                "too many fields",
                "headers_max",
                limits.headers_max as u64,
            ));
        }
        let base = bytes.as_ptr() as usize;
        let span = |piece: &[u8]| Span::new(piece.as_ptr() as usize - base, piece.len());

        let known = Method::from_bytes(method.as_bytes());
        self.method = Some(known);
        self.method_text = span(method.as_bytes());
        self.target = span(text.as_bytes());
        self.version_minor = minor;
        self.is_http2 = false;
        self.is_extended_connect = false;
        if known == Method::Connect {
            // Only a proxy has tunnels. Its target has a form of its own, so this comes before the target.
            return Err(Fault::new(501, "CONNECT"));
        }
        let parts = target::split(text.as_bytes(), known)?;
        let offset = text.as_ptr() as usize - base;
        self.path = parts.path.shifted(offset);
        self.query = parts.query.map(|query| query.shifted(offset));

        let mut framing = Framing::default();
        let mut host = None;
        self.fields.clear();
        self.name_bits = 0;
        for field in parsed.headers.iter() {
            let (name, value) = (field.name.as_bytes(), field.value);
            // An empty value has no place of its own inside `bytes` in every case, so it gets one.
            let value_span = if value.is_empty() {
                Span::default()
            } else {
                span(value)
            };
            if framing.field(name, value)? {
                host = Some(value_span);
            }
            self.name_bits |= name_bit(name);
            self.fields.push(FieldSpan {
                name: span(name),
                value: value_span,
            });
        }
        self.body = framing.finish(minor)?;
        self.authority = parts
            .authority
            .map(|authority| authority.shifted(offset))
            .or(host);
        self.expects_continue = framing.expects_continue && self.body != BodyFraming::None;
        self.keep_alive = !framing.wants_close && (minor >= 1 || framing.wants_keep_alive);
        Ok(())
    }
}

/// The fault for a head that httparse refuses.
fn refuse(error: httparse::Error, bytes: &[u8]) -> Fault {
    match error {
        httparse::Error::TooManyHeaders => Fault::new(431, "too many fields"),
        httparse::Error::Version if has_other_version(bytes) => {
            Fault::new(505, "unknown HTTP version")
        }
        httparse::Error::Version => Fault::bad("malformed version"),
        httparse::Error::HeaderName => Fault::bad("malformed field name"),
        httparse::Error::HeaderValue => Fault::bad("malformed field value"),
        _ => Fault::bad("malformed head"),
    }
}

/// Reports whether the request line is one of three words of which the last is a well-formed version (`HTTP/` DIGIT `.`
/// DIGIT), with any number.
fn has_other_version(bytes: &[u8]) -> bool {
    let line = &bytes[..memchr::memchr(b'\r', bytes).unwrap_or(bytes.len())];
    let mut words = line.split(|&byte| byte == b' ').skip(2);
    let version = words.next().unwrap_or_default();
    words.next().is_none()
        && version
            .strip_prefix(b"HTTP/")
            .is_some_and(|number| matches!(number, [b'0'..=b'9', b'.', b'0'..=b'9']))
}
