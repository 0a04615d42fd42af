//! The slow lane: which routes run there, its queue, and its isolates. The threads are the server's
//! (`server::slow_lane`).

pub(crate) mod isolate;
pub(crate) mod learned;
pub(crate) mod limits;
pub(crate) mod settings;
pub(crate) mod shared;

pub use settings::LaneSettings;
