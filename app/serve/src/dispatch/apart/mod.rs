//! The two ends of a request that the slow lane answers: at its connection, and in the isolate.

pub(crate) mod answering;
pub(crate) mod fetch_lanes;
pub(crate) mod handover;
