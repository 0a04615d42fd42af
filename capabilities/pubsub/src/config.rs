//! The settings of `[topics]`.

use crate::limits::{KEEP_MILLIS, MESSAGE_BYTES_MAX, PRESENCE_MILLIS};
use sampan_host::settings::{Section, SettingKey, Settings};
use std::time::Duration;

/// `[topics]`.
#[rustfmt::skip]
pub static TOPICS: Section = Section {
    name: "topics",
    doc: "Messages between workers, and on PostgreSQL between processes.",
    keys: &[
        SettingKey::size("message_bytes_max", 1..=64 * 1024 * 1024, MESSAGE_BYTES_MAX,
            "largest message that is published"),
        SettingKey::time("keep", 1_000..=7 * 24 * 3_600 * 1_000, KEEP_MILLIS,
            "on PostgreSQL: the time for which the database keeps messages, for processes that were away"),
        SettingKey::time("presence", 1_000..=3_600 * 1_000, PRESENCE_MILLIS,
            "on PostgreSQL: the members of a process that was not heard of for so long leave"),
    ],
};

/// The settings of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicsConfig {
    /// The largest message, in bytes.
    pub message_bytes_max: usize,
    /// The time for which a database keeps messages.
    pub keep: Duration,
    /// The time after which a process that was not heard of counts as dead.
    pub presence: Duration,
}

impl TopicsConfig {
    /// Reads `[topics]`.
    pub fn read(settings: &Settings) -> Self {
        Self {
            message_bytes_max: settings.number("message_bytes_max"),
            keep: Duration::from_millis(settings.number("keep")),
            presence: Duration::from_millis(settings.number("presence")),
        }
    }
}

impl Default for TopicsConfig {
    fn default() -> Self {
        Self::read(&Settings::of(&TOPICS))
    }
}
