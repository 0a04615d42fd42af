//! From bytes to messages.

use super::close::CloseFrame;
use super::deflate::Inflater;
use super::fault::ProtocolFault;
use super::frame::{CONTROL_BYTES_MAX, HEAD_BYTES_MAX, Head, Opcode, Role, apply_mask};
use super::utf8;
use std::fmt;

/// The most empty frames that a message may have.
const EMPTY_FRAMES_MAX: u32 = 1_024;

/// Room for a message is made for so many bytes at once, whatever a frame says.
const RESERVED_BYTES_MAX: usize = 64 * 1024;

/// The share by which compression may lengthen a message. A compressor with the least memory stores bytes that cannot
/// be compressed in blocks of 127, with 5 bytes before each (RFC 1951 section 3.2.4).
const LENGTHENED_SHARE: usize = 16;

/// The bytes by which compression may lengthen a message of any length.
const LENGTHENED_BYTES: usize = 64;

/// The limits of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderLimits {
    /// The longest message, in bytes, inflated. One that is compressed may be a little longer as sent.
    pub message_bytes_max: usize,
    /// True if compressed messages were agreed on.
    pub is_compressed: bool,
}

/// A message, or a control frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A text.
    Text(String),
    /// A message of bytes.
    Bytes(Vec<u8>),
    /// A ping, to be answered by a pong with this payload.
    Ping(Vec<u8>),
    /// A pong.
    Pong(Vec<u8>),
    /// The end. Nothing is read after it.
    Close(CloseFrame),
}

/// A frame whose payload arrives.
#[derive(Clone, Copy)]
struct Frame {
    head: Head,
    /// The bytes of the payload that were read.
    read: u64,
}

/// A message whose frames arrive.
struct Message {
    is_text: bool,
    bytes: Vec<u8>,
    /// Up to here a text is known to be UTF-8.
    checked: usize,
    /// The bytes of the payload, as sent, of all frames that have begun.
    sent: u64,
    /// Those of them that have come.
    came: u64,
    empty_frames: u32,
    inflater: Option<Box<Inflater>>,
}

/// A message that has begun and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfinishedMessage {
    /// The number of the message among those of the connection.
    pub number: u64,
    /// The memory that it holds, in bytes.
    pub memory_bytes: usize,
    /// The bytes of its payload that have come, as sent.
    pub came: u64,
}

/// Reads the frames of one end of a connection. While nothing is half read it owns no memory.
pub struct Decoder {
    role: Role,
    limits: DecoderLimits,
    /// The part of a head that is here.
    head: [u8; HEAD_BYTES_MAX],
    head_len: u8,
    is_closed: bool,
    frame: Option<Frame>,
    message: Option<Box<Message>>,
    /// The messages that have begun.
    messages: u64,
    control: Vec<u8>,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("role", &self.role)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// Creates a decoder for the bytes that the other end sends.
    pub fn new(role: Role, limits: DecoderLimits) -> Self {
        Self {
            role,
            limits,
            head: [0; HEAD_BYTES_MAX],
            head_len: 0,
            is_closed: false,
            frame: None,
            message: None,
            messages: 0,
            control: Vec::new(),
        }
    }

    /// Reads on. Takes what it has used from the front of `input`. Nothing if more bytes are needed.
    ///
    /// # Errors
    /// The bytes break the protocol or a limit; the decoder must not be used any more.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Event>, ProtocolFault> {
        loop {
            if self.is_closed {
                *input = &[];
                return Ok(None);
            }
            if self.frame.is_none() {
                let Some(head) = self.read_head(input)? else {
                    return Ok(None);
                };
                self.begin(head)?;
                self.frame = Some(Frame { head, read: 0 });
            }
            let Some(Frame { head, read }) = self.frame else {
                return Ok(None);
            };
            let len = (head.len - read).min(input.len() as u64) as usize;
            let (part, rest) = input.split_at(len);
            *input = rest;
            self.payload(head, read as usize, part)?;
            let read = read + len as u64;
            if read < head.len {
                self.frame = Some(Frame { head, read });
                return Ok(None);
            }
            self.frame = None;
            if let Some(event) = self.end_frame(head)? {
                return Ok(Some(event));
            }
        }
    }

    /// Returns the message that has begun and has not ended.
    pub fn unfinished(&self) -> Option<UnfinishedMessage> {
        let message = self.message.as_ref()?;
        Some(UnfinishedMessage {
            number: self.messages,
            memory_bytes: message.bytes.capacity(),
            came: message.came,
        })
    }

    /// Drops the message that has begun; the decoder must not be used any more.
    pub fn drop_message(&mut self) {
        (self.message, self.is_closed) = (None, true);
    }

    /// Reads the head of a frame, in place if all of it is there.
    fn read_head(&mut self, input: &mut &[u8]) -> Result<Option<Head>, ProtocolFault> {
        if self.head_len == 0
            && let Some((head, len)) = Head::parse(input, self.role)?
        {
            *input = &input[len..];
            return Ok(Some(head));
        }
        while let Some((byte, rest)) = input.split_first() {
            self.head[usize::from(self.head_len)] = *byte;
            self.head_len += 1;
            *input = rest;
            let known = &self.head[..usize::from(self.head_len)];
            if let Some((head, _)) = Head::parse(known, self.role)? {
                self.head_len = 0;
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Checks the place of a frame, and begins a message with it.
    fn begin(&mut self, head: Head) -> Result<(), ProtocolFault> {
        let fault = |text| Err(ProtocolFault::Protocol(text));
        if head.is_compressed && !self.limits.is_compressed {
            return fault("a reserved bit is set");
        }
        match (head.opcode, &mut self.message) {
            (Opcode::Continuation, None) => return fault("a continuation without a message"),
            (Opcode::Continuation, Some(_)) if head.is_compressed => {
                return fault("a continuation that is marked as compressed");
            }
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return fault("a message within a message");
            }
            (Opcode::Text | Opcode::Binary, message) => {
                self.messages += 1;
                *message = Some(Box::new(Message {
                    is_text: head.opcode == Opcode::Text,
                    bytes: Vec::new(),
                    checked: 0,
                    sent: 0,
                    came: 0,
                    empty_frames: 0,
                    inflater: head.is_compressed.then(|| Box::new(Inflater::new())),
                }));
            }
            _ => {}
        }
        if head.opcode.is_control() {
            return Ok(());
        }
        let max = self.limits.message_bytes_max;
        if let Some(message) = &mut self.message {
            message.sent = message.sent.saturating_add(head.len);
            let sent_max = match message.inflater {
                None => max,
                Some(_) => max.saturating_add(max / LENGTHENED_SHARE + LENGTHENED_BYTES),
            };
            if message.sent > sent_max as u64 {
                return Err(ProtocolFault::TooBig(max));
            }
            if head.len == 0 && !head.is_final {
                message.empty_frames += 1;
                if message.empty_frames > EMPTY_FRAMES_MAX {
                    return fault("a message with too many empty frames");
                }
            }
        }
        Ok(())
    }

    /// Takes a part of a payload that begins at `offset` of it.
    fn payload(&mut self, head: Head, offset: usize, part: &[u8]) -> Result<(), ProtocolFault> {
        let max = self.limits.message_bytes_max;
        let mask = head.mask.unwrap_or_default();
        if head.opcode.is_control() {
            let before = self.control.len();
            debug_assert!(before + part.len() <= CONTROL_BYTES_MAX);
            self.control.extend_from_slice(part);
            apply_mask(&mut self.control[before..], mask, offset);
            return Ok(());
        }
        let Some(message) = &mut self.message else {
            return Ok(());
        };
        message.came += part.len() as u64;
        match &mut message.inflater {
            None => {
                let before = message.bytes.len();
                if message.bytes.capacity() - before < part.len() {
                    let all = (head.len - offset as u64).min(RESERVED_BYTES_MAX as u64) as usize;
                    message.bytes.reserve(all.max(part.len()));
                }
                message.bytes.extend_from_slice(part);
                apply_mask(&mut message.bytes[before..], mask, offset);
            }
            Some(inflater) => {
                let mut plain = part.to_vec();
                apply_mask(&mut plain, mask, offset);
                inflater.inflate(&plain, &mut message.bytes, max)?;
            }
        }
        // A message that is here as a whole is checked once, at its end.
        let is_end = head.is_final && offset as u64 + part.len() as u64 == head.len;
        if message.is_text && !(is_end && message.checked == 0) {
            message.checked = utf8::check_part(&message.bytes, message.checked)?;
        }
        Ok(())
    }

    /// Gives what is complete with the end of a frame.
    fn end_frame(&mut self, head: Head) -> Result<Option<Event>, ProtocolFault> {
        if head.opcode.is_control() {
            let payload = std::mem::take(&mut self.control);
            return Ok(Some(match head.opcode {
                Opcode::Ping => Event::Ping(payload),
                Opcode::Pong => Event::Pong(payload),
                _ => {
                    let frame = CloseFrame::parse(&payload)?;
                    self.is_closed = true;
                    Event::Close(frame)
                }
            }));
        }
        if !head.is_final {
            return Ok(None);
        }
        let Some(message) = self.message.take() else {
            return Ok(None);
        };
        let Message {
            is_text,
            mut bytes,
            inflater,
            ..
        } = *message;
        if let Some(mut inflater) = inflater {
            inflater.finish(&mut bytes, self.limits.message_bytes_max)?;
        }
        Ok(Some(match is_text {
            true => Event::Text(String::from_utf8(bytes).map_err(|_| ProtocolFault::NotUtf8)?),
            false => Event::Bytes(bytes),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a compressor with the least memory stores in one block.
    const STORED_BYTES: usize = 127;

    /// Compresses a message into stored blocks alone, and frames it.
    fn stored(message: &[u8]) -> Vec<u8> {
        let mut payload = Vec::new();
        for block in message.chunks(STORED_BYTES) {
            let len = block.len() as u16;
            payload.push(0);
            payload.extend_from_slice(&len.to_le_bytes());
            payload.extend_from_slice(&(!len).to_le_bytes());
            payload.extend_from_slice(block);
        }
        // The empty block of the flush, without its tail.
        payload.push(0);
        framed(&payload)
    }

    /// A message of bytes with this compressed payload.
    fn framed(payload: &[u8]) -> Vec<u8> {
        let head = Head {
            is_compressed: true,
            ..Head::whole(Opcode::Binary, payload.len())
        };
        let (bytes, len) = head.encode();
        let mut frame = bytes[..len].to_vec();
        frame.extend_from_slice(payload);
        frame
    }

    fn decode(mut frame: &[u8], message_bytes_max: usize) -> Result<Option<Event>, ProtocolFault> {
        let limits = DecoderLimits {
            message_bytes_max,
            is_compressed: true,
        };
        Decoder::new(Role::Client, limits).next(&mut frame)
    }

    #[test]
    fn a_message_that_compression_has_lengthened_may_be_of_the_greatest_length() {
        for len in [5, 127, 1_000, 1_000_000] {
            let message: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
            let frame = stored(&message);
            assert!(frame.len() > len);
            assert_eq!(decode(&frame, len), Ok(Some(Event::Bytes(message))));
            assert_eq!(
                decode(&frame, len - 1),
                Err(ProtocolFault::TooBig(len - 1)),
                "{len}"
            );
        }
    }

    #[test]
    fn rejects_a_compressed_message_that_is_sent_far_longer_than_it_is() {
        // Blocks without bytes.
        let empty = [0_u8, 0, 0, 0xff, 0xff].repeat(1_000);
        assert_eq!(
            decode(&framed(&empty), 1_000),
            Err(ProtocolFault::TooBig(1_000))
        );
    }
}
