//! Responses that are serialised once, at start, and then copied to the output with today's date.

use std::sync::{Arc, OnceLock};

use http::header::{DATE, HeaderMap};

use crate::codec::encoder::{BodyRest, DATE_BYTES, Exchange, connection_line, encode_response};
use crate::codec::http2::fields_of;
use crate::response::{Body, FilePart, Response};

/// A whole response as bytes, complete but for its date. The fastest answer there is; it is made once and
/// answered any number of times with [`Answer::Precomputed`](crate::Answer::Precomputed).
#[derive(Debug)]
pub struct Precomputed {
    /// The head, and the body where that is small.
    bytes: Vec<u8>,
    /// The body where it is large or a file.
    rest: Option<PrecomputedRest>,
    /// The end of the head, its empty line included.
    head_bytes: usize,
    date_at: Option<usize>,
    status: u16,
    close: bool,
    /// Its fields for HTTP/2 without the date, made when it is first sent there.
    http2: OnceLock<Box<HeaderMap>>,
}

/// The body of a [`Precomputed`] that is sent from where it is.
#[derive(Clone, Debug)]
pub enum PrecomputedRest {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// This part of a file.
    File(FilePart),
}

impl Precomputed {
    /// Serialises a response.
    ///
    /// # Errors
    /// The response itself if its body is a stream, which can be sent only once.
    pub fn new(response: Response) -> Result<Arc<Precomputed>, Response> {
        if matches!(response.body(), Body::Stream(_)) {
            return Err(response);
        }
        let status = response.status();
        // A date that no clock gives marks the place; an own Date header leaves no mark.
        const MARK: &[u8; DATE_BYTES] = b"Mon, 00 Jan 0000 00:00:00 GMT";
        let has_own_date = response.has_header("date");
        let exchange = Exchange {
            head_only: false,
            version_minor: 1,
            keep_alive: true,
        };
        let mut bytes = Vec::new();
        let (rest, keep_alive) = encode_response(&mut bytes, response, exchange, MARK);
        let close = !keep_alive;
        if close {
            // The line is put in when it is sent, as for clients that ask for it.
            let line = connection_line(Exchange {
                keep_alive: false,
                ..exchange
            });
            let at = memchr::memmem::find(&bytes, b"\r\nConnection: close\r\n\r\n")
                .expect("the encoder wrote it last")
                + 2;
            bytes.drain(at..at + line.len());
        }
        let head_bytes =
            memchr::memmem::find(&bytes, b"\r\n\r\n").expect("a head ends in an empty line") + 4;
        let rest = match rest {
            BodyRest::Bytes(body) => Some(PrecomputedRest::Bytes(body.into())),
            BodyRest::Shared(body) => Some(PrecomputedRest::Bytes(body)),
            BodyRest::Lent(lender) => Some(PrecomputedRest::Bytes((*lender).as_ref().into())),
            BodyRest::File(part) => Some(PrecomputedRest::File(part)),
            BodyRest::Nothing | BodyRest::Stream { .. } => None,
        };
        bytes.shrink_to_fit();
        let date_at = if has_own_date {
            None
        } else {
            memchr::memmem::find(&bytes[..head_bytes], MARK)
        };
        Ok(Arc::new(Precomputed {
            bytes,
            rest,
            head_bytes,
            date_at,
            status,
            close,
            http2: OnceLock::new(),
        }))
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The fields for HTTP/2; without a date where the engine adds that.
    pub(crate) fn http2_fields(&self) -> &HeaderMap {
        self.http2.get_or_init(|| {
            let mut fields = HeaderMap::new();
            fields_of(&self.bytes[..self.head_bytes], &mut fields);
            if self.date_at.is_some() {
                fields.remove(DATE);
            }
            Box::new(fields)
        })
    }

    /// Reports whether the connection ends with it.
    pub(crate) fn ends_connection(&self) -> bool {
        self.close
    }

    /// The body where it is behind the head.
    pub(crate) fn small_body(&self) -> &[u8] {
        &self.bytes[self.head_bytes..]
    }

    /// The body where it is sent from where it is.
    pub(crate) fn rest(&self) -> Option<&PrecomputedRest> {
        self.rest.as_ref()
    }

    /// Appends the response to `out`. Returns the body where that is sent from where it is, and whether the connection
    /// goes on after it.
    #[inline]
    pub fn encode(
        &self,
        out: &mut Vec<u8>,
        mut exchange: Exchange,
        date: &[u8; DATE_BYTES],
    ) -> (Option<PrecomputedRest>, bool) {
        exchange.keep_alive &= !self.close;
        let start = out.len();
        let line = connection_line(exchange);
        if line.is_empty() {
            let len = if exchange.head_only {
                self.head_bytes
            } else {
                self.bytes.len()
            };
            out.extend_from_slice(&self.bytes[..len]);
        } else {
            out.extend_from_slice(&self.bytes[..self.head_bytes - 2]);
            out.extend_from_slice(line);
            out.extend_from_slice(b"\r\n");
            if !exchange.head_only {
                out.extend_from_slice(&self.bytes[self.head_bytes..]);
            }
        }
        if let Some(at) = self.date_at {
            out[start + at..start + at + DATE_BYTES].copy_from_slice(date);
        }
        let rest = if exchange.head_only {
            None
        } else {
            self.rest.clone()
        };
        (rest, exchange.keep_alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &[u8; DATE_BYTES] = b"Sun, 06 Nov 1994 08:49:37 GMT";

    fn version() -> Response {
        let mut response = Response::new(200);
        response.content_type("application/json");
        response.header(b"X-A", b"b").unwrap();
        response
            .body_mut()
            .extend_from_slice(b"{\"version\":\"1\"}");
        response
    }

    /// Sent precomputed, a response is byte for byte what it is when it is sent directly.
    #[test]
    fn same_bytes_as_the_encoder() {
        for (head_only, version_minor, keep_alive, close) in [
            (false, 1, true, false),
            (true, 1, true, false),
            (false, 0, true, false),
            (false, 1, false, false),
            (true, 0, false, false),
            (false, 1, true, true),
        ] {
            let exchange = Exchange {
                head_only,
                version_minor,
                keep_alive,
            };
            let make = || {
                let mut response = version();
                if close {
                    response.close();
                }
                response
            };
            let (mut direct, mut copied) = (b"before".to_vec(), b"before".to_vec());
            let (_, goes_on) = encode_response(&mut direct, make(), exchange, DATE);
            let precomputed = Precomputed::new(make()).unwrap();
            assert_eq!(precomputed.encode(&mut copied, exchange, DATE).1, goes_on);
            assert_eq!(
                String::from_utf8(copied).unwrap(),
                String::from_utf8(direct).unwrap()
            );
        }
    }

    #[test]
    fn an_own_date_stays() {
        let mut response = version();
        response
            .header(b"Date", b"Tue, 01 Jan 2030 00:00:00 GMT")
            .unwrap();
        let mut out = Vec::new();
        Precomputed::new(response).unwrap().encode(
            &mut out,
            Exchange {
                head_only: false,
                version_minor: 1,
                keep_alive: true,
            },
            DATE,
        );
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Date: Tue, 01 Jan 2030") && !text.contains("1994"));
    }
}
