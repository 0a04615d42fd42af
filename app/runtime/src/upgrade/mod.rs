//! `sampan upgrade` and SIGUSR2: a server starts its executable again, which may have been replaced, gives it the
//! listening sockets, and ends once the new process accepts connections.
//!
//! The old process listens on an abstract Unix socket ([`old_process`]), whose name the new one finds in its
//! environment ([`new_process`]). The sockets travel over it (`SCM_RIGHTS`). The new process says there that it serves,
//! or why it cannot. Until then the old one answers all requests, and afterwards those of its open connections.
//!
//! A server that is confined ([`sandbox`](crate::sandbox)) can start no process: a [`starter`] does it.

pub(crate) mod new_process;
pub(crate) mod old_process;
pub(crate) mod processes;
mod program;
mod sockets;
pub(crate) mod starter;

pub use program::StartedProgram;
pub(crate) use sockets::{HandedSocket, SocketUse};

/// The variable with the name of the socket that a new process gets its listening sockets from.
const HAND_OVER: &str = "SAMPAN_HAND_OVER";
/// The line of a new process that accepts connections.
const READY: &str = "ready";
/// The beginning of the line of a new process that does not start; the reason follows.
const FAILED: &str = "failed ";
