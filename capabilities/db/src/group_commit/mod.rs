//! Group commit: one writer, one transaction for all writes that run together.

pub(crate) mod acquire;
pub(crate) mod checkpoint;
pub(crate) mod commit_latency;
pub(crate) mod commit_thread;
mod group;
mod meters;
pub(crate) mod offered;
mod own;
pub(crate) mod repair;
pub(crate) mod transaction;
pub(crate) mod worker;
pub(crate) mod write;
pub(crate) mod writer;
