//! Limits of requests to other servers, as far as scripts have them.

/// The most requests that one request of a client, or one run without a client, has under way at a time.
pub(crate) const CALLS_MAX: usize = 128;

/// The most bytes of an answer that a script gets together with its head, if they are there already.
pub(crate) const WHOLE_BYTES_MAX: usize = 256 * 1024;

/// The longest timeout that a script may set, in milliseconds: a day.
pub(crate) const MILLIS_MAX: u64 = 24 * 3600 * 1000;
