//! The end of a request's head, and its limits.

use super::Decoder;
use crate::codec::fault::Fault;
use crate::codec::fields::is_token_byte;
use crate::limits::{Limits, REQUEST_LINE_SLACK_BYTES};

impl Decoder {
    /// Looks for the empty line that ends the head, and checks on the way what must not depend on how the
    /// bytes were split: line ends, sizes, the number of lines.
    pub(super) fn find_head_end(&mut self, limits: &Limits) -> Result<Option<usize>, Fault> {
        // A first byte that no method and no empty line has, such as a TLS handshake, is refused at once.
        if self.lines == 0
            && self.line == self.start
            && let Some(&first) = self.buf.get(self.start)
            && !is_token_byte(first)
            && first != b'\r'
        {
            return Err(Fault::bad("malformed request line"));
        }
        while let Some(offset) = memchr::memchr(b'\n', &self.buf[self.scanned..]) {
            let lf = self.scanned + offset;
            self.check_size(lf + 1, limits)?;
            if lf == self.line || self.buf[lf - 1] != b'\r' {
                return Err(Fault::bad("line end is not CRLF"));
            }
            let is_empty = lf - 1 == self.line;
            self.scanned = lf + 1;
            self.line = lf + 1;
            if !is_empty {
                self.lines += 1;
                if self.lines - 1 > limits.headers_max {
                    return Err(Fault::above(
                        431,
                        "too many fields",
                        "headers_max",
                        limits.headers_max as u64,
                    ));
                }
            } else if self.lines > 0 {
                return Ok(Some(lf + 1));
            } else {
                // One empty line before a request is forgiven (RFC 9112 section 2.2).
                self.blank_lines += 1;
                if self.blank_lines > 1 {
                    return Err(Fault::bad("empty lines before the request"));
                }
                self.start = lf + 1;
                if let Some(&first) = self.buf.get(self.start)
                    && !is_token_byte(first)
                    && first != b'\r'
                {
                    return Err(Fault::bad("malformed request line"));
                }
            }
        }
        self.scanned = self.buf.len();
        self.check_size(self.buf.len(), limits)?;
        Ok(None)
    }

    /// Reports whether a head that reaches to `end` (so far) is within its limits.
    fn check_size(&self, end: usize, limits: &Limits) -> Result<(), Fault> {
        if self.lines == 0 && end - self.start > limits.target_bytes_max + REQUEST_LINE_SLACK_BYTES
        {
            return Err(Fault::above(
                414,
                "request line too long",
                "target_bytes_max",
                limits.target_bytes_max as u64,
            ));
        }
        if end - self.start > limits.head_bytes_max {
            return Err(Fault::above(
                431,
                "head too long",
                "head_bytes_max",
                limits.head_bytes_max as u64,
            ));
        }
        Ok(())
    }
}
