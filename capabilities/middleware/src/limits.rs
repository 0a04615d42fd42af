//! Limits of the middleware.

/// The maximum number of keys all rate limits of a process count at once. Beyond that the key is forgotten that has
/// used the least of its limit.
pub(crate) const RATE_KEYS_MAX: usize = 65_536;
/// The longest time that a rate limit counts over, in seconds: a day.
pub(crate) const RATE_SECONDS_MAX: u32 = 86_400;
