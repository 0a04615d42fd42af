//! The slow lane: requests of slow routes run in isolates of their own, so that quick requests never wait for them.
//!
//! A connection belongs to its worker. That worker hands the request over as owned bytes (`dispatch::apart::handover`),
//! an isolate of the lane answers it as a worker does (`dispatch::apart::answering`), and the answer comes back as
//! owned bytes. [`RouteLane`] tells which routes these are, and [`LaneQueue`] which request is next. The threads of the
//! lane are the program's, behind [`SlowLane`].

pub(crate) mod crossing;
pub(crate) mod link;
pub(crate) mod long_runs;
pub(crate) mod meter;
mod moves;
pub(crate) mod names;
pub(crate) mod route_lane;
pub(crate) mod source_mark;
pub(crate) mod waiting;

pub use crossing::{LaneRefusal, LaneRequest, SlowLane};
pub use link::LaneLink;
pub use long_runs::ENOUGH_AT_ONCE;
pub use moves::LaneMoves;
pub use names::RouteNames;
pub use route_lane::{LaneRoutes, Learned, RouteLane};
pub use source_mark::{SourceMark, SourceMarks};
pub use waiting::LaneQueue;
