//! HTTP/1.1 without I/O: bytes in, events out, bytes out.
//!
//! Reading: a [`Decoder`] owns the receive buffer. The driver puts bytes into [`Decoder::space`], says how
//! many with [`Decoder::commit`] and asks [`Decoder::next`] what they mean. Writing: [`encode_response`] appends
//! a response to an output buffer. Nothing here knows sockets, tokio or time, so the same code can be
//! driven by any event loop, and be tested and fuzzed as plain functions.
//!
//! The framing rules of RFC 9112 are applied strictly: what could be read in two ways is a [`Fault`], and
//! after a fault the connection cannot be used any more.

mod body;
mod chunked;
mod decoder;
mod encoder;
mod fields;
mod framing;
mod head;
mod status;
mod target;
mod trailers;

pub use body::{BodyDecoder, DecodedPiece};
pub use chunked::{ChunkDecoder, ChunkProgress};
pub use decoder::{AwaitedPart, Decoder, DecoderEvent};
pub use encoder::{
    BodyRest, CONTINUE, DATE_BYTES, Exchange, Length, ResponseHead, encode_chunk,
    encode_last_chunk, encode_response,
};
pub use fields::{is_field_value, is_token};
pub use head::{Head, Span};
pub use status::reason;

pub(crate) use encoder::{COPIED_BYTES_MAX, connection_line, encode_chunk_size};
pub(crate) use head::name_bit;

use crate::Method;

/// Why a request is refused: the status of the error answer, and a reason for people who debug clients.
/// After it the connection must be closed, because the place of the next request is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// 400, 413, 414, 417, 431, 501 or 505.
    pub status: u16,
    /// The fault, in a few words.
    pub reason: &'static str,
    /// The limit that the request is above, if that is the fault.
    pub limit: Option<Exceeded>,
}

/// A limit that a request was above: its name in [`Limits`](crate::Limits), and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// The name, whose end says the unit.
    pub name: &'static str,
    /// The most that is allowed.
    pub max: u64,
}

impl Fault {
    pub(crate) const fn new(status: u16, reason: &'static str) -> Fault {
        Fault {
            status,
            reason,
            limit: None,
        }
    }

    pub(crate) const fn above(
        status: u16,
        reason: &'static str,
        name: &'static str,
        max: u64,
    ) -> Fault {
        Fault {
            status,
            reason,
            limit: Some(Exceeded { name, max }),
        }
    }

    pub(crate) const fn bad(reason: &'static str) -> Fault {
        Fault::new(400, reason)
    }
}
