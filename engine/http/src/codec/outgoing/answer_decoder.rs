//! Finds the head of an answer in the bytes as they come.

use super::answer_head::{AnswerHead, answer};
use crate::codec::fault::Fault;
use crate::limits::Limits;
use crate::method::Method;

/// The first bytes of every answer.
const START: &[u8] = b"HTTP/1.";

/// The most interim answers before one answer.
const INTERIM_MAX: usize = 16;

/// The meaning of the bytes received so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEvent {
    /// More bytes must come first.
    Incomplete,
    /// An interim answer with this status, 100 to 199; the final one follows it.
    Interim(u16),
    /// The head of the final answer. It stays readable until [`AnswerDecoder::take_rest`].
    Head,
    /// A fault, after which nothing further can be read from this connection.
    Fault(Fault),
}

/// Reads the heads of answers: put bytes at the end of [`buffer`](AnswerDecoder::buffer), and ask for the
/// [`next`](AnswerDecoder::next) event. Behind a head the body is not this decoder's:
/// [`take_rest`](AnswerDecoder::take_rest) gives what has come of it already, and makes it ready for the next answer.
#[derive(Debug, Default)]
pub struct AnswerDecoder {
    buf: Vec<u8>,
    /// The position where the search for line ends continues, and where the current line began.
    scanned: usize,
    line: usize,
    lines: usize,
    interims: usize,
    head_end: usize,
    head: AnswerHead,
}

impl AnswerDecoder {
    /// Returns the buffer, at whose end bytes are put. Its bytes stay until they have been read.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    /// Reports whether not one byte of an answer has come.
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty() && self.interims == 0
    }

    /// Returns the meaning of the bytes so far; `method` is that of the request.
    pub fn next(&mut self, method: Method, limits: &Limits) -> AnswerEvent {
        match self.find(method, limits) {
            Ok(event) => event,
            Err(fault) => AnswerEvent::Fault(fault),
        }
    }

    /// Returns the head of the answer, and the bytes that its spans are of.
    pub fn head(&self) -> (&AnswerHead, &[u8]) {
        (&self.head, &self.buf[..self.head_end])
    }

    /// Takes the bytes behind the head; the next answer may follow.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buf[self.head_end..].to_vec();
        self.buf.clear();
        self.begin();
        self.interims = 0;
        rest
    }

    fn begin(&mut self) {
        (self.scanned, self.line, self.lines, self.head_end) = (0, 0, 0, 0);
    }

    fn find(&mut self, method: Method, limits: &Limits) -> Result<AnswerEvent, Fault> {
        let Some(end) = self.find_head_end(limits)? else {
            return Ok(AnswerEvent::Incomplete);
        };
        self.head.parse(&self.buf[..end], method, limits)?;
        match self.head.status {
            101 => Err(answer("it switches protocols, which was not asked for")),
            status @ 100..=199 => {
                self.interims += 1;
                if self.interims > INTERIM_MAX {
                    return Err(answer("too many interim answers"));
                }
                self.buf.drain(..end);
                self.begin();
                Ok(AnswerEvent::Interim(status))
            }
            _ => {
                self.head_end = end;
                Ok(AnswerEvent::Head)
            }
        }
    }

    /// Looks for the empty line that ends the head, and checks on the way what must not depend on how the bytes were
    /// split: line ends, sizes, the number of lines.
    fn find_head_end(&mut self, limits: &Limits) -> Result<Option<usize>, Fault> {
        if self.lines == 0 {
            let len = self.buf.len().min(START.len());
            if self.buf[..len] != START[..len] {
                return Err(answer("it is not HTTP/1.1"));
            }
        }
        while let Some(offset) = memchr::memchr(b'\n', &self.buf[self.scanned..]) {
            let lf = self.scanned + offset;
            check_size(lf + 1, limits)?;
            if lf == self.line || self.buf[lf - 1] != b'\r' {
                return Err(answer("line end is not CRLF"));
            }
            let is_empty = lf - 1 == self.line;
            self.scanned = lf + 1;
            self.line = lf + 1;
            if is_empty {
                return Ok(Some(lf + 1));
            }
            self.lines += 1;
            if self.lines - 1 > limits.headers_max {
                let max = limits.headers_max as u64;
                return Err(Fault::above(502, "too many fields", "headers_max", max));
            }
        }
        self.scanned = self.buf.len();
        check_size(self.scanned, limits)?;
        Ok(None)
    }
}

/// Checks a head that reaches to `end`, so far.
fn check_size(end: usize, limits: &Limits) -> Result<(), Fault> {
    match end > limits.head_bytes_max {
        true => {
            let max = limits.head_bytes_max as u64;
            Err(Fault::above(502, "head too long", "head_bytes_max", max))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::AnswerFraming;

    /// Status, body, and what is left behind it.
    type Parts<'a> = (u16, &'a [u8], &'a [u8]);

    /// Reads an answer that comes in pieces of `step` bytes: status, body, and what is left behind it.
    fn read(input: &[u8], step: usize) -> Result<(u16, Vec<u8>, Vec<u8>), &'static str> {
        let limits = Limits {
            head_bytes_max: 100,
            headers_max: 3,
            ..Limits::DEFAULT
        };
        let mut decoder = AnswerDecoder::default();
        let mut pieces = input.chunks(step);
        loop {
            match decoder.next(Method::Get, &limits) {
                AnswerEvent::Head => break,
                AnswerEvent::Interim(_) => {}
                AnswerEvent::Fault(fault) => return Err(fault.reason),
                AnswerEvent::Incomplete => {
                    let piece = pieces.next().ok_or("incomplete")?;
                    decoder.buffer().extend_from_slice(piece);
                }
            }
        }
        let (head, _) = decoder.head();
        let (status, framing) = (head.status, head.framing);
        let body = head.body();
        let mut bytes = decoder.take_rest();
        let Some(mut body) = body else {
            bytes.extend(pieces.flatten());
            return Ok((status, Vec::new(), bytes));
        };
        let mut data = Vec::new();
        loop {
            let piece = body.decode(&mut bytes, &limits);
            let piece = piece.map_err(|fault| fault.reason)?;
            data.extend_from_slice(&bytes[..piece.data]);
            if piece.is_last {
                let mut rest = bytes[piece.read..].to_vec();
                rest.extend(pieces.flatten());
                return Ok((status, data, rest));
            }
            bytes = match pieces.next() {
                Some(piece) => piece.to_vec(),
                None if framing == AnswerFraming::UntilClose => {
                    return Ok((status, data, Vec::new()));
                }
                None => return Err("incomplete"),
            };
        }
    }

    #[test]
    fn answers_in_every_split() {
        let cases: [(&[u8], Parts<'_>); 5] = [
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP",
                (200, b"hello", b"HTTP"),
            ),
            (
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 \
                  No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nExpires: 0\r\n\r\n!",
                (404, b"hello", b"!"),
            ),
            (b"HTTP/1.0 200 OK\r\n\r\nhello", (200, b"hello", b"")),
            (b"HTTP/1.1 204 No\r\n\r\nrest", (204, b"", b"rest")),
            (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", (200, b"", b"")),
        ];
        for (input, (status, body, rest)) in cases {
            for step in 1..=input.len() {
                let expected = Ok((status, body.to_vec(), rest.to_vec()));
                assert_eq!(read(input, step), expected, "{step}");
            }
        }
    }

    #[test]
    fn faults_in_every_split() {
        let cases: [(&[u8], &str); 11] = [
            (b"SSH-2.0-OpenSSH", "it is not HTTP/1.1"),
            (b"HTTP/2", "it is not HTTP/1.1"),
            (b"\r\nHTTP/1.1 200 OK\r\n\r\n", "it is not HTTP/1.1"),
            (b"HTTP/1.1 200 OK\n\n", "line end is not CRLF"),
            (
                b"HTTP/1.1 101 X\r\n\r\n",
                "it switches protocols, which was not asked for",
            ),
            (
                b"HTTP/1.1 200 OK\r\na:\r\nb:\r\nc:\r\nd:\r\n\r\n",
                "too many fields",
            ),
            (
                &[&b"HTTP/1.1 200 OK\r\na: "[..], &[b'x'; 100]].concat(),
                "head too long",
            ),
            (
                &b"HTTP/1.1 100 C\r\n\r\n".repeat(17),
                "too many interim answers",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                "incomplete",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloo\r\n",
                "bad line end after chunk",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                "incomplete",
            ),
        ];
        for (input, fault) in cases {
            for step in 1..=input.len() {
                assert_eq!(read(input, step).err(), Some(fault), "{step}");
            }
        }
    }
}
