//! The routes of examples/bench_ws: messages over WebSockets.

use super::{Route, bodies};
use crate::measure::case::CONNECTIONS;

/// The number of sockets that get what is published.
pub(crate) const SUBSCRIBERS: usize = 10_000;

/// The load on a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketLoad {
    pub(crate) path: &'static str,
    /// The text that is sent again and again.
    pub(crate) text: String,
    pub(crate) sockets: usize,
}

impl Route {
    /// The load of a route that is a WebSocket.
    pub(crate) fn socket(self) -> Option<SocketLoad> {
        let (path, bytes, sockets) = match self {
            Self::Echo20 => ("/echo", 20, CONNECTIONS as usize),
            Self::Echo16k => ("/echo", 16_000, CONNECTIONS as usize),
            Self::Publish => ("/publish", 20, SUBSCRIBERS),
            _ => return None,
        };
        Some(SocketLoad {
            path,
            text: bodies::digits(bytes),
            sockets,
        })
    }
}
