//! `[cache]`.

use crate::limits::{ANSWERS_BYTES_MAX, BYTES_MAX};
use sampan_host::settings::{Preset, Section, SettingKey, Settings};

/// `[cache]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "cache",
    doc: "What `app.cache` keeps in the memory of the process.",
    keys: &[
        SettingKey::flag("shared", Preset::Flag(false),
            "on PostgreSQL the values are in the database, for all processes"),
        SettingKey::size("bytes_max", 0..=1 << 40, BYTES_MAX,
            "most bytes of all entries, on all workers together; those that were used the longest ago go first"),
        SettingKey::size("answers_bytes_max", 0..=1 << 40, ANSWERS_BYTES_MAX,
            "most bytes of all answers that app.cached keeps, with their keys; 0 keeps none"),
    ],
};

/// The settings of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// True if processes share the values, where the database is on a server.
    pub is_shared: bool,
    /// The most bytes of all entries.
    pub bytes_max: usize,
    /// The most bytes of all answers.
    pub answers_bytes_max: usize,
}

impl CacheConfig {
    /// Reads `[cache]`.
    pub fn read(settings: &Settings) -> Self {
        Self {
            is_shared: settings.flag("shared"),
            bytes_max: settings.number("bytes_max"),
            answers_bytes_max: settings.number("answers_bytes_max"),
        }
    }
}
