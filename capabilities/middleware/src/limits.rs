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
/// The longest idempotency key, in bytes.
pub(crate) const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The longest time for which an answer is given again to an idempotency key, in hours: a year.
pub(crate) const IDEMPOTENCY_HOURS_MAX: u32 = 8_760;
/// The largest answer that is recorded for an idempotency key, in bytes: of its header fields and its body.
pub(crate) const IDEMPOTENT_ANSWER_BYTES_MAX: usize = 1_048_576;
/// The time for which a request keeps other processes from running its idempotency key, in seconds: four times the
/// preset of `handler_millis_max`. If its process ends meanwhile, the key is refused until then.
pub(crate) const IDEMPOTENCY_LEASE_SECONDS: u32 = 120;
/// The most records of idempotency keys that are removed with a new one, when their time is over.
pub(crate) const IDEMPOTENCY_CLEAN_COUNT: i64 = 8;
/// The longest time that a rate limit counts over, in seconds: a day.
pub(crate) const RATE_SECONDS_MAX: u32 = 86_400;
