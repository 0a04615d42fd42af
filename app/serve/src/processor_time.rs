//! The processor time of the calling thread.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Returns the processor time that this thread has had. Reading it is a system call of half a microsecond.
pub(crate) fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
