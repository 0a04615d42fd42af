//! Limits of the middleware.

/// The most networks of one `allow_ips`: each request looks at all of them.
pub(crate) const NETWORKS_MAX: usize = 1_000;
/// The maximum number of keys all rate limits of a process count at once. Beyond that the key is forgotten that has
/// used the least of its limit.
pub(crate) const RATE_KEYS_MAX: usize = 65_536;
/// The maximum number of refused keys of shared rate limits that each isolate remembers.
pub(crate) const RATE_REFUSED_MAX: usize = 16_384;
/// The number of requests after which counts of shared limits are removed that mean nothing any more.
pub(crate) const RATE_CLEAN_EVERY: u32 = 256;
/// The most counts that are removed at a time.
pub(crate) const RATE_CLEAN_COUNT: i64 = 512;
/// The longest time that a rate limit counts over, in seconds: a day.
pub(crate) const RATE_SECONDS_MAX: u32 = 86_400;
