//! WebSockets of `serve`: their connections, the messages on their way to and from JavaScript, and topics.

mod calls;
mod connection;
mod outgoing;
mod registry;

pub(super) use calls::FUNCTIONS;
pub(super) use registry::Sockets;
