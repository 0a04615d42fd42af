//! The driver: sockets, time and memory around the codec, on tokio or on a [`Pump`].
//!
//! [`worker::Worker`] runs one thread's connections; [`connection::Connection`] is one connection as a single
//! hand-written future, so that an idle one costs its state and nothing else. What they share on the thread
//! is in [`local::Local`], what other threads may touch in [`shared::Shared`].

mod bodies;
mod clock;
mod connection;
mod deadlines;
mod departures;
mod http2;
mod local;
mod observed;
mod output;
mod panic;
mod parking;
mod pool;
mod replies;
mod runtime;
mod shared;
mod transport;
mod worker;

pub use panic::panic_text;
pub use parking::Parking;
pub use runtime::pump::{Pump, PumpSocket, Turn};
pub use runtime::{Direction, Runtime, Socket, Tokio};
pub use shared::unsent::ClientBytes;
pub use shared::{Opening, WorkerHandle};
pub use worker::{Worker, worker, worker_sharing};
