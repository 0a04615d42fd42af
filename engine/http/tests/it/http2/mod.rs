//! Connections of HTTP/2. Without TLS the servers of these tests take it from clients that know of it beforehand:
//! `common::run_worker` looks at where it stands.

mod answers;
mod bodies;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod hostile;
mod sized;
mod trailers;
mod tunnels;
mod unread;
