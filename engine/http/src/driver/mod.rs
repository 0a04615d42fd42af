//! The driver: sockets, time and memory around the codec, on tokio or on a [`Pump`].
//!
//! [`worker::Worker`] runs one thread's connections; [`connection::Connection`] is one connection as a single
//! hand-written future, so that an idle one costs its state and nothing else. What they share on the thread
//! is in [`local::Local`], what other threads may touch in [`shared::Shared`].

mod clock;
mod connection;
mod deadlines;
mod exchange;
mod input;
mod linger;
mod local;
mod observed;
mod output;
mod pool;
mod runtime;
mod shared;
mod streaming;
mod takeover;
mod worker;

pub use exchange::panic_text;
pub(crate) use input::UNKNOWN;
pub use runtime::pump::{Pump, PumpSocket, Turn};
pub use runtime::{Direction, Runtime, Socket, Tokio};
pub use shared::WorkerHandle;
pub use shared::unsent::{ClosedUnread, UnsentBytes};
pub use worker::{Worker, worker, worker_sharing};
