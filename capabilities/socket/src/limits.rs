//! Limits and presets of sockets.

/// The most bytes that a reason for closing has (RFC 6455 section 5.5).
pub(crate) const REASON_BYTES_MAX: usize = 123;

/// The most bytes that a ping has (RFC 6455 section 5.5).
pub(crate) const PING_BYTES_MAX: usize = 125;

/// The longest message that is received, in bytes, where nothing else is set.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 1024 * 1024;

/// The most bytes that wait for a client, where nothing else is set.
pub(crate) const BACKPRESSURE_BYTES_MAX: u64 = 1024 * 1024;

/// A silent socket is closed after so long, in milliseconds, where nothing else is set.
pub(crate) const IDLE_MILLIS_MAX: u64 = 120_000;

/// A silent client is sent a ping after so long, in milliseconds, where nothing else is set.
pub(crate) const PING_MILLIS: u64 = 50_000;

/// The most topics that a socket subscribes to.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 1_000;

/// The most keys that the data of a socket has.
pub(crate) const DATA_KEYS_MAX: usize = 1_000;

/// The most bytes of JSON that the fields have which middleware has set on the request of a socket.
pub(crate) const FIELDS_BYTES_MAX: usize = 64 * 1024;
