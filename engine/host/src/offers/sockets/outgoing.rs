//! The messages that wait to be written to one connection.

use std::collections::VecDeque;
use std::sync::Arc;

/// The bytes of a message.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Bytes for one socket.
    Own(Box<[u8]>),
    /// Bytes that several sockets share: serialised once, never copied for one of them.
    Shared(Arc<[u8]>),
}

impl Payload {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// A message, or a control frame.
#[derive(Clone, Debug)]
pub enum SocketMessage {
    /// A text; its bytes are UTF-8.
    Text(Payload),
    /// Bytes.
    Bytes(Payload),
    /// A message that has been compressed: true for a text.
    Compressed(bool, Payload),
    /// A ping, with at most 125 bytes.
    Ping(Payload),
    /// A pong, with at most 125 bytes.
    Pong(Payload),
    /// The end: the payload of a close frame. Nothing is written after it.
    Close(Payload),
}

impl SocketMessage {
    /// Returns the payload.
    pub fn payload(&self) -> &[u8] {
        match self {
            Self::Text(payload)
            | Self::Bytes(payload)
            | Self::Compressed(_, payload)
            | Self::Ping(payload)
            | Self::Pong(payload)
            | Self::Close(payload) => payload.bytes(),
        }
    }
}

/// The queue of one connection.
#[derive(Debug, Default)]
pub struct Outgoing {
    messages: VecDeque<SocketMessage>,
    /// The bytes of the frame of the first message that have been written, its head among them.
    written: usize,
    /// The number of messages at the front that [`Outgoing::each_new`] has shown.
    shown: usize,
    /// The payload bytes of all messages.
    bytes: usize,
    /// The number of pongs among them.
    pongs: usize,
}

/// The most pongs that wait at a time: a client that pings without reading gets the last ones only (RFC 6455 section
/// 5.5.3 allows that).
const PONGS_MAX: usize = 8;

impl Outgoing {
    /// Reports whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the number of payload bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns about the number of bytes of memory that the messages take: small ones take more than their payload.
    pub fn held_bytes(&self) -> usize {
        self.bytes + self.messages.len() * size_of::<SocketMessage>()
    }

    /// Adds a message.
    pub fn push(&mut self, message: SocketMessage) {
        if matches!(message, SocketMessage::Pong(_)) {
            if self.pongs >= PONGS_MAX {
                return;
            }
            self.pongs += 1;
        }
        self.bytes += message.payload().len();
        self.messages.push_back(message);
    }

    /// Drops all messages but the one that is half written.
    pub fn clear(&mut self) {
        self.messages.truncate(usize::from(self.written > 0));
        self.shown = self.shown.min(self.messages.len());
        let payload = |message: &SocketMessage| message.payload().len();
        self.bytes = self.messages.iter().map(payload).sum();
        let is_pong = |message: &&SocketMessage| matches!(message, SocketMessage::Pong(_));
        self.pongs = self.messages.iter().filter(is_pong).count();
    }

    /// The messages, in their order, for who writes them.
    pub fn messages(&self) -> impl Iterator<Item = &SocketMessage> {
        self.messages.iter()
    }

    /// Shows each message once, before any of it is written: `replace` may put a compressed one in its place.
    pub fn each_new(&mut self, mut replace: impl FnMut(&mut SocketMessage)) {
        for message in self.messages.iter_mut().skip(self.shown) {
            let before = message.payload().len();
            replace(message);
            self.bytes = self.bytes - before + message.payload().len();
        }
        self.shown = self.messages.len();
    }

    /// Returns the number of bytes of the first frame that have been written.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Takes note that so many bytes of frames were written; `frame` gives the length of a message's frame.
    pub fn advance(&mut self, mut bytes: usize, frame: impl Fn(&SocketMessage) -> usize) {
        while let Some(first) = self.messages.front() {
            let left = frame(first) - self.written;
            if bytes < left {
                self.written += bytes;
                return;
            }
            bytes -= left;
            self.written = 0;
            self.bytes -= first.payload().len();
            self.pongs -= usize::from(matches!(first, SocketMessage::Pong(_)));
            self.messages.pop_front();
            self.shown = self.shown.saturating_sub(1);
        }
        if self.messages.capacity() > 0 {
            // An idle socket owns no memory for what it does not send.
            self.messages = VecDeque::new();
        }
    }
}
