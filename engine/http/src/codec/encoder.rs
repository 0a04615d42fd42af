//! The writing half of the codec: response heads, bodies and chunks, appended to an output buffer.
//!
//! The fields that say where the message ends (RFC 9112 section 6) are written here and nowhere else, from
//! what is really sent; a handler cannot set them.

use std::sync::Arc;

use crate::codec::status::reason;
use crate::response::length::SizedStream;
use crate::response::{Body, BodyStream, FilePart, Response};

/// The length of a date such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
pub const DATE_BYTES: usize = 29;

/// The interim response that asks for the body (RFC 9110 section 15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Bodies above this are sent from where they are instead of being copied behind their head.
pub(crate) const COPIED_BYTES_MAX: usize = 16 * 1024;

/// The part of a request that decides how its response is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The request was HEAD: fields as for GET, no body.
    pub head_only: bool,
    /// 0 or 1. A 1.0 client gets no chunks.
    pub version_minor: u8,
    /// True if the connection goes on after this response.
    pub keep_alive: bool,
}

impl Exchange {
    /// Faults before the end of a head are answered for this one.
    pub(crate) const UNKNOWN: Exchange = Exchange {
        head_only: false,
        version_minor: 1,
        keep_alive: false,
    };
}

/// The length of a body according to the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// No length: the status has no body (204, 304), or the length is unknown and the answer is to HEAD.
    Unsaid,
    /// `Content-Length`.
    Bytes(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// The connection's end is the body's end (HTTP/1.0).
    UntilClose,
}

/// The parts of a response head.
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a> {
    /// 200 to 999.
    pub status: u16,
    /// Whole field lines, each validated and with its CRLF.
    pub fields: &'a [u8],
    /// The Content-Type line, where `fields` has none.
    pub content_type: Option<&'a str>,
    /// The length of the body.
    pub length: Length,
}

impl ResponseHead<'_> {
    /// Appends the head. Without a date `fields` has one already. Returns where in `out` the date is.
    #[inline]
    pub fn encode(
        &self,
        out: &mut Vec<u8>,
        exchange: Exchange,
        date: Option<&[u8; DATE_BYTES]>,
    ) -> usize {
        out.reserve(192 + self.fields.len());
        if self.status == 200 {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            out.extend_from_slice(b"HTTP/1.1 ");
            number(out, u64::from(self.status));
            out.push(b' ');
            out.extend_from_slice(reason(self.status).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        let mut date_at = 0;
        if let Some(date) = date {
            out.extend_from_slice(b"Date: ");
            date_at = out.len();
            out.extend_from_slice(date);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(content_type) = self.content_type {
            out.extend_from_slice(b"Content-Type: ");
            out.extend_from_slice(content_type.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        match self.length {
            Length::Bytes(bytes) => {
                out.extend_from_slice(b"Content-Length: ");
                number(out, bytes);
                out.extend_from_slice(b"\r\n");
            }
            Length::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Length::Unsaid | Length::UntilClose => {}
        }
        out.extend_from_slice(self.fields);
        if self.status == 426 {
            // RFC 9110 section 15.5.22: the answer names the protocol, and WebSocket is the only one. The line of
            // Connection that may follow is one list with this one.
            out.extend_from_slice(b"Upgrade: websocket\r\nConnection: Upgrade\r\n");
        }
        out.extend_from_slice(connection_line(exchange));
        out.extend_from_slice(b"\r\n");
        date_at
    }
}

/// The Connection field, where the version's default does not say it already (RFC 9112 section 9.3).
pub(crate) fn connection_line(exchange: Exchange) -> &'static [u8] {
    match (exchange.keep_alive, exchange.version_minor) {
        (false, _) => b"Connection: close\r\n",
        (true, 0) => b"Connection: keep-alive\r\n",
        (true, _) => b"",
    }
}

fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends one chunk (RFC 9112 section 7.1). An empty one would end the body, so it is left out.
pub fn encode_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    encode_chunk_size(out, data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Appends the size line of a chunk that is not empty; its data and a line end must follow.
pub(crate) fn encode_chunk_size(out: &mut Vec<u8>, len: usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0u8; 16];
    let mut at = digits.len();
    let mut left = len;
    while left > 0 {
        at -= 1;
        digits[at] = HEX[left & 15];
        left >>= 4;
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a chunked body.
pub fn encode_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// The rest of a response behind what [`encode_response`] appended.
pub enum BodyRest {
    /// No bytes.
    Nothing,
    /// These bytes as they are.
    Bytes(Vec<u8>),
    /// These bytes as they are.
    Shared(Arc<[u8]>),
    /// These bytes as they are.
    Lent(Box<dyn AsRef<[u8]>>),
    /// This part of a file.
    File(FilePart),
    /// The chunks of a stream.
    Stream {
        /// The source. It fails if it has other bytes than the head declares.
        stream: Box<dyn BodyStream>,
        /// The framing: chunked, or as they are.
        length: Length,
    },
}

/// Appends a response: its head, and its body where that is small. Returns what follows, and whether the
/// connection goes on after it: a handler may ask for its end, and a body without a length needs it.
pub fn encode_response(
    out: &mut Vec<u8>,
    response: Response,
    mut exchange: Exchange,
    date: &[u8; DATE_BYTES],
) -> (BodyRest, bool) {
    let (parts, body) = response.into_parts();
    // RFC 9110 sections 15.3.5 and 15.4.5: these never have a body, and 204 no length either.
    let bodiless = matches!(parts.status, 204 | 304);
    exchange.keep_alive &= !parts.close;
    let length = match &body {
        _ if bodiless => Length::Unsaid,
        // RFC 9110 section 8.6: the length that GET would have, or none. The length of GET's body is unknown here.
        Body::Empty if exchange.head_only => {
            parts.declared_length.map_or(Length::Unsaid, Length::Bytes)
        }
        Body::Empty => Length::Bytes(0),
        Body::Bytes(bytes) => Length::Bytes(bytes.len() as u64),
        Body::Shared(bytes) => Length::Bytes(bytes.len() as u64),
        Body::Lent(lender) => Length::Bytes((**lender).as_ref().len() as u64),
        Body::File(part) => Length::Bytes(part.len),
        Body::Stream(_) => match parts.declared_length {
            Some(declared) => Length::Bytes(declared),
            None if exchange.head_only => Length::Unsaid,
            None if exchange.version_minor == 0 => {
                exchange.keep_alive = false;
                Length::UntilClose
            }
            None => Length::Chunked,
        },
    };
    let has_type = parts.has_content_type || matches!(body, Body::Empty) || bodiless;
    let head = ResponseHead {
        status: parts.status,
        fields: &parts.fields,
        content_type: if has_type { None } else { parts.content_type },
        length,
    };
    head.encode(
        out,
        exchange,
        if parts.has_date { None } else { Some(date) },
    );
    let rest = match body {
        _ if bodiless || exchange.head_only => BodyRest::Nothing,
        Body::Empty => BodyRest::Nothing,
        Body::Bytes(bytes) if bytes.len() <= COPIED_BYTES_MAX => {
            out.extend_from_slice(&bytes);
            BodyRest::Nothing
        }
        Body::Shared(bytes) if bytes.len() <= COPIED_BYTES_MAX => {
            out.extend_from_slice(&bytes);
            BodyRest::Nothing
        }
        Body::Lent(lender) if (*lender).as_ref().len() <= COPIED_BYTES_MAX => {
            out.extend_from_slice((*lender).as_ref());
            BodyRest::Nothing
        }
        Body::Bytes(bytes) => BodyRest::Bytes(bytes),
        Body::Shared(bytes) => BodyRest::Shared(bytes),
        Body::Lent(lender) => BodyRest::Lent(lender),
        Body::File(part) if part.len == 0 => BodyRest::Nothing,
        Body::File(part) => BodyRest::File(part),
        Body::Stream(stream) => BodyRest::Stream {
            stream: match length {
                Length::Bytes(declared) => Box::new(SizedStream::new(stream, declared)),
                _ => stream,
            },
            length,
        },
    };
    (rest, exchange.keep_alive)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &[u8; DATE_BYTES] = b"Sun, 06 Nov 1994 08:49:37 GMT";
    const GET: Exchange = Exchange {
        head_only: false,
        version_minor: 1,
        keep_alive: true,
    };

    fn encode(response: Response, exchange: Exchange) -> (String, bool) {
        let mut out = Vec::new();
        let (rest, keep_alive) = encode_response(&mut out, response, exchange, DATE);
        if let BodyRest::Bytes(bytes) = rest {
            out.extend_from_slice(&bytes);
        }
        (String::from_utf8(out).unwrap(), keep_alive)
    }

    fn hello() -> Response {
        let mut response = Response::new(200);
        response.content_type("text/plain");
        response.body_mut().extend_from_slice(b"hello");
        response
    }

    #[test]
    fn plain_answers() {
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
        let head =
            format!("HTTP/1.1 200 OK\r\n{date}Content-Type: text/plain\r\nContent-Length: 5\r\n");
        assert_eq!(encode(hello(), GET), (format!("{head}\r\nhello"), true));
        assert_eq!(
            encode(
                hello(),
                Exchange {
                    head_only: true,
                    ..GET
                }
            ),
            (format!("{head}\r\n"), true)
        );
        assert_eq!(
            encode(
                hello(),
                Exchange {
                    keep_alive: false,
                    ..GET
                }
            ),
            (format!("{head}Connection: close\r\n\r\nhello"), false)
        );
        assert_eq!(
            encode(
                hello(),
                Exchange {
                    version_minor: 0,
                    ..GET
                }
            )
            .0,
            format!("{head}Connection: keep-alive\r\n\r\nhello")
        );
        let mut refused = hello();
        refused.set_status(426);
        let upgrade = "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
        assert!(encode(refused, GET).0.contains(upgrade));
        let mut none = hello();
        none.set_status(204);
        assert_eq!(
            encode(none, GET).0,
            format!("HTTP/1.1 204 No Content\r\n{date}\r\n")
        );
        assert_eq!(
            encode(Response::new(299), GET).0,
            format!("HTTP/1.1 299 \r\n{date}Content-Length: 0\r\n\r\n")
        );
        let mut large = hello();
        large.set_body(Body::Bytes(vec![b'x'; COPIED_BYTES_MAX + 1]));
        let mut out = Vec::new();
        let (rest, _) = encode_response(&mut out, large, GET, DATE);
        assert!(
            out.ends_with(b"Content-Length: 16385\r\n\r\n"),
            "a large body is not copied"
        );
        assert!(matches!(rest, BodyRest::Bytes(bytes) if bytes.len() == COPIED_BYTES_MAX + 1));
    }

    #[test]
    fn chunks() {
        let mut out = Vec::new();
        encode_chunk(&mut out, b"hello");
        encode_chunk(&mut out, b"");
        encode_chunk(&mut out, &[b'x'; 0x1a2]);
        encode_last_chunk(&mut out);
        assert!(out.starts_with(b"5\r\nhello\r\n1a2\r\nx") && out.ends_with(b"x\r\n0\r\n\r\n"));
    }
}
