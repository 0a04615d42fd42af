//! Server-sent events: the body of an answer that a function of the script feeds.
//!
//! [`body`] sends what the stream holds: events of the script, messages of topics, comments while it is silent. The
//! function runs as any stream of a script does, see [`function`]. [`coding`] compresses where that is asked for.

pub(crate) mod body;
mod coding;
mod function;
