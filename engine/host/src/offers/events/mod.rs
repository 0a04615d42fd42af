//! Event streams (`text/event-stream`) as capabilities and the server share them.
//!
//! A script's function feeds the stream while it is sent: it gets an object of a capability, which sends by an
//! [`EventStream`]. The server finds that in the store of the request ([`BegunEvents`]) once the function runs, and
//! sends what it holds. So the messages of topics reach a client without a run of the script.

mod outgoing;
mod replay;
mod stream;
mod wire;

pub use outgoing::EventBytes;
pub use replay::Replay;
pub use stream::{BegunEvents, EventSettings, EventStream, stream_ended};
pub use wire::{Event, HEARTBEAT, retry};

/// The code of the error that there are as many streams as are allowed.
pub const STREAMS_FULL: &str = "streams_full";

/// The content type of a stream of events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// The value of the field `content-encoding` of a stream that is to be compressed. The server puts the coding in its
/// place, or takes the field away where the client does not want it.
pub const COMPRESS: &str = "x-events";
