//! Limits of sessions.

use std::time::Duration;

/// The time for which the way from a session's old key to its new one is kept: longer than handlers run.
pub(crate) const MOVED_MILLIS: u64 = 10 * 60 * 1_000;
/// The number of new keys that are followed.
pub(crate) const MOVES_MAX: usize = 16;
/// The most bytes of JSON that a session may have, unless the configuration says otherwise.
pub(crate) const BYTES_MAX: usize = 64 * 1024;
/// The limit for sessions in the cookie: sealed it is a third longer, and browsers ignore cookies of more than 4096
/// bytes.
pub(crate) const COOKIE_DATA_BYTES_MAX: usize = 2_900;
/// The maximum length of the cookie's name, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 64;
/// The greatest depth to which a value may nest.
pub(crate) const DEPTH_MAX: usize = 64;
/// The number of messages that wait for the next page.
pub(crate) const FLASHES_MAX: usize = 100;
/// The most sessions of a list: the newest.
pub(crate) const LISTED_MAX: usize = 100;
/// The shortest time between two extensions of a session by reading alone.
pub(crate) const TOUCH_MILLIS_MAX: u64 = 5 * 60 * 1_000;
/// The number of expired sessions that are removed at a time: about a millisecond's work.
pub(crate) const CLEAN_BATCH: usize = 200;
/// The pause between two batches, in which others write.
pub(crate) const CLEAN_PAUSE: Duration = Duration::from_millis(100);
/// The interval at which expired sessions are looked for: at least, and at most.
pub(crate) const CLEAN_MILLIS: (u64, u64) = (1_000, 10 * 60 * 1_000);
