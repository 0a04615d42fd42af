//! The chunked coding (RFC 9112 section 7.1), decoded in place.
//!
//! Decoded bytes are never more than encoded ones, so the data moves down in the buffer that it arrived in.
//! Sizes, line ends and trailers are read byte by byte, which makes every split of the input equal; the
//! data itself moves in blocks. Extensions and trailers are checked, counted and dropped.

use super::fields::{is_token_byte, is_value_byte};
use super::trailers::TrailerName;
use crate::codec::fault::Fault;
use crate::limits::Limits;

/// No size that fits in 64 bits needs more.
const SIZE_DIGITS_MAX: u32 = 16;

/// The progress of a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkProgress {
    /// All bytes given are used up and more must come.
    More,
    /// The last chunk and the trailers have been read.
    Done,
}

/// The state between two pieces of input.
#[derive(Debug)]
pub struct ChunkDecoder {
    step: ChunkStep,
    /// Most bytes that the decoded body may have.
    body_bytes_max: u64,
    body_bytes: u64,
    ext_bytes: usize,
    trailer_bytes: usize,
    trailer_lines: usize,
    trailer_name: TrailerName,
    /// True in an answer, whose trailers no proxy behind us merges into its head.
    takes_any_trailer: bool,
}

#[derive(Debug, Clone, Copy)]
enum ChunkStep {
    Size { digits: u32, value: u64 },
    Extension { value: u64, place: Extension },
    SizeLf { value: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
}

/// The state within `;name=value` of an extension the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    /// At the first byte of the name or inside it.
    NameStart,
    Name,
    /// Behind the `=`.
    ValueStart,
    Token,
    Quoted,
    /// Behind a backslash in a quoted string.
    QuotedPair,
    QuotedEnd,
}

impl Extension {
    /// The place after `byte`, which is not a CR; `None` for what the grammar does not have. Whitespace, which it
    /// calls bad and has for old senders, is left out of it here.
    fn after(self, byte: u8) -> Option<Extension> {
        Some(match (self, byte) {
            (Extension::Quoted, b'"') => Extension::QuotedEnd,
            (Extension::Quoted, b'\\') => Extension::QuotedPair,
            (Extension::Quoted | Extension::QuotedPair, _) if is_value_byte(byte) => {
                Extension::Quoted
            }
            (Extension::NameStart | Extension::Name, _) if is_token_byte(byte) => Extension::Name,
            (Extension::Name, b'=') => Extension::ValueStart,
            (Extension::ValueStart, b'"') => Extension::Quoted,
            (Extension::ValueStart | Extension::Token, _) if is_token_byte(byte) => {
                Extension::Token
            }
            (Extension::Name | Extension::Token | Extension::QuotedEnd, b';') => {
                Extension::NameStart
            }
            _ => return None,
        })
    }

    /// Reports whether the line may end here.
    fn is_whole(self) -> bool {
        matches!(
            self,
            Extension::Name | Extension::Token | Extension::QuotedEnd
        )
    }
}

impl ChunkDecoder {
    /// A decoder at the start of a body of at most `body_bytes_max` decoded bytes.
    pub fn new(body_bytes_max: usize) -> ChunkDecoder {
        ChunkDecoder {
            step: ChunkStep::Size {
                digits: 0,
                value: 0,
            },
            body_bytes_max: body_bytes_max as u64,
            body_bytes: 0,
            ext_bytes: 0,
            trailer_bytes: 0,
            trailer_lines: 0,
            trailer_name: TrailerName::default(),
            takes_any_trailer: false,
        }
    }

    /// A decoder at the start of an answer's body, whose bytes are counted elsewhere. Trailers of any name are dropped.
    pub(super) fn of_answer() -> ChunkDecoder {
        ChunkDecoder {
            takes_any_trailer: true,
            ..ChunkDecoder::new(usize::MAX)
        }
    }

    /// Decodes `buf[*read..filled]` and appends the data at `*write`, which is never above `*read`. Both
    /// positions are advanced. After `Done`, `*read` is the first byte behind the message.
    ///
    /// # Errors
    /// 400 for a malformed coding, 413 for a body and 431 for trailers above their limits.
    pub fn decode(
        &mut self,
        buf: &mut [u8],
        read: &mut usize,
        write: &mut usize,
        filled: usize,
        limits: &Limits,
    ) -> Result<ChunkProgress, Fault> {
        while *read < filled {
            if let ChunkStep::Data { left } = self.step {
                let len = usize::try_from(left)
                    .unwrap_or(usize::MAX)
                    .min(filled - *read);
                buf.copy_within(*read..*read + len, *write);
                *read += len;
                *write += len;
                let left = left - len as u64;
                self.step = if left == 0 {
                    ChunkStep::DataCr
                } else {
                    ChunkStep::Data { left }
                };
                continue;
            }
            let byte = buf[*read];
            *read += 1;
            match self.byte(byte, limits)? {
                Some(step) => self.step = step,
                None => return Ok(ChunkProgress::Done),
            }
        }
        Ok(ChunkProgress::More)
    }

    /// The step after one byte that is not data; `None` at the end of the message.
    fn byte(&mut self, byte: u8, limits: &Limits) -> Result<Option<ChunkStep>, Fault> {
        let next = match self.step {
            ChunkStep::Size { digits, value } => self.size(byte, digits, value)?,
            ChunkStep::Extension { value, place } => {
                self.ext_bytes += 1;
                if self.ext_bytes > limits.chunk_ext_bytes_max {
                    return Err(Fault::bad("chunk extensions too long"));
                }
                match place.after(byte) {
                    Some(place) => ChunkStep::Extension { value, place },
                    None if byte == b'\r' && place.is_whole() => ChunkStep::SizeLf { value },
                    None => return Err(Fault::bad("malformed chunk extension")),
                }
            }
            ChunkStep::SizeLf { value } => {
                expect(byte, b'\n', "bad line end after chunk size")?;
                if value == 0 {
                    ChunkStep::TrailerStart
                } else {
                    ChunkStep::Data { left: value }
                }
            }
            ChunkStep::DataCr => {
                expect(byte, b'\r', "bad line end after chunk")?;
                ChunkStep::DataLf
            }
            ChunkStep::DataLf => {
                expect(byte, b'\n', "bad line end after chunk")?;
                ChunkStep::Size {
                    digits: 0,
                    value: 0,
                }
            }
            ChunkStep::Data { .. } => unreachable!("data is moved in blocks"),
            ChunkStep::EndLf => {
                expect(byte, b'\n', "bad line end after trailers")?;
                return Ok(None);
            }
            ChunkStep::TrailerStart
            | ChunkStep::TrailerName
            | ChunkStep::TrailerValue
            | ChunkStep::TrailerLf => self.trailer(byte, limits)?,
        };
        Ok(Some(next))
    }

    fn size(&mut self, byte: u8, digits: u32, value: u64) -> Result<ChunkStep, Fault> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            // No whitespace before the `;` or the line end: the grammar has it for extensions only as
            // "bad whitespace", and recipients that trim differently have been played off against each other.
            b';' | b'\r' if digits > 0 => {
                self.body_bytes = self.body_bytes.saturating_add(value);
                if self.body_bytes > self.body_bytes_max {
                    return Err(Fault::above(
                        413,
                        "body too large",
                        "body_bytes_max",
                        self.body_bytes_max,
                    ));
                }
                return Ok(if byte == b';' {
                    ChunkStep::Extension {
                        value,
                        place: Extension::NameStart,
                    }
                } else {
                    ChunkStep::SizeLf { value }
                });
            }
            _ => return Err(Fault::bad("bad chunk size")),
        };
        if digits == SIZE_DIGITS_MAX {
            return Err(Fault::bad("chunk size too long"));
        }
        Ok(ChunkStep::Size {
            digits: digits + 1,
            value: value << 4 | u64::from(digit),
        })
    }

    fn trailer(&mut self, byte: u8, limits: &Limits) -> Result<ChunkStep, Fault> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > limits.trailer_bytes_max {
            return Err(Fault::above(
                431,
                "trailers too long",
                "trailer_bytes_max",
                limits.trailer_bytes_max as u64,
            ));
        }
        Ok(match (self.step, byte) {
            (ChunkStep::TrailerStart, b'\r') => ChunkStep::EndLf,
            (ChunkStep::TrailerStart, _) if is_token_byte(byte) => {
                self.trailer_lines += 1;
                if self.trailer_lines > limits.headers_max {
                    return Err(Fault::above(
                        431,
                        "too many trailers",
                        "headers_max",
                        limits.headers_max as u64,
                    ));
                }
                self.trailer_name.clear();
                self.trailer_name.push(byte);
                ChunkStep::TrailerName
            }
            (ChunkStep::TrailerName, _) if is_token_byte(byte) => {
                self.trailer_name.push(byte);
                ChunkStep::TrailerName
            }
            (ChunkStep::TrailerName, b':')
                if !self.takes_any_trailer && self.trailer_name.is_refused() =>
            {
                return Err(Fault::bad("field not allowed in trailers"));
            }
            (ChunkStep::TrailerName, b':') => ChunkStep::TrailerValue,
            (ChunkStep::TrailerValue, b'\r') => ChunkStep::TrailerLf,
            (ChunkStep::TrailerValue, _) if is_value_byte(byte) => ChunkStep::TrailerValue,
            (ChunkStep::TrailerLf, b'\n') => ChunkStep::TrailerStart,
            _ => return Err(Fault::bad("malformed trailer")),
        })
    }
}

fn expect(byte: u8, wanted: u8, reason: &'static str) -> Result<(), Fault> {
    if byte == wanted {
        Ok(())
    } else {
        Err(Fault::bad(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `input` given in pieces of `step` bytes: the body and what is left behind the message.
    fn decode(input: &[u8], step: usize, limits: &Limits) -> Result<(Vec<u8>, Vec<u8>), u16> {
        let mut buf = input.to_vec();
        let (mut read, mut write, mut filled) = (0, 0, 0);
        let mut decoder = ChunkDecoder::new(limits.body_bytes_max);
        loop {
            filled = (filled + step).min(buf.len());
            match decoder.decode(&mut buf, &mut read, &mut write, filled, limits) {
                Err(fault) => return Err(fault.status),
                Ok(ChunkProgress::Done) => {
                    return Ok((buf[..write].to_vec(), buf[read..].to_vec()));
                }
                Ok(ChunkProgress::More) if filled == buf.len() => return Err(0),
                Ok(ChunkProgress::More) => {}
            }
        }
    }

    #[test]
    fn bodies_in_every_split() {
        let limits = Limits::default();
        let input =
            b"5\r\nhello\r\n0A;a=b;c=\"d \\\" e\";f\r\n, world..!\r\n000\r\nX-Sum: 1\r\nContent-Lengths:\r\n\r\nGET";
        for step in 1..input.len() {
            let (body, rest) = decode(input, step, &limits).unwrap();
            assert_eq!(body, b"hello, world..!");
            // What lies behind the message may have arrived with it or not.
            assert!(b"GET".starts_with(&rest[..]) || rest == b"GET");
        }
    }

    #[test]
    fn faults_in_every_split() {
        let limits = Limits {
            body_bytes_max: 100,
            chunk_ext_bytes_max: 8,
            trailer_bytes_max: 24,
            headers_max: 2,
            ..Limits::default()
        };
        let cases: [(&[u8], u16); 34] = [
            (b"\r\n", 400),
            (b"g\r\n", 400),
            (b"+5\r\nhello\r\n", 400),
            (b"0x5\r\nhello\r\n", 400),
            (b" 5\r\nhello\r\n", 400),
            (b"5 \r\nhello\r\n", 400),
            (b"5\nhello\r\n", 400),
            (b"5\rhello\r\n", 400),
            (b"5\r\nhello\n", 400),
            (b"5\r\nhello\r0", 400),
            (b"5\r\nhellox\r\n", 400),
            (b"5\r\nhello0\r\n\r\n", 400),
            (b"00000000000000005\r\n", 400),
            (b"ffffffffffffffff\r\n", 413),
            (b"65\r\n", 413),
            (b"5;123456789\r\n", 400),
            (b"5;\r\n", 400),
            (b"5;a=\r\n", 400),
            (b"5;a=\"b\r\n", 400),
            (b"5;a=\"b\"c\r\n", 400),
            (b"5; a=b\r\n", 400),
            (b"5;a =b\r\n", 400),
            (b"5;;\r\n", 400),
            (b"5;a\x00\r\n", 400),
            (b"5;a\nhello", 400),
            (b"0\r\nA: b\n\r\n", 400),
            (b"0\r\n folded: b\r\n\r\n", 400),
            (b"0\r\nA : b\r\n\r\n", 400),
            (b"0\r\nContent-length:0\r\n\r\n", 400),
            (b"0\r\nHOST: h\r\n\r\n", 400),
            (b"0\r\nA: b\r\nIf-Match: *\r\n\r\n", 400),
            (b"0\r\nA: 1234567890123456789012\r\n\r\n", 431),
            (b"0\r\na:\r\nb:\r\nc:\r\n\r\n", 431),
            (b"0\r\n\rx", 400),
        ];
        for (input, status) in cases {
            for step in 1..=input.len() {
                assert_eq!(
                    decode(input, step, &limits),
                    Err(status),
                    "{:?} by {step}",
                    String::from_utf8_lossy(input)
                );
            }
        }
        assert_eq!(
            decode(b"63\r\n", 4, &limits),
            Err(0),
            "exactly at the limit more is awaited"
        );
    }
}
