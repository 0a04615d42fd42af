//! A body in pieces: each piece of input is decoded where it lies and handed on, so that no more than one is
//! kept.

use super::chunked::{ChunkDecoder, ChunkProgress};
use crate::codec::fault::Fault;
use crate::limits::Limits;

/// Finds the data and the end of one body. Made by [`Decoder::stream_body`](super::Decoder::stream_body) and
/// [`AnswerHead::body`](super::AnswerHead::body).
#[derive(Debug)]
pub struct BodyDecoder(Coding);

#[derive(Debug)]
enum Coding {
    Sized { left: u64 },
    Chunked(ChunkDecoder),
    UntilClose,
}

/// The content of one piece of input held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedPiece {
    /// So many bytes at its start are data now.
    pub data: usize,
    /// So many bytes of it belonged to the body; those behind them only if this is less than was given.
    pub read: usize,
    /// True if the body has ended with it.
    pub is_last: bool,
}

impl BodyDecoder {
    pub(super) fn sized(bytes: u64) -> BodyDecoder {
        BodyDecoder(Coding::Sized { left: bytes })
    }

    pub(super) fn chunked(chunks: ChunkDecoder) -> BodyDecoder {
        BodyDecoder(Coding::Chunked(chunks))
    }

    pub(super) fn chunked_answer() -> BodyDecoder {
        BodyDecoder(Coding::Chunked(ChunkDecoder::of_answer()))
    }

    pub(super) fn until_close() -> BodyDecoder {
        BodyDecoder(Coding::UntilClose)
    }

    /// Reports whether the body ends with the connection.
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.0, Coding::UntilClose)
    }

    /// Returns the number of bytes that the next read may ask for, at most `most`: never those of the next request
    /// where the length is known.
    pub fn wanted(&self, most: usize) -> usize {
        match self.0 {
            Coding::Sized { left } => usize::try_from(left).unwrap_or(most).min(most),
            Coding::Chunked(_) | Coding::UntilClose => most,
        }
    }

    /// Decodes the next bytes in place.
    ///
    /// # Errors
    /// As [`ChunkDecoder::decode`]; the body cannot be read any further then.
    pub fn decode(&mut self, bytes: &mut [u8], limits: &Limits) -> Result<DecodedPiece, Fault> {
        match &mut self.0 {
            Coding::Sized { left } => {
                let len = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                *left -= len as u64;
                Ok(DecodedPiece {
                    data: len,
                    read: len,
                    is_last: *left == 0,
                })
            }
            Coding::UntilClose => Ok(DecodedPiece {
                data: bytes.len(),
                read: bytes.len(),
                is_last: false,
            }),
            Coding::Chunked(chunks) => {
                let (mut read, mut data, filled) = (0, 0, bytes.len());
                let progress = chunks.decode(bytes, &mut read, &mut data, filled, limits)?;
                Ok(DecodedPiece {
                    data,
                    read,
                    is_last: progress == ChunkProgress::Done,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decoder, DecoderEvent};
    use super::*;

    /// Reads a request whose body comes in pieces of `step` bytes: the body, and what is left behind it.
    fn read(input: &[u8], step: usize, body_bytes_max: usize) -> Result<(Vec<u8>, Vec<u8>), u16> {
        let limits = Limits::default();
        let mut decoder = Decoder::new();
        let mut pieces = input.chunks(step);
        loop {
            match decoder.next(&limits) {
                DecoderEvent::Head => break,
                DecoderEvent::Fault(fault) => return Err(fault.status),
                _ => decoder.feed(pieces.next().ok_or(0u16)?),
            }
        }
        let streamed = decoder.stream_body(body_bytes_max);
        let (mut body, mut bytes) = streamed.map_err(|fault| fault.status)?;
        assert_eq!(decoder.next(&limits), DecoderEvent::Request);
        assert_eq!(decoder.body(), b"");
        assert_eq!(decoder.rest(), b"");
        let mut data = Vec::new();
        loop {
            let piece = body
                .decode(&mut bytes, &limits)
                .map_err(|fault| fault.status)?;
            data.extend_from_slice(&bytes[..piece.data]);
            if piece.is_last {
                let mut rest = bytes[piece.read..].to_vec();
                rest.extend(pieces.flatten());
                return Ok((data, rest));
            }
            assert_eq!(piece.read, bytes.len());
            bytes = pieces.next().ok_or(0u16)?.to_vec();
        }
    }

    #[test]
    fn bodies_in_every_split() {
        let sized = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET";
        let chunked = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \
         chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\nGET";
        for input in [&sized[..], chunked] {
            for step in 1..=input.len() {
                let (body, rest) = read(input, step, 5).unwrap();
                assert_eq!((&body[..], &rest[..]), (&b"hello"[..], &b"GET"[..]));
                assert_eq!(read(input, step, 4), Err(413));
                // One that ends too early is never whole.
                assert_eq!(read(&input[..input.len() - 4], step, 5), Err(0));
            }
        }
    }

    #[test]
    fn a_read_never_asks_for_the_next_request() {
        assert_eq!(BodyDecoder::sized(10).wanted(100), 10);
        assert_eq!(BodyDecoder::sized(1000).wanted(100), 100);
    }
}
