//! WebSockets: from a handler's answer to a connection that runs the script for each event.
//!
//! `dispatch::switch` turns the connection of a request over. [`connection`] is the loop of a socket, [`state`] what it
//! knows, [`run`] one event of it, [`writing`] sends what waits. [`serving`] is what all of a worker's sockets share: a
//! socket outlives the project that accepted it, so each event asks for the project that serves now.

pub(crate) mod connection;
mod run;
mod serving;
mod state;
mod writing;

pub use serving::Serving;
