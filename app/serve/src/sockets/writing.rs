//! Frames on their way to the client: all that waits, in one write.

use crate::sockets::serving::{Serving, TURN_BYTES};
use sampan_host::sockets::{Outgoing, Payload, Socket, SocketMessage};
use sampan_http::Upgraded;
use sampan_http::websocket::{CloseFrame, Head, Opcode, codes};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// A message of fewer bytes is not worth the compression.
const COMPRESSED_BYTES_MIN: usize = 64;

/// The head of the frame of a message.
fn head_of(message: &SocketMessage) -> Head {
    let len = message.payload().len();
    let opcode = match message {
        SocketMessage::Text(_) | SocketMessage::Compressed(true, _) => Opcode::Text,
        SocketMessage::Bytes(_) | SocketMessage::Compressed(false, _) => Opcode::Binary,
        SocketMessage::Ping(_) => Opcode::Ping,
        SocketMessage::Pong(_) => Opcode::Pong,
        SocketMessage::Close(_) => Opcode::Close,
    };
    Head {
        is_compressed: matches!(message, SocketMessage::Compressed(..)),
        ..Head::whole(opcode, len)
    }
}

fn frame_bytes(message: &SocketMessage) -> usize {
    head_of(message).encode().1 + message.payload().len()
}

/// Appends frames up to about [`TURN_BYTES`], from where the first one was left.
fn fill(out: &Outgoing, buffer: &mut Vec<u8>) {
    let mut skip = out.written();
    for message in out.messages() {
        let (head, len) = head_of(message).encode();
        buffer.extend_from_slice(&head[skip.min(len)..len]);
        let payload = &message.payload()[skip.saturating_sub(len)..];
        let room = TURN_BYTES.saturating_sub(buffer.len());
        buffer.extend_from_slice(&payload[..payload.len().min(room)]);
        if payload.len() >= room {
            return;
        }
        skip = 0;
    }
}

/// Compresses the messages that wait.
fn compress(out: &mut Outgoing, serving: &Serving, window_bits: u8) {
    out.each_new(|message| {
        let (is_text, payload) = match message {
            SocketMessage::Text(payload) => (true, payload),
            SocketMessage::Bytes(payload) => (false, payload),
            _ => return,
        };
        if payload.bytes().len() < COMPRESSED_BYTES_MIN {
            return;
        }
        if let Some(shorter) = serving.deflate(window_bits, payload.bytes()) {
            *message = SocketMessage::Compressed(is_text, Payload::Own(shorter.into()));
        }
    });
}

/// Returns the close frame among what waits.
pub(super) fn close_frame(out: &Outgoing) -> Option<CloseFrame> {
    out.messages().find_map(|message| match message {
        SocketMessage::Close(payload) => {
            let empty = || CloseFrame::new(codes::NONE, "");
            Some(CloseFrame::parse(payload.bytes()).unwrap_or_else(|_| empty()))
        }
        _ => None,
    })
}

/// Writes what waits. Ready once all of it is with the system. Sets `has_moved` if the system has taken something.
///
/// # Errors
/// The connection has failed.
pub(super) fn poll_write_all(
    socket: &Socket,
    stream: &mut Upgraded,
    serving: &Serving,
    window_bits: Option<u8>,
    has_moved: &mut bool,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    if socket.is_blocked() {
        // Frames are put together once they can leave.
        ready!(stream.poll_writable(cx))?;
    }
    loop {
        let is_empty = socket.outgoing(|out| {
            if let Some(bits) = window_bits {
                compress(out, serving, bits);
            }
            out.is_empty()
        });
        if is_empty {
            return Pin::new(stream).poll_flush(cx);
        }
        let written = serving.with_buffer(|buffer| {
            socket.outgoing(|out| fill(out, buffer));
            Pin::new(&mut *stream).poll_write(cx, buffer)
        });
        match written {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(bytes)) => {
                *has_moved = true;
                socket.outgoing(|out| out.advance(bytes, frame_bytes));
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        }
    }
}
