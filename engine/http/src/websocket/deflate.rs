//! Compression of single messages (RFC 7692 section 7.2).

use super::fault::ProtocolFault;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;
use std::fmt;

/// The end of a compressed message that is not sent.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// The level of compression. At level 1 zlib-rs 0.6.8 panics or writes wrong blocks where it flushes.
const LEVEL: u32 = 3;

/// Output is made in pieces of so many bytes.
const PIECE_BYTES: usize = 16 * 1024;

/// Compresses messages, each for itself. One serves all connections with the same window.
pub struct Deflater {
    stream: Compress,
    window_bits: u8,
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflater")
            .field("window_bits", &self.window_bits)
            .finish_non_exhaustive()
    }
}

impl Deflater {
    /// Creates one for a window of 9 to 15 bits.
    pub fn new(window_bits: u8) -> Self {
        let window_bits = window_bits.clamp(9, 15);
        Self {
            stream: Compress::new_with_window_bits(Compression::new(LEVEL), false, window_bits),
            window_bits,
        }
    }

    /// Compresses a message. Nothing if that does not make it shorter, or fails.
    pub fn deflate(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        self.stream.reset();
        // Room for all of it: a flush in several steps is the rare way.
        let mut out = Vec::with_capacity(message.len() + 64);
        loop {
            let read = usize::try_from(self.stream.total_in()).ok()?;
            self.stream
                .compress_vec(&message[read..], &mut out, FlushCompress::Sync)
                .ok()?;
            if out.len() > message.len() + TAIL.len() {
                return None;
            }
            let read = usize::try_from(self.stream.total_in()).ok()?;
            // Room that is left says that the flush is complete.
            if read == message.len() && out.len() < out.capacity() {
                break;
            }
            out.reserve(PIECE_BYTES);
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        (out.len() < message.len()).then_some(out)
    }
}

/// The compressors of a thread: one for each window that its connections have.
#[derive(Debug, Default)]
pub struct Deflaters(RefCell<Vec<Deflater>>);

impl Deflaters {
    /// Compresses a message for a window of so many bits. Nothing if that does not make it shorter, or fails.
    pub fn deflate(&self, window_bits: u8, message: &[u8]) -> Option<Vec<u8>> {
        let mut all = self.0.borrow_mut();
        let known = all.iter().position(|one| one.window_bits == window_bits);
        let at = known.unwrap_or_else(|| {
            all.push(Deflater::new(window_bits));
            all.len() - 1
        });
        all[at].deflate(message)
    }
}

/// Inflates one message as it arrives.
pub(super) struct Inflater {
    stream: Decompress,
    /// True once the compressor has ended its stream; a message may go on with another.
    has_ended: bool,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self {
            stream: Decompress::new(false),
            has_ended: false,
        }
    }

    /// Inflates a part of a message behind `out`.
    pub(super) fn inflate(
        &mut self,
        mut part: &[u8],
        out: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<(), ProtocolFault> {
        loop {
            if self.has_ended {
                if part.is_empty() {
                    return Ok(());
                }
                self.stream.reset(false);
                self.has_ended = false;
            }
            let room = PIECE_BYTES.min(bytes_max.saturating_sub(out.len()) + 1);
            out.reserve(room);
            let (before, length) = (self.stream.total_in(), out.len());
            let status = self
                .stream
                .decompress_vec(part, out, FlushDecompress::None)
                .map_err(|_| ProtocolFault::Protocol("a compressed message cannot be inflated"))?;
            let read = (self.stream.total_in() - before) as usize;
            part = &part[read..];
            if out.len() > bytes_max {
                return Err(ProtocolFault::TooBig(bytes_max));
            }
            self.has_ended = status == Status::StreamEnd;
            let is_stuck = read == 0 && out.len() == length;
            if !self.has_ended && (is_stuck || part.is_empty() && out.len() < out.capacity()) {
                return Ok(());
            }
        }
    }

    /// Inflates the end of a message.
    pub(super) fn finish(
        &mut self,
        out: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<(), ProtocolFault> {
        match self.has_ended {
            true => Ok(()),
            false => self.inflate(&TAIL, out, bytes_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(bytes: &[u8], piece: usize, max: usize) -> Result<Vec<u8>, ProtocolFault> {
        let (mut inflater, mut out) = (Inflater::new(), Vec::new());
        for part in bytes.chunks(piece) {
            inflater.inflate(part, &mut out, max)?;
        }
        inflater.finish(&mut out, max)?;
        Ok(out)
    }

    #[test]
    fn messages_come_back_in_pieces_of_any_size() {
        let mut deflater = Deflater::new(15);
        for len in [100, 5_000, 300_000] {
            let message: Vec<u8> = (0..len).map(|at| (at / 7 % 50) as u8).collect();
            let sent = deflater.deflate(&message).unwrap();
            for piece in [1, 13, 100_000] {
                assert_eq!(inflate(&sent, piece, len).as_ref(), Ok(&message));
            }
            assert_eq!(
                inflate(&sent, 64, len - 1),
                Err(ProtocolFault::TooBig(len - 1))
            );
        }
        assert_eq!(deflater.deflate(b"x"), None);
    }

    #[test]
    fn what_the_rfc_shows_is_read() {
        // RFC 7692 sections 7.2.3.1 to 7.2.3.4: a block, a stored block, one with BFINAL.
        for sent in [
            &b"\xf2\x48\xcd\xc9\xc9\x07\x00"[..],
            b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
            b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
            b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
        ] {
            assert_eq!(
                inflate(sent, 3, 100).as_deref(),
                Ok(&b"Hello"[..]),
                "{sent:?}"
            );
        }
        assert!(inflate(b"\xff\xff\xff", 3, 100).is_err());
    }
}
