//! The head of an answer: status line and field lines, parsed by httparse and then held to the rules that httparse does
//! not have.

use std::mem::MaybeUninit;

use crate::codec::body::BodyDecoder;
use crate::codec::fault::Fault;
use crate::codec::fields::list;
use crate::codec::framing::{Codings, content_length};
use crate::codec::head::{FieldSpan, Span};
use crate::limits::{HEADERS_CEILING, Limits};
use crate::method::Method;

/// The way the end of an answer's body is found (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerFraming {
    /// No body: an answer to HEAD, the statuses 204 and 304, a tunnel, or a length of 0.
    #[default]
    None,
    /// The given number of bytes follow the head.
    Sized(u64),
    /// The chunked coding.
    Chunked,
    /// The body ends with the connection.
    UntilClose,
}

/// The content of an answer's head. It is filled from valid heads only, by the decoder.
#[derive(Debug, Default)]
pub struct AnswerHead {
    /// 200 to 999; 100 to 199 while an interim answer is decoded.
    pub status: u16,
    /// The reason phrase.
    pub reason: Span,
    /// 0 or 1.
    pub version_minor: u8,
    /// All field lines in order.
    pub fields: Vec<FieldSpan>,
    /// True if the connection may be used again after this answer (RFC 9112 section 9.3).
    pub keep_alive: bool,
    /// The end of the body.
    pub framing: AnswerFraming,
}

impl AnswerHead {
    /// Returns the value of the first field line with this name, in any case. `head` is what was parsed.
    pub fn field<'a>(&self, head: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let is_it = |field: &&FieldSpan| field.name.of(head).eq_ignore_ascii_case(name.as_bytes());
        Some(self.fields.iter().find(is_it)?.value.of(head))
    }

    /// Returns a decoder for the body; `None` without one.
    pub fn body(&self) -> Option<BodyDecoder> {
        match self.framing {
            AnswerFraming::None => None,
            AnswerFraming::Sized(bytes) => Some(BodyDecoder::sized(bytes)),
            AnswerFraming::Chunked => Some(BodyDecoder::chunked_answer()),
            AnswerFraming::UntilClose => Some(BodyDecoder::until_close()),
        }
    }

    /// Parses a complete head: `bytes` ends with the empty line, and every LF in it follows a CR.
    pub(super) fn parse(
        &mut self,
        bytes: &[u8],
        method: Method,
        limits: &Limits,
    ) -> Result<(), Fault> {
        let mut slots = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; HEADERS_CEILING];
        let mut parsed = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        match config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut slots) {
            Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
            Ok(_) => return Err(answer("malformed head")),
            Err(error) => return Err(refuse(error)),
        }
        let (Some(status), Some(minor)) = (parsed.code, parsed.version) else {
            return Err(answer("malformed status line"));
        };
        if !(100..=999).contains(&status) {
            return Err(answer("malformed status"));
        }
        if parsed.headers.len() > limits.headers_max {
            let max = limits.headers_max as u64;
            return Err(Fault::above(502, "too many fields", "headers_max", max));
        }
        let base = bytes.as_ptr() as usize;
        let span = |piece: &[u8]| match piece {
            // An empty piece has no place of its own inside `bytes` in every case.
            [] => Span::default(),
            piece => Span::new(piece.as_ptr() as usize - base, piece.len()),
        };
        self.status = status;
        self.version_minor = minor;
        self.reason = span(parsed.reason.unwrap_or_default().as_bytes());
        self.fields.clear();
        let mut lines = AnswerLines::default();
        for field in parsed.headers.iter() {
            let (name, value) = (field.name.as_bytes(), field.value);
            lines.field(name, value)?;
            self.fields.push(FieldSpan {
                name: span(name),
                value: span(value),
            });
        }
        self.framing = lines.finish(status, method, minor)?;
        self.keep_alive = self.framing != AnswerFraming::UntilClose
            && !lines.wants_close
            && (minor >= 1 || lines.wants_keep_alive);
        Ok(())
    }
}

/// Collects the meaning of the fields as they are walked, in their order.
#[derive(Default)]
struct AnswerLines {
    content_length: Option<u64>,
    codings: Codings,
    wants_close: bool,
    wants_keep_alive: bool,
}

impl AnswerLines {
    fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        // The lengths select, so that most fields cost one comparison.
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in list(value) {
                    self.wants_close |= option.eq_ignore_ascii_case(b"close");
                    self.wants_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = content_length(value);
                let length = length.map_err(|_| answer("malformed Content-Length"))?;
                // Servers behind one another repeat it; one value can be read in one way only.
                if self.content_length.is_some_and(|before| before != length) {
                    return Err(answer("two different Content-Length"));
                }
                self.content_length = Some(length);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.codings.add(value),
            _ => {}
        }
        Ok(())
    }

    fn finish(&self, status: u16, method: Method, minor: u8) -> Result<AnswerFraming, Fault> {
        let framing = if self.codings.is_present() {
            if self.content_length.is_some() {
                return Err(answer("Content-Length and Transfer-Encoding"));
            }
            if minor == 0 || !self.codings.is_chunked_alone() {
                return Err(answer("unknown transfer coding"));
            }
            AnswerFraming::Chunked
        } else {
            match self.content_length {
                Some(0) => AnswerFraming::None,
                Some(bytes) => AnswerFraming::Sized(bytes),
                None => AnswerFraming::UntilClose,
            }
        };
        let has_none = matches!(status, 100..=199 | 204 | 304)
            || method == Method::Head
            // A tunnel begins.
            || (method == Method::Connect && status < 300);
        Ok(match has_none {
            true => AnswerFraming::None,
            false => framing,
        })
    }
}

/// A fault of an answer.
pub(super) const fn answer(reason: &'static str) -> Fault {
    Fault::new(502, reason)
}

/// The fault for a head that httparse refuses.
fn refuse(error: httparse::Error) -> Fault {
    match error {
        httparse::Error::TooManyHeaders => {
            let max = HEADERS_CEILING as u64;
            Fault::above(502, "too many fields", "headers_max", max)
        }
        httparse::Error::Version => answer("unknown HTTP version"),
        httparse::Error::Status => answer("malformed status line"),
        httparse::Error::HeaderName => answer("malformed field name"),
        httparse::Error::HeaderValue => answer("malformed field value"),
        _ => answer("malformed head"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, method: Method) -> Result<AnswerHead, &'static str> {
        let mut head = AnswerHead::default();
        let parsed = head.parse(text.as_bytes(), method, &Limits::DEFAULT);
        parsed.map_err(|fault| fault.reason)?;
        Ok(head)
    }

    fn framing(fields: &str) -> Result<AnswerFraming, &'static str> {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        parse(&text, Method::Get).map(|head| head.framing)
    }

    #[test]
    fn the_end_of_a_body_is_found_in_one_way() {
        assert_eq!(framing(""), Ok(AnswerFraming::UntilClose));
        assert_eq!(framing("content-LENGTH: 0\r\n"), Ok(AnswerFraming::None));
        assert_eq!(
            framing("Content-Length: 5\r\nContent-Length: 5\r\n"),
            Ok(AnswerFraming::Sized(5))
        );
        assert_eq!(
            framing("Transfer-Encoding: Chunked\r\n"),
            Ok(AnswerFraming::Chunked)
        );
        for (fields, fault) in [
            (
                "Content-Length: 5\r\nContent-Length: 6\r\n",
                "two different Content-Length",
            ),
            ("Content-Length: 5, 6\r\n", "malformed Content-Length"),
            ("Content-Length: -5\r\n", "malformed Content-Length"),
            (
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "Content-Length and Transfer-Encoding",
            ),
            ("Transfer-Encoding: gzip\r\n", "unknown transfer coding"),
            (
                "Transfer-Encoding: gzip, chunked\r\n",
                "unknown transfer coding",
            ),
            (
                "Transfer-Encoding: chunked, chunked\r\n",
                "unknown transfer coding",
            ),
            ("Transfer-Encoding:\r\n", "unknown transfer coding"),
            ("a b: c\r\n", "malformed field name"),
            (" folded\r\n", "malformed field name"),
            ("a: b\0c\r\n", "malformed field value"),
        ] {
            assert_eq!(framing(fields), Err(fault), "{fields}");
        }
    }

    #[test]
    fn some_answers_have_no_body() {
        let sized = |status: &str| format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n");
        let none = Ok(AnswerFraming::None);
        let of = |text: &str, method| parse(text, method).map(|head| head.framing);
        assert_eq!(of(&sized("200 OK"), Method::Head), none);
        for status in ["204 No Content", "304 Not Modified", "103 Early Hints"] {
            assert_eq!(of(&sized(status), Method::Get), none, "{status}");
        }
        assert_eq!(of(&sized("205"), Method::Get), Ok(AnswerFraming::Sized(5)));
    }

    #[test]
    fn a_connection_goes_on_where_both_say_so() {
        let keeps = |text: &str| parse(text, Method::Get).expect("a head").keep_alive;
        assert!(keeps("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"));
        assert!(keeps(
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n"
        ));
        assert!(!keeps(
            "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 5\r\n\r\n"
        ));
        assert!(!keeps("HTTP/1.1 200 OK\r\n\r\n"));
    }

    #[test]
    fn status_lines() {
        for (line, fault) in [
            ("HTTP/2.0 200 OK", "unknown HTTP version"),
            ("HTTP/1.1 20 OK", "malformed status line"),
            ("HTTP/1.1 099 OK", "malformed status"),
            ("HTTP/1.1 2x0 OK", "malformed status line"),
        ] {
            let text = format!("{line}\r\n\r\n");
            assert_eq!(parse(&text, Method::Get).err(), Some(fault), "{line}");
        }
        let text = "HTTP/1.1 999 \r\nX: y\r\n\r\n";
        let head = parse(text, Method::Get).expect("a head");
        assert_eq!(
            (head.status, head.reason.of(text.as_bytes())),
            (999, &b""[..])
        );
        assert_eq!(head.field(text.as_bytes(), "x"), Some(&b"y"[..]));
    }
}
