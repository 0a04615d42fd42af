//! Limits and presets of event streams.

/// A silent stream is sent a comment after so long, in milliseconds, where nothing else is set. Proxies end what is
/// silent for a minute.
pub(crate) const HEARTBEAT_MILLIS: u64 = 15_000;

/// The most bytes that wait for a client, where nothing else is set.
pub(crate) const WAITING_BYTES_MAX: u64 = 1024 * 1024;

/// The most streams of a process, where nothing else is set.
pub(crate) const STREAMS_MAX: u64 = 10_000;

/// The most topics that a stream subscribes to.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 1_000;

/// The longest id that is taken from a client, in bytes.
pub(crate) const LAST_ID_BYTES_MAX: usize = 1024;

/// The longest time that a client is told to wait before it connects again, in milliseconds: a day.
pub(crate) const RETRY_MILLIS_MAX: i64 = 24 * 3600 * 1000;

/// The depth of JSON that is read back.
pub(crate) const DEPTH_MAX: usize = 1024;
