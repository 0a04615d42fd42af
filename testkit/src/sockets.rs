//! A client for WebSockets, and the steps of a case that speak through it.

use crate::sockets_http2::{self, OpenStream};
use sampan_http::websocket::{
    CloseFrame, Decoder, DecoderLimits, Event, Head, Opcode, Role, accept_value, apply_mask,
};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The key of all handshakes: tests need no other.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// The longest message that a test receives, in bytes.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The longest wait for the server, in milliseconds.
const WAIT_MILLIS_MAX: u64 = 30_000;

/// Makes a frame of a client that is a whole message. The protocol wants a mask that cannot be guessed, for the sake of
/// proxies, of which there are none.
pub(crate) fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x5a, 0x01, 0xff, 0x80];
    let head = Head {
        mask: Some(MASK),
        ..Head::whole(opcode, payload.len())
    };
    let (bytes, len) = head.encode();
    let mut frame = bytes[..len].to_vec();
    frame.extend_from_slice(payload);
    apply_mask(&mut frame[len..], MASK, 0);
    frame
}

/// A connection to a server.
#[derive(Debug)]
pub struct SocketClient {
    stream: TcpStream,
    decoder: Decoder,
    /// Bytes that were read and not decoded.
    pending: Vec<u8>,
    /// The head of the answer to the handshake.
    head: String,
}

impl SocketClient {
    /// Connects.
    ///
    /// # Errors
    /// The server refuses, with its whole answer, or cannot be reached.
    pub fn connect(
        address: SocketAddr,
        path: &str,
        headers: &[(String, String)],
    ) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        Self::connect_over(stream, &address.to_string(), path, headers)
    }

    /// Connects over the plain end of a tunnel to a host.
    ///
    /// # Errors
    /// The server refuses, with its whole answer, or has gone.
    pub fn connect_over(
        mut stream: TcpStream,
        host: &str,
        path: &str,
        headers: &[(String, String)],
    ) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let patience = Some(Duration::from_millis(WAIT_MILLIS_MAX));
        stream.set_read_timeout(patience).map_err(told)?;
        let mut head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).map_err(told)?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => answer.push(byte[0]),
                _ => break,
            }
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if !answer.starts_with("HTTP/1.1 101 ") {
            return Err(format!("the server refused:\n{answer}"));
        }
        let accept = format!("Sec-WebSocket-Accept: {}", accept_value(KEY.as_bytes()));
        if !answer.contains(&accept) {
            return Err(format!("a wrong Sec-WebSocket-Accept:\n{answer}"));
        }
        Self::over(stream, answer)
    }

    /// Connects over HTTP/2, with prior knowledge (RFC 8441).
    ///
    /// # Errors
    /// The server refuses, with the head of its answer, or cannot be reached.
    pub fn connect_http2(
        address: SocketAddr,
        path: &str,
        headers: &[(String, String)],
    ) -> Result<Self, String> {
        let OpenStream { plain, head } = sockets_http2::open(address, path, headers)?;
        Self::over(plain, head)
    }

    /// A socket whose handshake is done.
    fn over(stream: TcpStream, head: String) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let patience = Some(Duration::from_millis(WAIT_MILLIS_MAX));
        stream.set_read_timeout(patience).map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        let limits = DecoderLimits {
            message_bytes_max: MESSAGE_BYTES_MAX,
            is_compressed: head.contains("permessage-deflate"),
        };
        Ok(Self {
            stream,
            decoder: Decoder::new(Role::Client, limits),
            pending: Vec::new(),
            head,
        })
    }

    /// Returns the head of the answer to the handshake.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Sends a frame that is a whole message.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), String> {
        self.send_raw(&frame(opcode, payload))
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sent = self.stream.write_all(bytes);
        sent.map_err(|error| format!("cannot send: {error}"))
    }

    /// Waits for the next message or control frame. Nothing at the end of the connection.
    ///
    /// # Errors
    /// The server breaks the protocol, or says nothing.
    pub fn receive(&mut self) -> Result<Option<Event>, String> {
        let mut room = vec![0; 64 * 1024];
        loop {
            let mut input = &self.pending[..];
            let event = self.decoder.next(&mut input);
            self.pending = input.to_vec();
            if let Some(event) = event.map_err(|fault| fault.to_string())? {
                return Ok(Some(event));
            }
            match self.stream.read(&mut room) {
                Ok(0) => return Ok(None),
                Ok(len) => self.pending.extend_from_slice(&room[..len]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(format!("nothing comes: {error}")),
            }
        }
    }
}

/// Runs the steps of a case. A step is the name of a socket (mostly empty), a sign and the rest:
///
/// | step | meaning |
/// |---|---|
/// | `a= /path` | connects the socket `a` to another path than that of the request |
/// | `> text`, `< text` | sends a text; receives exactly this text |
/// | `>bytes 00ff`, `<bytes 00ff` | the same with bytes |
/// | `>ping x`, `>pong x`, `<ping x`, `<pong x` | control frames |
/// | `>close 1000 why`, `<close 1000 why` | close frames |
/// | `>raw 8100` | sends bytes as they are |
/// | `>repeat 1000 8980` | sends bytes so many times |
/// | `>many 1000 x` | sends a text of so many times `x` |
/// | `<many 1000 x` | receives it |
/// | `<end` | the server ends the connection |
/// | `<head name: value` | the head of the handshake's answer has this line |
/// | `!` | closes the connection without a frame |
pub(crate) fn run(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
    steps: &[String],
) -> Result<(), String> {
    let mut sockets = BTreeMap::<String, SocketClient>::new();
    for step in steps {
        let fault = |text: String| format!("{step}: {text}");
        let at = step.find(['=', '>', '<', '!']);
        let at = at.ok_or_else(|| fault("no step".to_owned()))?;
        let (name, rest) = step.split_at(at);
        let (sign, rest) = rest.split_at(1);
        if sign == "!" {
            sockets.remove(name);
            continue;
        }
        if !sockets.contains_key(name) {
            let path = if sign == "=" { rest.trim() } else { path };
            let client = SocketClient::connect(address, path, headers).map_err(fault)?;
            sockets.insert(name.to_owned(), client);
        }
        let Some(socket) = sockets.get_mut(name) else {
            continue;
        };
        match sign {
            ">" => send(socket, rest),
            "<" => expect(socket, rest),
            _ => Ok(()),
        }
        .map_err(fault)?;
    }
    Ok(())
}

/// A word, and what stands behind it.
fn parts(rest: &str) -> (&str, &str) {
    rest.split_once(' ').unwrap_or((rest, ""))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

fn many(text: &str) -> Result<String, String> {
    let (count, unit) = parts(text);
    let count: usize = count.parse().map_err(|_| "no number".to_owned())?;
    Ok(unit.repeat(count))
}

fn close_frame(text: &str) -> CloseFrame {
    let (code, reason) = parts(text);
    CloseFrame::new(code.parse().unwrap_or(1005), reason)
}

fn send(socket: &mut SocketClient, rest: &str) -> Result<(), String> {
    let (word, text) = parts(rest);
    match word {
        "" => socket.send(Opcode::Text, text.as_bytes()),
        "bytes" => socket.send(Opcode::Binary, &hex(text)?),
        "ping" => socket.send(Opcode::Ping, text.as_bytes()),
        "pong" => socket.send(Opcode::Pong, text.as_bytes()),
        "close" => socket.send(Opcode::Close, &close_frame(text).payload()),
        "raw" => socket.send_raw(&hex(text)?),
        "repeat" => {
            let (count, bytes) = parts(text);
            let count: usize = count.parse().map_err(|_| "no number".to_owned())?;
            socket.send_raw(&hex(bytes)?.repeat(count))
        }
        "many" => socket.send(Opcode::Text, many(text)?.as_bytes()),
        _ => Err(format!("no step {word:?}")),
    }
}

fn expect(socket: &mut SocketClient, rest: &str) -> Result<(), String> {
    let (word, text) = parts(rest);
    if word == "head" {
        return match socket.head().contains(text) {
            true => Ok(()),
            false => Err(format!("the head is\n{}", socket.head())),
        };
    }
    let wanted = match word {
        "" => Some(Event::Text(text.to_owned())),
        "bytes" => Some(Event::Bytes(hex(text)?)),
        "ping" => Some(Event::Ping(text.as_bytes().to_vec())),
        "pong" => Some(Event::Pong(text.as_bytes().to_vec())),
        "close" => Some(Event::Close(close_frame(text))),
        "many" => Some(Event::Text(many(text)?)),
        "end" => None,
        _ => return Err(format!("no step {word:?}")),
    };
    let received = socket.receive()?;
    if received == wanted {
        return Ok(());
    }
    let mut shown = format!("received {received:?}");
    shown.truncate(shown.floor_char_boundary(500));
    Err(shown)
}
