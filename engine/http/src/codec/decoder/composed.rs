//! Requests that another protocol than HTTP/1.1 has received: their parts are put where those of a parsed head are.

use http::request::Parts;

use super::{Decoder, DecoderState};
use crate::codec::fault::Fault;
use crate::limits::Limits;

impl Decoder {
    /// Makes a request of the parts that HTTP/2 has received, in place of any other. `is_whole` says that no body
    /// follows. Its body is added by [`Decoder::add_body`].
    ///
    /// # Errors
    /// The fault that the client is to be told.
    pub(crate) fn compose(
        &mut self,
        parts: &Parts,
        is_whole: bool,
        limits: &Limits,
    ) -> Result<(), Fault> {
        self.begin(0);
        // What is remembered of an earlier head is not of this one.
        self.known.clear();
        self.buf.clear();
        self.head.compose(parts, is_whole, limits, &mut self.buf)?;
        self.head_end = self.buf.len();
        self.body_end = self.buf.len();
        self.end = self.buf.len();
        self.has_head = true;
        self.state = DecoderState::Whole;
        Ok(())
    }

    /// Adds bytes to the body of a composed request.
    pub(crate) fn add_body(&mut self, bytes: &[u8]) {
        debug_assert!(self.head.is_http2);
        self.buf.extend_from_slice(bytes);
        self.body_end = self.buf.len();
        self.end = self.buf.len();
    }
}
