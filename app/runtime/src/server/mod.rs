//! The whole server: workers, acceptor, watchdog, and how they start and end.
//!
//! [`Server::start`](start::Server::start) begins everything and [`Running::shutdown`](running::Running::shutdown) ends
//! it. The workers are its `crew`; a lost one is replaced. `beside` has the
//! threads that do other work. `signals` is the life of a process that serves.

pub(crate) mod acme;
mod aside;
pub(crate) mod beside;
pub(crate) mod crew;
pub(crate) mod events;
mod metrics_address;
mod redirect;
pub(crate) mod running;
pub(crate) mod shared;
pub(crate) mod signals;
mod slow_lane;
pub(crate) mod start;
mod traces;
pub(crate) mod worker;
