//! The limits of the slow lane.

use std::time::Duration;

/// The most isolates that can be asked for.
pub(super) const SLOW_ISOLATES_MAX: u64 = 1_024;
/// The longest time of a run that can count as quick, in milliseconds.
pub(super) const SLOW_MILLIS_MAX: u64 = 60_000;
/// The most requests that may wait for each isolate.
pub(super) const WAITING_PER_ISOLATE_MAX: usize = 1_024;
/// The requests that may wait for each isolate before any is refused because of its wait.
pub(super) const WAITING_PER_ISOLATE_MIN: usize = 16;
/// The shortest time between two writes of what was learned.
pub(crate) const WRITE_PAUSE: Duration = Duration::from_secs(10);
/// The largest file of what was learned that is read, in bytes.
pub(super) const LEARNED_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The longest time that an isolate takes no requests because it loads; then the one before answers them.
pub(super) const RENEW_WAIT_MAX: Duration = Duration::from_secs(1);
/// The pause between two looks at the end, whether the requests of an isolate have ended.
pub(super) const END_PAUSE: Duration = Duration::from_millis(2);
