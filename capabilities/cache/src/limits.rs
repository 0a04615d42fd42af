//! Limits of this capability.

/// The default size of the cache of a process, in bytes.
pub(crate) const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The default size of all answers that a process keeps, in bytes.
pub(crate) const ANSWERS_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The largest answer that is kept, in bytes: of its header fields and its body.
pub(crate) const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// The longest key of an answer, in bytes: its URL, and the header fields that belong to it.
pub(crate) const ANSWER_KEY_BYTES_MAX: usize = 4096;
/// The most requests that one waits for, one after the other, each because the one before it has failed or was given
/// up.
pub(crate) const ANSWER_WAITS_MAX: usize = 2;
/// The longest time for which no answer of a key is kept behind one that was not for all, in seconds: a single client
/// may have brought that about.
pub(crate) const REFUSED_SECONDS_MAX: u64 = 10;
/// The longest key, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = 1024;
/// The bytes that an entry counts beside its key and its value.
pub(crate) const ENTRY_BYTES: usize = 128;
/// The most bytes of a whole number as text.
pub(crate) const NUMBER_BYTES_MAX: usize = 20;
/// The longest time that an entry is kept, in seconds: 10 years.
pub(crate) const TTL_SECONDS_MAX: f64 = 315_360_000.0;
/// The greatest depth to which engines write JSON, and some more.
pub(crate) const DEPTH_MAX: usize = 1024;
