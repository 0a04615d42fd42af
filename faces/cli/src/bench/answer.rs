//! The end of an answer: its head, and how its body is delimited (RFC 9112 section 6.3). Bodies are counted and not
//! kept.

use httparse::{ParserConfig, Response, Status};
use std::mem::MaybeUninit;

/// Header fields of an answer.
const HEADERS_MAX: usize = 100;
/// The largest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The rest of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Head,
    /// So many bytes of the body.
    Body(u64),
    Chunk(Chunk),
    /// Everything until the connection is closed.
    UntilClosed,
}

/// The position in a chunked body (RFC 9112 section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// In the digits of a size; `true` after the first.
    Size(u64, bool),
    /// Behind the digits, up to the end of the line.
    Extension(u64),
    /// So many bytes of data and the line end behind them.
    Data(u64),
    /// In a line of the trailer section, which an empty one ends; `true` if it is empty so far.
    Trailer(bool),
}

/// An answer that was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) status: u16,
    /// True if the connection takes another request.
    pub(super) keeps_alive: bool,
}

/// The answer of a server is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads the answers of one connection.
#[derive(Debug, Default)]
pub(super) struct AnswerReader {
    part: Part,
    status: u16,
    keeps_alive: bool,
    /// The beginning of a head whose end has not come.
    head: Vec<u8>,
}

impl AnswerReader {
    /// Forgets what was begun, for a new connection.
    pub(super) fn reset(&mut self) {
        self.part = Part::Head;
        self.head.clear();
    }

    /// Takes what was received. Nothing may follow the answer: one request is sent at a time.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        is_head: bool,
    ) -> Result<Option<Answered>, Malformed> {
        if self.part != Part::Head {
            return self.body(bytes);
        }
        if self.head.is_empty() {
            let used = self.begin(bytes, is_head)?;
            let Some(used) = used else {
                self.head.extend_from_slice(bytes);
                return Ok(None);
            };
            return self.go_on(&bytes[used..], is_head);
        }
        self.head.extend_from_slice(bytes);
        let head = std::mem::take(&mut self.head);
        let used = self.begin(&head, is_head)?;
        let Some(used) = used else {
            self.head = head;
            return Ok(None);
        };
        self.go_on(&head[used..], is_head)
    }

    /// After a head: its body, or the next head after an interim answer.
    fn go_on(&mut self, bytes: &[u8], is_head: bool) -> Result<Option<Answered>, Malformed> {
        match self.part {
            Part::Head if bytes.is_empty() => Ok(None),
            Part::Head => self.take(bytes, is_head),
            _ => self.body(bytes),
        }
    }

    /// The connection was closed: an answer, if that is its end.
    pub(super) fn closed(&self) -> Option<Answered> {
        (self.part == Part::UntilClosed).then_some(Answered {
            status: self.status,
            keeps_alive: false,
        })
    }

    /// Reads a head. How long it is, or `None` if its end has not come.
    fn begin(&mut self, bytes: &[u8], is_head: bool) -> Result<Option<usize>, Malformed> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut response = Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut headers,
        );
        let used = match parsed {
            Ok(Status::Complete(used)) => used,
            Ok(Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
            _ => return Err(Malformed),
        };
        self.status = response.code.unwrap_or_default();
        self.keeps_alive = response.version == Some(1);
        let (mut length, mut is_chunked) = (None, false);
        for header in response.headers.iter() {
            // Compared by length first: most fields are none of these.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let value = std::str::from_utf8(header.value).ok();
                    length = Some(value.and_then(|it| it.parse().ok()).ok_or(Malformed)?);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    is_chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    let value = header.value.to_ascii_lowercase();
                    let has = |word: &[u8]| {
                        value
                            .split(|it| *it == b',')
                            .any(|it| it.trim_ascii() == word)
                    };
                    self.keeps_alive = (self.keeps_alive || has(b"keep-alive")) && !has(b"close");
                }
                _ => {}
            }
        }
        self.part = match self.status {
            100..=199 => Part::Head,
            204 | 304 => Part::Body(0),
            _ if is_head => Part::Body(0),
            _ if is_chunked => Part::Chunk(Chunk::Size(0, false)),
            _ => length.map_or(Part::UntilClosed, Part::Body),
        };
        Ok(Some(used))
    }

    fn body(&mut self, bytes: &[u8]) -> Result<Option<Answered>, Malformed> {
        match self.part {
            Part::Body(left) => match left.cmp(&(bytes.len() as u64)) {
                std::cmp::Ordering::Equal => Ok(self.end()),
                std::cmp::Ordering::Greater => {
                    self.part = Part::Body(left - bytes.len() as u64);
                    Ok(None)
                }
                std::cmp::Ordering::Less => Err(Malformed),
            },
            Part::Chunk(chunk) => self.chunks(chunk, bytes),
            Part::UntilClosed | Part::Head => Ok(None),
        }
    }

    fn chunks(
        &mut self,
        mut chunk: Chunk,
        mut bytes: &[u8],
    ) -> Result<Option<Answered>, Malformed> {
        while let Some((&first, rest)) = bytes.split_first() {
            chunk = match chunk {
                Chunk::Data(left) => {
                    let taken = left.min(bytes.len() as u64);
                    bytes = &bytes[taken as usize..];
                    chunk = match left - taken {
                        0 => Chunk::Size(0, false),
                        left => Chunk::Data(left),
                    };
                    continue;
                }
                Chunk::Size(size, has_digits) => match (char::from(first).to_digit(16), first) {
                    (Some(digit), _) if size < 1 << 56 => {
                        Chunk::Size(size * 16 + u64::from(digit), true)
                    }
                    (None, b'\n') if has_digits => after_size(size),
                    (None, b'\r' | b';' | b' ' | b'\t') if has_digits => Chunk::Extension(size),
                    _ => return Err(Malformed),
                },
                Chunk::Extension(size) if first == b'\n' => after_size(size),
                Chunk::Extension(size) => Chunk::Extension(size),
                Chunk::Trailer(true) if first == b'\n' => {
                    return match rest.is_empty() {
                        true => Ok(self.end()),
                        false => Err(Malformed),
                    };
                }
                Chunk::Trailer(_) if first == b'\n' => Chunk::Trailer(true),
                Chunk::Trailer(is_empty) => Chunk::Trailer(is_empty && first == b'\r'),
            };
            bytes = rest;
        }
        self.part = Part::Chunk(chunk);
        Ok(None)
    }

    fn end(&mut self) -> Option<Answered> {
        self.part = Part::Head;
        Some(Answered {
            status: self.status,
            keeps_alive: self.keeps_alive,
        })
    }
}

fn after_size(size: u64) -> Chunk {
    match size {
        0 => Chunk::Trailer(true),
        // The line end after the data is two bytes.
        size => Chunk::Data(size + 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an answer in pieces of each size. All must agree.
    fn read(text: &str, is_head: bool) -> Result<Option<Answered>, Malformed> {
        let whole = AnswerReader::default().take(text.as_bytes(), is_head);
        for size in 1..text.len() {
            let mut reader = AnswerReader::default();
            let mut pieces = text.as_bytes().chunks(size).peekable();
            let mut last = Ok(None);
            while let Some(piece) = pieces.next() {
                last = reader.take(piece, is_head);
                if last.is_err() {
                    break;
                }
                assert!(
                    pieces.peek().is_none() || last == Ok(None) || whole.is_err(),
                    "{text:?} ended early"
                );
            }
            if whole.is_ok() {
                assert_eq!(last, whole, "{text:?} in pieces of {size}");
            }
        }
        whole
    }

    fn done(status: u16, keeps_alive: bool) -> Result<Option<Answered>, Malformed> {
        Ok(Some(Answered {
            status,
            keeps_alive,
        }))
    }

    #[test]
    fn an_answer_ends_where_its_framing_says() {
        for (text, is_head, expected) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                false,
                done(200, true),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
                false,
                Ok(None),
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
                true,
                done(200, true),
            ),
            (
                "HTTP/1.1 304 No\r\nContent-Length: 9\r\nConnection: x, Close\r\n\r\n",
                false,
                done(304, false),
            ),
            ("HTTP/1.0 204 No\r\n\r\n", false, done(204, false)),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
                false,
                done(200, true),
            ),
            (
                "HTTP/1.1 500 No\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n2\r\nab\r\nA;x=y\r\n0123456789\r\n0\r\nT: \
                 u\r\n\r\n",
                false,
                done(500, true),
            ),
            (
                "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 1\r\n\r\n!",
                false,
                done(201, true),
            ),
        ] {
            assert_eq!(read(text, is_head), expected, "{text:?}");
        }
        let mut reader = AnswerReader::default();
        assert_eq!(
            reader.take(b"HTTP/1.1 200 OK\r\n\r\nall of", false),
            Ok(None)
        );
        assert_eq!(reader.closed().map(|it| it.status), Some(200));
        reader.reset();
        assert_eq!(reader.closed(), None);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore",
        ] {
            assert_eq!(read(text, false), Err(Malformed), "{text:?}");
        }
    }
}
