//! The framing of a message according to its head: where its body ends (RFC 9112 section 6),
//! whether the connection goes on (section 9.3), whether the client waits for 100 (RFC 9110 section 10.1.1).
//!
//! Everything that two recipients could read differently is a fault; that is what request smuggling lives on.

use super::fields::list;
use super::target;
use crate::codec::fault::Fault;

/// The way the end of a request body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyFraming {
    /// No body: neither Content-Length nor Transfer-Encoding, or a length of 0.
    #[default]
    None,
    /// The given number of bytes follow the head.
    Sized(u64),
    /// The chunked coding (RFC 9112 section 7.1), or a body of HTTP/2 whose length is not said.
    Chunked,
}

/// Collects the meaning of the fields as they are walked, in their order.
#[derive(Debug, Default)]
pub(super) struct Framing {
    content_length: Option<u64>,
    /// Codings seen so far, of all Transfer-Encoding lines together.
    codings: Codings,
    host_count: u32,
    pub(super) wants_close: bool,
    pub(super) wants_keep_alive: bool,
    pub(super) expects_continue: bool,
    other_expectation: bool,
}

#[derive(Debug, Default)]
pub(super) struct Codings {
    present: bool,
    chunked_is_last: bool,
    /// A coding other than chunked that is registered (IANA HTTP transfer coding registry) but not built in.
    unsupported: bool,
    unknown: bool,
    malformed: bool,
}

impl Framing {
    /// Takes note of one field. Returns true if it is the Host field, whose place the caller keeps.
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) -> Result<bool, Fault> {
        // The lengths select, so that most fields cost one comparison.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                self.host_count += 1;
                if self.host_count > 1 {
                    return Err(Fault::bad("more than one Host"));
                }
                if !target::is_authority(value) {
                    return Err(Fault::bad("invalid Host"));
                }
                return Ok(true);
            }
            6 if name.eq_ignore_ascii_case(b"expect") => {
                if value.eq_ignore_ascii_case(b"100-continue") {
                    self.expects_continue = true;
                } else {
                    self.other_expectation = true;
                }
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in list(value) {
                    self.wants_close |= option.eq_ignore_ascii_case(b"close");
                    self.wants_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                // A second one is refused even if it is equal: the list form `5, 5` is ambiguous enough.
                if self.content_length.is_some() {
                    return Err(Fault::bad("more than one Content-Length"));
                }
                self.content_length = Some(content_length(value)?);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.codings.add(value),
            _ => {}
        }
        Ok(false)
    }

    /// The verdict, once all fields have been seen.
    pub(super) fn finish(&mut self, version_minor: u8) -> Result<BodyFraming, Fault> {
        if self.host_count == 0 && version_minor >= 1 {
            return Err(Fault::bad("missing Host"));
        }
        let framing = self.codings.finish(version_minor, self.content_length)?;
        // Told to 1.0 clients too, for whom it means nothing (RFC 9110 section 10.1.1 leaves it to the server).
        if self.other_expectation {
            return Err(Fault::new(417, "unknown expectation"));
        }
        // A 1.0 client cannot wait for an interim response.
        self.expects_continue &= version_minor >= 1;
        Ok(framing)
    }
}

impl Codings {
    /// Reports whether there is a Transfer-Encoding.
    pub(super) fn is_present(&self) -> bool {
        self.present
    }

    /// Reports whether chunked is the only coding, once.
    pub(super) fn is_chunked_alone(&self) -> bool {
        self.chunked_is_last && !self.malformed && !self.unknown && !self.unsupported
    }

    pub(super) fn add(&mut self, value: &[u8]) {
        self.present = true;
        for coding in list(value) {
            // Nothing may follow chunked, and chunked may not be applied twice.
            self.malformed |= self.chunked_is_last;
            self.chunked_is_last = false;
            if coding.eq_ignore_ascii_case(b"chunked") {
                self.chunked_is_last = true;
            } else if [
                &b"gzip"[..],
                b"x-gzip",
                b"deflate",
                b"compress",
                b"x-compress",
                b"identity",
            ]
            .iter()
            .any(|known| coding.eq_ignore_ascii_case(known))
            {
                self.unsupported = true;
            } else if crate::codec::fields::is_token(coding)
                && !coding
                    .get(..7)
                    .is_some_and(|start| start.eq_ignore_ascii_case(b"chunked"))
            {
                self.unknown = true;
            } else {
                // Empty elements, parameters, and things like `chunked\x0b` that someone else may trim.
                self.malformed = true;
            }
        }
    }

    fn finish(&self, version_minor: u8, content_length: Option<u64>) -> Result<BodyFraming, Fault> {
        if !self.present {
            return Ok(match content_length {
                None | Some(0) => BodyFraming::None,
                Some(bytes) => BodyFraming::Sized(bytes),
            });
        }
        if version_minor == 0 {
            return Err(Fault::bad("Transfer-Encoding in HTTP/1.0"));
        }
        if content_length.is_some() {
            return Err(Fault::bad("Content-Length and Transfer-Encoding"));
        }
        if self.malformed {
            return Err(Fault::bad("malformed Transfer-Encoding"));
        }
        if self.unknown || (self.unsupported && self.chunked_is_last) {
            return Err(Fault::new(501, "unknown transfer coding"));
        }
        if !self.chunked_is_last {
            return Err(Fault::bad("chunked is not the final transfer coding"));
        }
        Ok(BodyFraming::Chunked)
    }
}

/// `1*DIGIT` and nothing else (RFC 9110 section 8.6).
pub(super) fn content_length(value: &[u8]) -> Result<u64, Fault> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Fault::bad("malformed Content-Length"));
    }
    // What does not fit in 64 bits is above every limit.
    Ok(value.iter().fold(0u64, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(minor: u8, fields: &[(&str, &str)]) -> Result<BodyFraming, u16> {
        let mut framing = Framing::default();
        for (name, value) in [("Host", "h")].iter().chain(fields) {
            framing
                .field(name.as_bytes(), value.as_bytes())
                .map_err(|fault| fault.status)?;
        }
        framing.finish(minor).map_err(|fault| fault.status)
    }

    #[test]
    fn content_lengths() {
        assert_eq!(framing(1, &[]), Ok(BodyFraming::None));
        assert_eq!(
            framing(1, &[("content-LENGTH", "005")]),
            Ok(BodyFraming::Sized(5))
        );
        for bad in [
            "", "+5", "-5", "5,5", "5, 5", "0x5", "5 5", "five", "5;", "٥",
        ] {
            assert_eq!(framing(1, &[("Content-Length", bad)]), Err(400), "{bad}");
        }
        assert_eq!(
            framing(1, &[("Content-Length", "5"), ("Content-Length", "5")]),
            Err(400)
        );
        assert_eq!(
            framing(1, &[("Content-Length", "99999999999999999999")]),
            Ok(BodyFraming::Sized(u64::MAX))
        );
    }

    #[test]
    fn transfer_codings() {
        let coded = |value: &str| framing(1, &[("Transfer-Encoding", value)]);
        assert_eq!(coded("Chunked"), Ok(BodyFraming::Chunked));
        for bad in [
            "",
            "chunked, chunked",
            "chunked, gzip",
            "gzip",
            "identity",
            "chunked;q=1",
            ",chunked",
            "chunked,",
            "chunkedx",
            "\"chunked\"",
        ] {
            assert_eq!(coded(bad), Err(400), "{bad}");
        }
        for unknown in ["foo", "foo, chunked", "gzip, chunked"] {
            assert_eq!(coded(unknown), Err(501), "{unknown}");
        }
        assert_eq!(
            framing(
                1,
                &[
                    ("Transfer-Encoding", "chunked"),
                    ("Transfer-Encoding", "chunked")
                ]
            ),
            Err(400)
        );
        assert_eq!(framing(0, &[("Transfer-Encoding", "chunked")]), Err(400));
        assert_eq!(
            framing(
                1,
                &[("Transfer-Encoding", "chunked"), ("Content-Length", "5")]
            ),
            Err(400)
        );
        assert_eq!(
            framing(1, &[("Content-Length", "5"), ("Transfer-Encoding", "foo")]),
            Err(400)
        );
    }

    #[test]
    fn hosts_and_expectations() {
        assert_eq!(Framing::default().finish(1).unwrap_err().status, 400);
        assert_eq!(Framing::default().finish(0), Ok(BodyFraming::None));
        assert_eq!(framing(1, &[("Host", "h")]), Err(400));
        assert_eq!(framing(1, &[("Expect", "tea")]), Err(417));
        assert_eq!(framing(0, &[("Expect", "tea")]), Err(417));
    }
}
