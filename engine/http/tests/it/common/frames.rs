//! Frames of HTTP/2, made and read byte by byte, for clients that do what no library does.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::Server;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A header block without compression (RFC 7541 section 6.2.2).
pub fn block(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name.as_bytes(), value] {
            // A number with a prefix of seven bits.
            if text.len() < 127 {
                block.push(text.len() as u8);
            } else {
                block.push(127);
                let mut left = text.len() - 127;
                while left >= 128 {
                    block.push((left % 128 + 128) as u8);
                    left /= 128;
                }
                block.push(left as u8);
            }
            block.extend(text);
        }
    }
    block
}

/// The pseudo-header fields of a GET.
pub const GET: [(&str, &[u8]); 4] = [
    (":method", b"GET"),
    (":scheme", b"https"),
    (":authority", b"h"),
    (":path", b"/"),
];

/// A whole request.
pub fn request(stream: u32, more: &[(&str, &[u8])]) -> Vec<u8> {
    let fields = [&GET[..], more].concat();
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(&fields))
}

/// Begins a connection.
pub fn begin(server: &Server) -> TcpStream {
    let mut socket = server.connect_http2();
    socket.write_all(PREFACE).unwrap();
    socket.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    socket
}

/// Reads a frame: kind, flags, stream, payload. `None` at the end.
pub fn read_frame(socket: &mut TcpStream) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    socket.read_exact(&mut head).ok()?;
    let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let mut payload = vec![0; len];
    socket.read_exact(&mut payload).ok()?;
    let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
    Some((head[3], head[4], stream, payload))
}

/// The first frame of this kind and stream; `None` if the connection ends before.
pub fn read_until(socket: &mut TcpStream, kind: u8, stream: u32) -> Option<Vec<u8>> {
    loop {
        let frame = read_frame(socket)?;
        if (frame.0, frame.2) == (kind, stream) {
            return Some(frame.3);
        }
    }
}

/// The error code by which the server ends the connection; `None` if it ends without a word.
pub fn read_goaway(socket: &mut TcpStream) -> Option<u32> {
    let payload = read_until(socket, GOAWAY, 0)?;
    Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()))
}

/// The error code by which the server resets a stream.
pub fn read_reset(socket: &mut TcpStream, stream: u32) -> Option<u32> {
    let payload = read_until(socket, RST_STREAM, stream)?;
    Some(u32::from_be_bytes(payload[..4].try_into().unwrap()))
}
