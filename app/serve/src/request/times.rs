//! The times of a request, as its worker and the slow lane measure them.

use std::time::Duration;

/// The times of a request, or of a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedTimes {
    pub(crate) script: Duration,
    pub(crate) db: Duration,
    /// From the whole request until a script began to run, if one has.
    pub(crate) queued: Option<Duration>,
}
