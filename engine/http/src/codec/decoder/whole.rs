//! The copy of a whole request, without the buffer that it was received into.

use super::{Decoder, DecoderState};

impl Decoder {
    /// Returns a decoder that has this request alone, which is whole.
    pub(crate) fn whole(&self) -> Decoder {
        let buf = self.buf[self.start..self.body_end].to_vec();
        let len = buf.len();
        Decoder {
            buf,
            head: self.head.clone(),
            has_head: true,
            head_end: self.head_end - self.start,
            body_end: len,
            end: len,
            state: DecoderState::Whole,
            ..Decoder::new()
        }
    }

    /// Gives the request of [`Decoder::whole`] another body.
    pub(crate) fn set_body(&mut self, body: &[u8]) {
        self.buf.truncate(self.head_end);
        self.buf.extend_from_slice(body);
        self.body_end = self.buf.len();
        self.end = self.body_end;
    }
}
