//! Limits of topics and event streams.

/// The longest name of a topic, in bytes.
pub(crate) const TOPIC_BYTES_MAX: usize = 256;
/// The most bytes of a name that messages of errors repeat: names are often made of what clients send.
pub(crate) const SHOWN_BYTES_MAX: usize = 100;
/// The largest message, in bytes, unless the configuration says otherwise.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 1024 * 1024;
/// The most messages that wait for a worker that is busy.
pub(crate) const INBOX_MESSAGES_MAX: usize = 100_000;
/// The most bytes of messages that wait for a worker that is busy.
pub(crate) const INBOX_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most bytes of messages of a worker that wait for commits.
pub(crate) const HELD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The number of receivers that get a message before other tasks of the worker have their turn.
pub(crate) const RECEIVERS_AT_ONCE: usize = 128;
/// The number of messages that blocked receivers get together before other tasks of the worker have their turn, if
/// these are more than [`RECEIVERS_AT_ONCE`].
pub(crate) const PUSHES_AT_ONCE: usize = 512;
/// The number of messages that one turn of a worker delivers.
pub(crate) const MESSAGES_AT_ONCE: usize = 128;
/// The most runs of messages that receivers get before blocked ones have got the first of these.
pub(crate) const AHEAD_RUNS_MAX: usize = 16;
/// The most bytes of messages that a receiver gets before others do, unless one message is larger.
pub(crate) const RUN_BYTES_MAX: usize = 128 * 1024;
/// The most messages that wait for a function of the script.
pub(crate) const FUNCTION_MESSAGES_MAX: usize = 10_000;
/// The most bytes of messages that wait for a function of the script.
pub(crate) const FUNCTION_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The most messages that a topic keeps.
pub(crate) const HISTORY_MESSAGES_MAX: i64 = 10_000;
/// The memory for the histories of all topics, in bytes.
pub(crate) const HISTORY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most members of one topic.
pub(crate) const MEMBERS_MAX: usize = 10_000;
/// The largest data of a member, in bytes of JSON.
pub(crate) const MEMBER_BYTES_MAX: usize = 4 * 1024;
/// The time for which a database keeps messages, in milliseconds, unless the configuration says otherwise.
pub(crate) const KEEP_MILLIS: u64 = 5 * 60 * 1_000;
/// The time after which a process that was not heard of counts as dead, in milliseconds, unless the configuration says
/// otherwise.
pub(crate) const PRESENCE_MILLIS: u64 = 20_000;
