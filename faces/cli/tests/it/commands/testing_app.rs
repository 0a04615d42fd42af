//! Functions that tests of a project have beside requests to it.

mod fetch;
mod sockets;
