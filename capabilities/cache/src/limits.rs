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
/// The largest value that processes share, in bytes.
pub(crate) const SHARED_VALUE_BYTES_MAX: usize = 1024 * 1024;
/// The time for which the table knows of a value that is being made.
pub(crate) const CLAIM_SECONDS: u64 = 3600;
/// The number of times that a statement runs again because another process has changed the key meanwhile.
pub(crate) const RERUNS_MAX: usize = 3;
/// The most bytes of changes after which values whose time is over are removed from the table.
pub(crate) const PRUNE_BYTES: usize = 1024 * 1024;
/// The most rows that are removed at a time: more than are added meanwhile.
pub(crate) const PRUNE_COUNT: i64 = 10_000;
/// All values are measured after changes of this part of `bytes_max`.
pub(crate) const MEASURE_PARTS: usize = 16;
/// The bytes that an entry counts beside its key and its value.
pub(crate) const ENTRY_BYTES: usize = 128;
/// The bytes that a change counts beside its key and its value while it waits for a commit.
pub(crate) const CHANGE_BYTES: usize = 512;
/// The changes of a worker that wait for commits may have so many bytes where the cache itself has fewer.
pub(crate) const CHANGES_BYTES_MIN: usize = 8 * 1024 * 1024;
/// The most bytes of a whole number as text.
pub(crate) const NUMBER_BYTES_MAX: usize = 20;
/// The longest time that an entry is kept, in seconds: 10 years.
pub(crate) const TTL_SECONDS_MAX: f64 = 315_360_000.0;
/// The greatest depth to which engines write JSON, and some more.
pub(crate) const DEPTH_MAX: usize = 1024;
