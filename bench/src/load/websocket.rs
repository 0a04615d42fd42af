//! The client's side of a WebSocket (RFC 6455), as far as a load needs it.

use std::io;

/// The mask of all frames: they are made once and sent again and again.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// The longest head of a frame that a server sends.
const HEAD_BYTES_MAX: usize = 10;

/// The request that opens a socket.
pub(super) fn handshake(host: &str, path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// The answer's field for that key (RFC 6455 section 1.3).
const ACCEPT: &str = "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=";

/// The length of the answer to the handshake at the beginning of `bytes`; nothing while it is not complete.
///
/// # Errors
///
/// When the server refused, or did not understand.
pub(super) fn accepted(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let mut lines = head.split("\r\n");
    let is_switched = lines
        .next()
        .is_some_and(|line| line.starts_with("http/1.1 101"));
    if !is_switched || !lines.any(|line| line == ACCEPT) {
        return Err(io::Error::other(format!("no handshake: {head}")));
    }
    Ok(Some(end + 4))
}

/// A text message in one frame.
pub(super) fn text_frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        len @ 0..=125 => frame.push(0x80 | len as u8),
        len @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    let masked = text.bytes().zip(MASK.iter().cycle());
    frame.extend(masked.map(|(byte, mask)| byte ^ mask));
    frame
}

/// Finds a text message at the beginning of `bytes`. Gives where its payload begins and ends, or nothing while bytes
/// are missing.
///
/// # Errors
///
/// When it is another frame: no server has a reason to send one.
pub(super) fn text_at(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let (Some(&first), Some(&second)) = (bytes.first(), bytes.get(1)) else {
        return Ok(None);
    };
    if first != 0x81 || second & 0x80 != 0 {
        return Err(io::Error::other(format!(
            "a frame that begins with {first:#x} {second:#x}"
        )));
    }
    let (len, start) = match second {
        126 if bytes.len() >= 4 => (usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), 4),
        127 if bytes.len() >= HEAD_BYTES_MAX => {
            let len = bytes[2..10].try_into().map(u64::from_be_bytes);
            (len.unwrap_or_default() as usize, HEAD_BYTES_MAX)
        }
        126 | 127 => return Ok(None),
        len => (usize::from(len), 2),
    };
    let end = start.saturating_add(len);
    Ok((bytes.len() >= end).then_some((start, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_masked_and_as_long_as_they_say() {
        for len in [0, 125, 126, 16_000, 70_000] {
            let text = "x".repeat(len);
            let frame = text_frame(&text);
            let body = &frame[frame.len() - len..];
            let plain: Vec<u8> = body
                .iter()
                .zip(MASK.iter().cycle())
                .map(|(byte, mask)| byte ^ mask)
                .collect();
            assert_eq!(plain, text.as_bytes());
            // As a server sends it: without the mask.
            let mut sent = frame[..frame.len() - len - 4].to_vec();
            sent[1] &= 0x7f;
            assert_eq!(text_at(&sent).ok(), Some((len == 0).then_some((2, 2))));
            let head = sent.len();
            sent.extend_from_slice(text.as_bytes());
            assert_eq!(text_at(&sent).ok(), Some(Some((head, head + len))));
        }
    }

    #[test]
    fn other_frames_and_refusals_are_errors() {
        assert!(text_at(b"\x82\x01x").is_err(), "bytes");
        assert!(text_at(b"\x88\x00").is_err(), "an end");
        assert!(accepted(b"HTTP/1.1 403 Forbidden\r\n\r\n").is_err());
        let right =
            b"HTTP/1.1 101 x\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nrest";
        assert_eq!(accepted(right).ok(), Some(Some(right.len() - 4)));
        assert_eq!(accepted(&right[..20]).ok(), Some(None));
    }
}
