//! Limits of sessions.

use std::time::Duration;

/// The most bytes of JSON that a session may have, unless the configuration says otherwise.
pub(crate) const BYTES_MAX: usize = 64 * 1024;
/// The same where it is kept in the cookie: sealed it is a third longer, and browsers ignore cookies of more than 4096 bytes.
pub(crate) const COOKIE_DATA_BYTES_MAX: usize = 2_900;
/// How long the name of the cookie may be, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 64;
/// The greatest depth to which a value may nest.
pub(crate) const DEPTH_MAX: usize = 64;
/// The number of messages that wait for the next page.
pub(crate) const FLASHES_MAX: usize = 100;
/// How often reading alone puts off a session's end at most.
pub(crate) const TOUCH_MILLIS_MAX: u64 = 5 * 60 * 1_000;
/// The number of expired sessions that are removed at a time: about a millisecond's work.
pub(crate) const CLEAN_BATCH: usize = 200;
/// The pause between two batches, in which others write.
pub(crate) const CLEAN_PAUSE: Duration = Duration::from_millis(100);
/// The interval at which expired sessions are looked for: at least, and at most.
pub(crate) const CLEAN_MILLIS: (u64, u64) = (1_000, 10 * 60 * 1_000);
