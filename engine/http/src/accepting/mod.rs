//! From a listening socket to a worker: the acceptor takes connections from the system and hands each to a worker.

mod acceptor;
mod listener;
mod workers;

pub use acceptor::{Accepting, Acceptor, ListeningSocket, Proxies};
pub use workers::Workers;
