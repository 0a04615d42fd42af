//! The reading half of the codec: a receive buffer and the state machine over it.
//!
//! One decoder reads one request after the other from its buffer. The head is searched for line ends as
//! bytes come, resuming where the last search ended, so that a head sent byte by byte costs no more than
//! one sent at once; it is parsed when it is complete. Bodies stay in the buffer, chunked ones decoded in place.

mod composed;
mod head_end;
mod whole;

use super::body::BodyDecoder;
use super::chunked::{ChunkDecoder, ChunkProgress};
use super::framing::BodyFraming;
use crate::codec::fault::Fault;
use crate::codec::head::Head;
use crate::limits::Limits;
use crate::received::UNCOUNTED_BYTES_MAX;

/// The buffer's size before anything larger is known to come: a browser's request several times over.
const BUFFER_BYTES: usize = 8 * 1024;

/// A buffer that has grown beyond this is not kept when the decoder is cleared.
const BUFFER_KEPT_BYTES_MAX: usize = UNCOUNTED_BYTES_MAX;

/// A head longer than this is not kept for comparison.
const KNOWN_BYTES_MAX: usize = 4 * 1024;

/// The meaning of the bytes received so far mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecoderEvent {
    /// More bytes must come first.
    Incomplete(AwaitedPart),
    /// A head with a body to follow. The driver decides on the body's limit with [`Decoder::accept_body`]
    /// (and on `100 Continue`), then asks again.
    Head,
    /// A whole request. It stays readable until [`Decoder::advance`].
    Request,
    /// A fault, after which nothing further can be read from this connection.
    Fault(Fault),
}

/// The missing part of an incomplete request lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedPart {
    /// No byte of a request has come.
    Nothing,
    /// The head has begun.
    Head,
    /// The body is being received.
    Body,
}

#[derive(Debug)]
enum DecoderState {
    Head,
    /// The head is complete and the driver has not yet accepted its body.
    Announced,
    Sized {
        end: usize,
    },
    Chunked(ChunkDecoder),
    Whole,
    Failed(Fault),
}

/// Reads requests: append bytes to the [`buffer`](Decoder::buffer), ask for the [`next`](Decoder::next) event, and
/// [`advance`](Decoder::advance) behind each request.
#[derive(Debug)]
pub struct Decoder {
    /// The bytes that have been received.
    buf: Vec<u8>,
    /// The first byte of the request in hand.
    start: usize,
    /// The position where the search for line ends continues, and where the current line began.
    scanned: usize,
    line: usize,
    lines: usize,
    blank_lines: usize,
    state: DecoderState,
    /// The head of the bytes in `known` mean, or of the last head if it was refused.
    head: Head,
    /// The last head that was accepted, as received; empty if there is none to compare with. See [`Decoder::repeats`].
    known: Vec<u8>,
    has_head: bool,
    head_end: usize,
    body_end: usize,
    /// The first byte behind the request, and while a chunked body is read, the first byte not decoded yet.
    end: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new()
    }
}

impl Decoder {
    /// A decoder before its first byte. It allocates nothing until [`buffer`](Self::buffer).
    pub fn new() -> Decoder {
        Decoder {
            buf: Vec::new(),
            start: 0,
            scanned: 0,
            line: 0,
            lines: 0,
            blank_lines: 0,
            state: DecoderState::Head,
            head: Head::default(),
            known: Vec::new(),
            has_head: false,
            head_end: 0,
            body_end: 0,
            end: 0,
        }
    }

    /// Forgets everything, for use by another connection; keeps a buffer of ordinary size.
    pub fn clear(&mut self) {
        if self.buf.capacity() > BUFFER_KEPT_BYTES_MAX {
            self.buf = Vec::new();
        }
        self.buf.clear();
        self.begin(0);
    }

    fn begin(&mut self, start: usize) {
        self.start = start;
        self.scanned = start;
        self.line = start;
        self.lines = 0;
        self.blank_lines = 0;
        self.state = DecoderState::Head;
        self.has_head = false;
    }

    /// Returns the buffer for the next bytes, with room behind those that it has. Nothing but appending is allowed.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.start > 0 && matches!(self.state, DecoderState::Head) {
            self.move_down();
        }
        if let Some(grown) = self.grown() {
            self.buf.reserve_exact(grown - self.buf.len());
        }
        &mut self.buf
    }

    /// Returns the capacity that a full buffer grows to.
    fn grown(&self) -> Option<usize> {
        let (len, capacity) = (self.buf.len(), self.buf.capacity());
        (len == capacity).then(|| match self.state {
            // Announced lengths are not believed at once: the buffer grows as bytes come, and ends exactly. Memory
            // that is not written yet costs nothing, so it grows in large steps, and few bytes move.
            DecoderState::Sized { end } => end
                .min((4 * capacity).max(BUFFER_KEPT_BYTES_MAX))
                .max(len + 1),
            _ => (2 * capacity).max(BUFFER_BYTES),
        })
    }

    /// Returns the capacity that the buffer of a body grows to before the next bytes, if it is a large one, and the
    /// least that will do.
    pub(crate) fn large_growth(&self) -> Option<(usize, usize)> {
        if matches!(self.state, DecoderState::Head) {
            return None;
        }
        let grown = self.grown().filter(|bytes| *bytes > UNCOUNTED_BYTES_MAX)?;
        Some((grown, grown.min(self.buf.len() + UNCOUNTED_BYTES_MAX)))
    }

    /// Returns the same before so many bytes more. A buffer of at most `uncounted_max` bytes is no large one.
    pub(crate) fn growth_by(&self, bytes: usize, uncounted_max: usize) -> Option<(usize, usize)> {
        let (needed, capacity) = (self.buf.len() + bytes, self.buf.capacity());
        let grown = (needed > capacity).then(|| (needed.max(2 * capacity), needed));
        grown.filter(|(bytes, _)| *bytes > uncounted_max)
    }

    /// Grows the buffer to a capacity. Returns false where the system has no memory.
    pub(crate) fn grow_to(&mut self, capacity: usize) -> bool {
        let more = capacity.saturating_sub(self.buf.len());
        self.buf.try_reserve_exact(more).is_ok()
    }

    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// A request that is not whole yet starts at the start of the buffer.
    fn move_down(&mut self) {
        let by = self.start;
        self.buf.drain(..by);
        self.scanned -= by;
        self.line -= by;
        self.start = 0;
    }

    /// Decodes the bytes received so far mean. Asking again without new bytes gives the same answer.
    #[inline]
    pub fn next(&mut self, limits: &Limits) -> DecoderEvent {
        let result = match self.state {
            DecoderState::Head => self.next_head(limits),
            DecoderState::Announced => Ok(DecoderEvent::Head),
            DecoderState::Sized { .. } | DecoderState::Chunked(_) => self.next_body(limits),
            DecoderState::Whole => Ok(DecoderEvent::Request),
            DecoderState::Failed(fault) => Err(fault),
        };
        result.unwrap_or_else(|fault| {
            self.state = DecoderState::Failed(fault);
            DecoderEvent::Fault(fault)
        })
    }

    fn next_head(&mut self, limits: &Limits) -> Result<DecoderEvent, Fault> {
        let end = if self.repeats() {
            self.start + self.known.len()
        } else {
            let Some(end) = self.find_head_end(limits)? else {
                let wait = if self.buf.len() == self.start {
                    AwaitedPart::Nothing
                } else {
                    AwaitedPart::Head
                };
                return Ok(DecoderEvent::Incomplete(wait));
            };
            self.known.clear();
            let bytes = &self.buf[self.start..end];
            self.head.parse(bytes, limits)?;
            if bytes.len() <= KNOWN_BYTES_MAX {
                self.known.extend_from_slice(bytes);
            }
            end
        };
        self.has_head = true;
        self.head_end = end;
        self.body_end = end;
        self.end = end;
        if self.head.body == BodyFraming::None {
            self.state = DecoderState::Whole;
            return Ok(DecoderEvent::Request);
        }
        self.state = DecoderState::Announced;
        Ok(DecoderEvent::Head)
    }

    /// Reports whether the bytes begin with the head that this decoder accepted last, to its last byte. Then `head` is
    /// theirs too, for its spans count from the first byte: clients that ask for the same thing again and again,
    /// and proxies in front of many, cost one comparison instead of a parse.
    #[inline]
    fn repeats(&self) -> bool {
        self.scanned == self.start
            && !self.known.is_empty()
            && self.buf[self.start..].starts_with(&self.known)
    }

    /// After [`DecoderEvent::Head`]: reads the body if it can have at most `body_bytes_max` bytes.
    ///
    /// # Errors
    /// 413 for an announced length above that; the decoder has then failed.
    pub fn accept_body(&mut self, body_bytes_max: usize) -> Result<(), Fault> {
        debug_assert!(matches!(self.state, DecoderState::Announced));
        self.state = match self.head.body {
            BodyFraming::None => DecoderState::Whole,
            BodyFraming::Chunked => DecoderState::Chunked(ChunkDecoder::new(body_bytes_max)),
            BodyFraming::Sized(bytes) if bytes <= body_bytes_max as u64 => DecoderState::Sized {
                end: self.head_end + bytes as usize,
            },
            BodyFraming::Sized(_) => {
                let fault = Fault::above(
                    413,
                    "body too large",
                    "body_bytes_max",
                    body_bytes_max as u64,
                );
                self.state = DecoderState::Failed(fault);
                return Err(fault);
            }
        };
        Ok(())
    }

    /// After [`DecoderEvent::Head`], in place of [`accept_body`](Self::accept_body): leaves the body to the caller, who
    /// decodes it as it comes, beginning with the bytes that are here already. The request is whole then, without a
    /// body.
    ///
    /// # Errors
    /// As `accept_body`.
    pub fn stream_body(&mut self, body_bytes_max: usize) -> Result<(BodyDecoder, Vec<u8>), Fault> {
        self.accept_body(body_bytes_max)?;
        let body = match std::mem::replace(&mut self.state, DecoderState::Whole) {
            DecoderState::Sized { end } => BodyDecoder::sized((end - self.head_end) as u64),
            DecoderState::Chunked(chunks) => BodyDecoder::chunked(chunks),
            _ => BodyDecoder::sized(0),
        };
        let here = self.buf.split_off(self.head_end);
        Ok((body, here))
    }

    fn next_body(&mut self, limits: &Limits) -> Result<DecoderEvent, Fault> {
        match &mut self.state {
            DecoderState::Sized { end } => {
                if self.buf.len() < *end {
                    return Ok(DecoderEvent::Incomplete(AwaitedPart::Body));
                }
                self.body_end = *end;
                self.end = *end;
            }
            DecoderState::Chunked(chunks) => {
                let filled = self.buf.len();
                match chunks.decode(
                    &mut self.buf,
                    &mut self.end,
                    &mut self.body_end,
                    filled,
                    limits,
                )? {
                    ChunkProgress::Done => {}
                    ChunkProgress::More => {
                        // Everything is decoded, so the gap behind the data can be received into again.
                        self.buf.truncate(self.body_end);
                        self.end = self.body_end;
                        return Ok(DecoderEvent::Incomplete(AwaitedPart::Body));
                    }
                }
            }
            _ => unreachable!("only called while a body is read"),
        }
        self.state = DecoderState::Whole;
        Ok(DecoderEvent::Request)
    }

    /// Leaves the request in hand and goes to the bytes behind it.
    pub fn advance(&mut self) {
        debug_assert!(matches!(self.state, DecoderState::Whole));
        if self.end == self.buf.len() {
            self.buf.clear();
            self.begin(0);
        } else {
            self.begin(self.end);
        }
    }

    /// The bytes received behind the request in hand, which must be whole.
    pub fn rest(&self) -> &[u8] {
        debug_assert!(matches!(self.state, DecoderState::Whole));
        &self.buf[self.end..]
    }

    /// Reports whether [`head`](Self::head) is that of the request in hand.
    pub fn has_head(&self) -> bool {
        self.has_head
    }

    /// The bytes that have been received and not been left by [`advance`](Self::advance).
    pub fn unread(&self) -> &[u8] {
        &self.buf[self.start..]
    }

    /// Returns the number of bytes that have been received and not been left by [`advance`](Self::advance).
    pub fn buffered(&self) -> usize {
        self.buf.len() - self.start
    }

    /// Reports whether nothing at all is remembered, so that the buffer can be given away.
    pub fn is_clear(&self) -> bool {
        self.buf.len() == self.start
            && self.blank_lines == 0
            && matches!(self.state, DecoderState::Head)
    }

    /// Reports whether an empty line came before the request in hand and was forgiven.
    pub fn follows_empty_line(&self) -> bool {
        self.blank_lines > 0
    }

    /// Reports whether any of the body in hand has arrived.
    pub fn has_body_bytes(&self) -> bool {
        self.buf.len() > self.head_end
    }

    /// The head of the request in hand: valid from [`DecoderEvent::Head`] or [`DecoderEvent::Request`] on.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The bytes that the spans of [`head`](Self::head) point into.
    #[inline]
    pub fn head_bytes(&self) -> &[u8] {
        &self.buf[self.start..self.head_end]
    }

    /// The body of the request in hand, without its coding; whole from [`DecoderEvent::Request`] on.
    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.buf[self.head_end..self.body_end]
    }
}

#[cfg(test)]
mod tests;
