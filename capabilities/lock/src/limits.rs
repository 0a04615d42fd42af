//! Limits of this capability.

use std::time::Duration;

/// The longest name of a lock, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 1024;
/// The default time for which a lock is waited for, in seconds.
pub(crate) const TIMEOUT_SECONDS: f64 = 10.0;
/// The longest time for which a lock is waited for, in seconds.
pub(crate) const TIMEOUT_SECONDS_MAX: f64 = 3600.0;
/// The time after which a lock on a database server is free whose holder was not heard of.
pub(crate) const LEASE: Duration = Duration::from_secs(15);
/// The time until a database server is asked again for a lock that is not free, at first and at most.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(10);
pub(crate) const ASK_AGAIN_MAX: Duration = Duration::from_millis(250);
