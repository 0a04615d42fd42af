//! Close codes and the payload of a close frame (RFC 6455 sections 5.5.1 and 7.4).

use super::fault::ProtocolFault;
use super::frame::CONTROL_BYTES_MAX;

/// The close codes that are used here.
pub mod codes {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: u16 = 1000;
    /// The server stops, or the page is left.
    pub const GOING_AWAY: u16 = 1001;
    /// A frame breaks the protocol.
    pub const PROTOCOL: u16 = 1002;
    /// A close frame without a code. Never sent.
    pub const NONE: u16 = 1005;
    /// The connection ended without a close frame. Never sent.
    pub const ABNORMAL: u16 = 1006;
    /// A text is not UTF-8.
    pub const NOT_UTF8: u16 = 1007;
    /// The server refuses for a reason of its own.
    pub const POLICY: u16 = 1008;
    /// A message is too long.
    pub const TOO_BIG: u16 = 1009;
    /// The server failed.
    pub const FAILED: u16 = 1011;
    /// The server restarts: the client may come back.
    pub const RESTART: u16 = 1012;
    /// The server is overloaded: the client may come back later.
    pub const TRY_LATER: u16 = 1013;
}

/// The content of a close frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// The code; [`codes::NONE`] if the frame has none.
    pub code: u16,
    /// The reason; at most 123 bytes.
    pub reason: String,
}

impl CloseFrame {
    /// Creates the content of a frame. A reason that is too long is cut at a character.
    pub fn new(code: u16, reason: &str) -> Self {
        let reason = &reason[..reason.floor_char_boundary(CONTROL_BYTES_MAX - 2)];
        Self {
            code,
            reason: reason.to_owned(),
        }
    }

    /// Reads the payload of a close frame.
    ///
    /// # Errors
    /// One byte only, a code that may not be sent, or a reason that is not UTF-8.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolFault> {
        match payload {
            [] => Ok(Self::new(codes::NONE, "")),
            [_] => Err(ProtocolFault::Protocol("a close frame with one byte")),
            [high, low, reason @ ..] => {
                let code = u16::from_be_bytes([*high, *low]);
                if !Self::may_send(code) {
                    return Err(ProtocolFault::Protocol("a close code that may not be sent"));
                }
                let reason = std::str::from_utf8(reason).map_err(|_| ProtocolFault::NotUtf8)?;
                Ok(Self::new(code, reason))
            }
        }
    }

    /// Returns the payload.
    pub fn payload(&self) -> Vec<u8> {
        if self.code == codes::NONE {
            return Vec::new();
        }
        let mut out = self.code.to_be_bytes().to_vec();
        out.extend_from_slice(self.reason.as_bytes());
        out
    }

    /// Reports whether a close frame may have this code (RFC 6455 section 7.4, and IANA's registry).
    pub fn may_send(code: u16) -> bool {
        matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_may_not_be_sent_are_refused() {
        for code in [
            0_u16, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535,
        ] {
            assert!(CloseFrame::parse(&code.to_be_bytes()).is_err(), "{code}");
        }
        for code in [1000_u16, 1003, 1007, 1013, 1014, 3000, 4999] {
            assert_eq!(CloseFrame::parse(&code.to_be_bytes()).unwrap().code, code);
        }
        assert_eq!(CloseFrame::parse(b"").unwrap().code, codes::NONE);
        assert!(CloseFrame::parse(b"\x03").is_err());
        assert_eq!(
            CloseFrame::parse(b"\x03\xe8\xff"),
            Err(ProtocolFault::NotUtf8)
        );
    }

    #[test]
    fn a_long_reason_is_cut_at_a_character() {
        let frame = CloseFrame::new(1000, &"ä".repeat(100));
        assert_eq!(frame.reason.len(), 122);
        assert_eq!(CloseFrame::parse(&frame.payload()), Ok(frame));
    }
}
