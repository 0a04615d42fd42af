//! The faults of requests to other servers.

use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFaultKind {
    /// The request is malformed.
    Request,
    /// The settings do not allow the address.
    Refused,
    /// The name has no address, or could not be looked up.
    Name,
    /// No address took the connection.
    Connect,
    /// The handshake of TLS failed.
    Tls,
    /// A time limit passed.
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
    /// The body of the request failed.
    Upload,
}

/// A fault of a request to another server, in the words of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFault {
    /// The kind.
    pub kind: ClientFaultKind,
    /// The text, on one line.
    pub text: String,
}

impl ClientFault {
    pub(super) fn new(kind: ClientFaultKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    /// Returns the fault of a time limit, with the name of its key.
    pub(super) fn late(what: &str, key: &str, millis: u64) -> Self {
        let text = format!("{what} within {millis} ms ({key})");
        Self::new(ClientFaultKind::Timeout, text)
    }

    /// Returns the fault with the URL that it is about before its text.
    #[must_use]
    pub(super) fn of(mut self, url: &impl fmt::Display) -> Self {
        self.text = format!("{url}: {}", self.text);
        self
    }
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ClientFault {}
