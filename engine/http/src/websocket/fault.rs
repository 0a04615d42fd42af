//! The faults for which a connection is closed.

use super::close::codes;
use std::fmt;

/// A fault in the bytes of the other end. The connection is over with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolFault {
    /// A frame breaks the protocol: this is wrong with it.
    Protocol(&'static str),
    /// A text is not UTF-8.
    NotUtf8,
    /// A message is longer than this many bytes, inflated or as sent.
    TooBig(usize),
}

impl ProtocolFault {
    /// Returns the code of the close frame that answers the fault.
    pub fn code(self) -> u16 {
        match self {
            Self::Protocol(_) => codes::PROTOCOL,
            Self::NotUtf8 => codes::NOT_UTF8,
            Self::TooBig(_) => codes::TOO_BIG,
        }
    }
}

impl fmt::Display for ProtocolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(fault) => f.write_str(fault),
            Self::NotUtf8 => f.write_str("a text is not UTF-8"),
            Self::TooBig(max) => write!(f, "a message is longer than {max} bytes"),
        }
    }
}

impl std::error::Error for ProtocolFault {}
