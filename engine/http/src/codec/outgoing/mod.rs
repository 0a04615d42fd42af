//! The other direction: requests that are sent, and the answers to them.
//!
//! [`encode_request`] appends the head of a request to an output buffer. An [`AnswerDecoder`] finds the head of the
//! answer in the bytes that come back, and [`AnswerHead::body`] gives what finds the end of its body. The framing rules
//! of RFC 9112 section 6.3 are applied strictly, as for requests: an answer that could be read in two ways is a
//! [`Fault`](super::Fault), and its connection cannot be used any more.

mod answer_decoder;
mod answer_head;
mod request_head;

pub use answer_decoder::{AnswerDecoder, AnswerEvent};
pub use answer_head::{AnswerFraming, AnswerHead};
pub(crate) use request_head::is_framing;
pub use request_head::{SentBody, encode_request};
