//! HTTP/1.1 without I/O: bytes in, events out, bytes out.
//!
//! Reading: a [`Decoder`] owns the receive buffer. The driver appends bytes to [`Decoder::buffer`] and asks
//! [`Decoder::next`] what they mean. Writing: [`encode_response`] appends a response to an output buffer. `outgoing`
//! has the other direction. Nothing here knows sockets, tokio or time, so the same code can be driven by any event
//! loop, and be tested and fuzzed as plain functions.
//!
//! The framing rules of RFC 9112 are applied strictly: what could be read in two ways is a [`Fault`], and
//! after a fault the connection cannot be used any more.

pub(crate) mod body;
mod chunked;
pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod fault;
pub(crate) mod fields;
mod framing;
pub(crate) mod head;
pub(crate) mod http2;
pub(crate) mod outgoing;
mod proxy_header;
pub(crate) mod status;
mod target;
mod trailers;

pub use body::{BodyDecoder, DecodedPiece};
pub use chunked::{ChunkDecoder, ChunkProgress};
pub use decoder::{AwaitedPart, Decoder, DecoderEvent};
pub use encoder::{
    BodyRest, CONTINUE, DATE_BYTES, Exchange, Length, ResponseHead, encode_chunk,
    encode_last_chunk, encode_response,
};
pub use fault::{Exceeded, Fault};
pub use fields::{is_field_value, is_token};
pub use head::{FieldSpan, Head, Span};
pub use outgoing::{
    AnswerDecoder, AnswerEvent, AnswerFraming, AnswerHead, SentBody, encode_request,
};
pub use proxy_header::{PROXY_HEADER_BYTES_MAX, ProxyHeader, parse_proxy_header};
pub use status::reason;
pub use target::is_authority;
