//! The settings of `[topics]`.

use crate::limits::MESSAGE_BYTES_MAX;
use sampan_host::settings::{Section, SettingKey, Settings};

/// `[topics]`.
#[rustfmt::skip]
pub static TOPICS: Section = Section {
    name: "topics",
    doc: "Messages between workers.",
    keys: &[
        SettingKey::size("message_bytes_max", 1..=64 * 1024 * 1024, MESSAGE_BYTES_MAX,
            "largest message that is published"),
    ],
};

/// The settings of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicsConfig {
    /// The largest message, in bytes.
    pub message_bytes_max: usize,
}

impl TopicsConfig {
    /// Reads `[topics]`.
    pub fn read(settings: &Settings) -> Self {
        Self {
            message_bytes_max: settings.number("message_bytes_max"),
        }
    }
}
