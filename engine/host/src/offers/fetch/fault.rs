//! The faults of requests to other servers.

use crate::error::{Error, ErrorKind};

/// The kind of a fault of a request to another server. Scripts see its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchFault {
    /// The request is malformed: its URL, its method or a field line.
    Request,
    /// `[fetch]` does not allow the address.
    Refused,
    /// The name has no address, or could not be looked up.
    Name,
    /// No address of the server took the connection.
    Connect,
    /// The handshake of TLS failed, mostly because of the server's certificate.
    Tls,
    /// A time limit passed; the message names it.
    Timeout,
    /// The connection ended before the answer did.
    Closed,
    /// The answer is not HTTP, or can be read in two ways.
    Answer,
    /// The answer is larger than allowed.
    TooLarge,
    /// Too many redirects, or one that cannot be followed.
    Redirect,
    /// The compressed body is damaged.
    Coding,
    /// The proxy refused.
    Proxy,
    /// More requests wait for a connection than may.
    Busy,
}

impl FetchFault {
    /// Returns the code of its errors.
    pub fn code(self) -> &'static str {
        match self {
            Self::Request => "fetch_request",
            Self::Refused => "fetch_refused",
            Self::Name => "fetch_dns",
            Self::Connect => "fetch_connect",
            Self::Tls => "fetch_tls",
            Self::Timeout => "fetch_timeout",
            Self::Closed => "fetch_closed",
            Self::Answer => "fetch_answer",
            Self::TooLarge => "fetch_too_large",
            Self::Redirect => "fetch_redirect",
            Self::Coding => "fetch_coding",
            Self::Proxy => "fetch_proxy",
            Self::Busy => "fetch_busy",
        }
    }

    /// Returns the kind of its errors: the script's own fault, or that of a server that it depends on (502, 503, 504).
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::Request | Self::Refused => ErrorKind::Script,
            Self::Timeout => ErrorKind::Timeout,
            Self::Busy => ErrorKind::Unavailable,
            _ => ErrorKind::Status(502),
        }
    }

    /// Makes an error of it.
    pub fn error(self, message: impl Into<String>) -> Error {
        Error::new(self.kind(), message).with_code(self.code())
    }
}
