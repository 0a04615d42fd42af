//! `serve`: an HTTP server inside of a Node.js or Bun program, in the form that `Bun.serve` has.
//!
//! The engine of `sampan run` does the HTTP, on a pump. JavaScript pumps it: each call of [`calls`]' `turn` takes the
//! answers of the last batch, sends and receives, and writes the next batch of requests into memory that both sides
//! know ([`wire`]). So the border is crossed once for many requests. A request whose answer never changes does not
//! cross it at all ([`routes`]). While there is nothing to do a thread waits, and wakes the program's loop
//! (`crate::doorbell`).

mod calls;
mod exchanges;
mod handler;
mod node_api;
mod routes;
mod server;
mod servers;
mod sockets;
mod streams;
mod tls;
mod wire;

pub(crate) use calls::define;
