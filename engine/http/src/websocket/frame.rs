//! The head of a frame and the mask (RFC 6455 sections 5.2 and 5.3).

use super::fault::ProtocolFault;

/// The most bytes that the head of a frame has.
pub const HEAD_BYTES_MAX: usize = 14;

/// The most bytes of payload that a control frame has.
pub const CONTROL_BYTES_MAX: usize = 125;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A further part of a message.
    Continuation,
    /// The first part of a text.
    Text,
    /// The first part of a message of bytes.
    Binary,
    /// The end of the connection.
    Close,
    /// A question whether the other end is there.
    Ping,
    /// The answer to it.
    Pong,
}

impl Opcode {
    fn of(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xa,
        }
    }

    /// Reports whether it is a control frame, which may stand between the frames of a message.
    pub fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The end of a connection that reads. Frames of clients are masked, frames of servers are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads what a client sends.
    Server,
    /// Reads what a server sends.
    Client,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// True for the last frame of a message.
    pub is_final: bool,
    /// True for the first frame of a message that is compressed (RFC 7692 section 6).
    pub is_compressed: bool,
    /// The kind.
    pub opcode: Opcode,
    /// The length of the payload, in bytes.
    pub len: u64,
    /// The mask of the payload.
    pub mask: Option<[u8; 4]>,
}

impl Head {
    /// Creates the head of a frame that is a whole message, as a server sends it.
    pub fn whole(opcode: Opcode, len: usize) -> Self {
        Self {
            is_final: true,
            is_compressed: false,
            opcode,
            len: len as u64,
            mask: None,
        }
    }

    /// Parses the beginning of `bytes`. Gives the head and its length, or nothing while bytes are missing.
    ///
    /// # Errors
    /// The bytes break the protocol. Only what the first ones say is checked before the rest is there.
    pub fn parse(bytes: &[u8], role: Role) -> Result<Option<(Self, usize)>, ProtocolFault> {
        let fault = |text| Err(ProtocolFault::Protocol(text));
        let Some(&first) = bytes.first() else {
            return Ok(None);
        };
        if first & 0x30 != 0 {
            return fault("a reserved bit is set");
        }
        let Some(opcode) = Opcode::of(first & 0x0f) else {
            return fault("a reserved opcode");
        };
        let (is_final, is_compressed) = (first & 0x80 != 0, first & 0x40 != 0);
        if opcode.is_control() && (!is_final || is_compressed) {
            return fault("a control frame that is fragmented or compressed");
        }
        let Some(&second) = bytes.get(1) else {
            return Ok(None);
        };
        let is_masked = second & 0x80 != 0;
        match (role, is_masked) {
            (Role::Server, false) => return fault("a frame of a client is not masked"),
            (Role::Client, true) => return fault("a frame of a server is masked"),
            _ => {}
        }
        let short = second & 0x7f;
        if opcode.is_control() && usize::from(short) > CONTROL_BYTES_MAX {
            return fault("a control frame is too long");
        }
        let (len, at) = match short {
            126 => match bytes.get(2..4) {
                Some(&[a, b]) => (u64::from(u16::from_be_bytes([a, b])), 4),
                _ => return Ok(None),
            },
            127 => match bytes.get(2..10).and_then(|len| len.try_into().ok()) {
                Some(len) => (u64::from_be_bytes(len), 10),
                None => return Ok(None),
            },
            len => (u64::from(len), 2),
        };
        let is_minimal = match short {
            126 => len > CONTROL_BYTES_MAX as u64,
            127 => len > u64::from(u16::MAX),
            _ => true,
        };
        if !is_minimal || len >> 63 != 0 {
            return fault("the length of a frame is not written in its shortest form");
        }
        let (mask, end) = match is_masked {
            false => (None, at),
            true => match bytes.get(at..at + 4).and_then(|mask| mask.try_into().ok()) {
                Some(mask) => (Some(mask), at + 4),
                None => return Ok(None),
            },
        };
        let head = Self {
            is_final,
            is_compressed,
            opcode,
            len,
            mask,
        };
        Ok(Some((head, end)))
    }

    /// Writes the head. Gives the bytes, and how many of them count.
    pub fn encode(self) -> ([u8; HEAD_BYTES_MAX], usize) {
        let mut out = [0; HEAD_BYTES_MAX];
        out[0] = u8::from(self.is_final) << 7 | u8::from(self.is_compressed) << 6;
        out[0] |= self.opcode.bits();
        let mut end = match self.len {
            len @ 0..=125 => {
                out[1] = len as u8;
                2
            }
            len @ 126..=0xffff => {
                out[1] = 126;
                out[2..4].copy_from_slice(&(len as u16).to_be_bytes());
                4
            }
            len => {
                out[1] = 127;
                out[2..10].copy_from_slice(&len.to_be_bytes());
                10
            }
        };
        if let Some(mask) = self.mask {
            out[1] |= 0x80;
            out[end..end + 4].copy_from_slice(&mask);
            end += 4;
        }
        (out, end)
    }
}

/// Masks or unmasks a part of a payload that begins at `offset` of it.
pub fn apply_mask(bytes: &mut [u8], mask: [u8; 4], offset: usize) {
    let mask: [u8; 4] = std::array::from_fn(|at| mask[(offset + at) % 4]);
    let word = u64::from_ne_bytes([
        mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3],
    ]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for chunk in words {
        *chunk = (u64::from_ne_bytes(*chunk) ^ word).to_ne_bytes();
    }
    for (at, byte) in rest.iter_mut().enumerate() {
        *byte ^= mask[at % 4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back_as_they_were_written() {
        for len in [0, 1, 125, 126, 65_535, 65_536, 1 << 40] {
            for mask in [None, Some([1, 2, 3, 4])] {
                let head = Head {
                    mask,
                    len,
                    ..Head::whole(Opcode::Binary, 0)
                };
                let role = if mask.is_some() {
                    Role::Server
                } else {
                    Role::Client
                };
                let (bytes, count) = head.encode();
                assert_eq!(Head::parse(&bytes[..count], role), Ok(Some((head, count))));
                for cut in 0..count {
                    assert_eq!(Head::parse(&bytes[..cut], role), Ok(None));
                }
            }
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        for bytes in [
            &b"\xa1"[..],
            b"\x91",
            b"\x83",
            b"\x8b",
            b"\x09",
            b"\xc9",
            b"\x81\x05",
            b"\x89\xfe",
            b"\x82\xfe\x00\x7d\0\0\0\0",
            b"\x82\xff\0\0\0\0\0\0\xff\xff\0\0\0\0",
            b"\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0",
        ] {
            assert!(Head::parse(bytes, Role::Server).is_err(), "{bytes:?}");
        }
        assert!(Head::parse(b"\x81\x80", Role::Client).is_err());
    }

    #[test]
    fn a_mask_goes_on_where_a_part_ended() {
        let plain: Vec<u8> = (0..50).collect();
        let mut whole = plain.clone();
        apply_mask(&mut whole, [9, 8, 7, 6], 0);
        for cut in 0..plain.len() {
            let mut parts = plain.clone();
            let (one, other) = parts.split_at_mut(cut);
            apply_mask(one, [9, 8, 7, 6], 0);
            apply_mask(other, [9, 8, 7, 6], cut);
            assert_eq!(parts, whole);
        }
    }
}
