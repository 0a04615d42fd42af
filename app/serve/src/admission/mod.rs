//! The time at which the script of a request may begin on a worker that has more than it can do.
//!
//! A worker that keeps up runs each request when it arrives, and pays a counter for this. As soon as more requests are
//! ready than it can run in a millisecond, they wait in a queue by client (`fair_queue`) and begin in turn, a
//! few at a time, so a client with a thousand connections waits behind itself. If they wait too long for too long
//! (`delay`), those that have waited longest are refused, and the newest begin first.

pub(crate) mod client;
pub(crate) mod delay;
pub(crate) mod fair_queue;
pub(crate) mod settings;
pub(crate) mod waiting;
pub(crate) mod worker;

pub use settings::{OverloadSettings, SECTION};
pub use worker::Admission;
