//! Limits of this capability.

/// The longest name of a lock, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 1024;
/// The default time for which a lock is waited for, in seconds.
pub(crate) const TIMEOUT_SECONDS: f64 = 10.0;
/// The longest time for which a lock is waited for, in seconds.
pub(crate) const TIMEOUT_SECONDS_MAX: f64 = 3600.0;
