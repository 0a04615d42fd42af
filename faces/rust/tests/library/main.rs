//! The library as programs use it: servers with routes in Rust beside scripts, and scripts without a server.

mod build;
mod faults;
mod scripts;
mod server;
mod streams;
mod support;
