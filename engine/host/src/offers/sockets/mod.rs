//! WebSockets as capabilities and the server share them: what scripts do with a socket, and what its connection asks.
//!
//! The server has the connection: it reads frames, starts a run of the script for each event, and writes what a
//! [`Socket`] holds. A capability has the script's side: it accepts a request ([`AcceptedSocket`]), keeps the handlers
//! ([`SocketHandlers`]) and passes on what scripts send. Neither knows the other.

mod kept;
mod opening;
mod outgoing;
mod socket;

pub use kept::{KeepField, KeptField, KeptFields};
pub use opening::{Opening, OwnFields};
pub use outgoing::{Outgoing, Payload, SocketMessage};
pub use socket::{Sent, Socket, SocketSettings, UnsentCounter};

use crate::error::Error;
use crate::future::LocalFuture;
use std::rc::Rc;

/// The path for [`ResponseSink::file`](crate::ResponseSink::file) of an answer that turns its request's connection into
/// the socket that was accepted in the request's store. No path of a file ends in a slash.
pub const SOCKET_ANSWER: &str = "socket/";

/// The content type by which middleware sees such an answer. An answer of this type to a request with an accepted
/// socket is one too, also if a script has made it.
pub const SOCKET_TYPE: &str = "application/x-websocket";

/// A socket that a handler has accepted, in the store of its request.
pub struct AcceptedSocket {
    /// The socket.
    pub socket: Rc<Socket>,
}

/// An event of a socket.
#[derive(Debug)]
pub enum SocketEvent {
    /// The handshake is done.
    Open,
    /// A text has arrived.
    Text(String),
    /// A message of bytes has arrived.
    Bytes(Vec<u8>),
    /// All that was held back has been written.
    Drain,
    /// The connection has ended; nothing follows.
    Close {
        /// The code of the close frame; 1005 without a code, 1006 without a frame.
        code: u16,
        /// The reason of the close frame.
        reason: String,
    },
}

/// The run that an event causes.
pub enum EventRun {
    /// The handlers have no function for it.
    Nothing,
    /// The route of the socket is no longer declared.
    NoRoute,
    /// This run of the script.
    Run(LocalFuture<Result<(), Error>>),
}

/// The handlers of an isolate's sockets, in its context as `Rc<dyn SocketHandlers>`.
pub trait SocketHandlers {
    /// Starts the run for an event. Nothing runs before the future is polled.
    fn start(&self, socket: &Rc<Socket>, event: SocketEvent) -> EventRun;

    /// Takes note that a socket has ended: its object goes.
    fn ended(&self, socket: &Rc<Socket>);
}

#[cfg(test)]
mod tests;
