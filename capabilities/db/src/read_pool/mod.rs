//! Reads beside the writer: threads for long ones, and snapshots that those of one turn share.

pub(crate) mod large;
pub(crate) mod readers;
pub(crate) mod snapshot;
