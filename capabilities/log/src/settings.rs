//! `[log]`.

use crate::logger::LogSettings;
use sampan_host::log::Level;
use sampan_host::settings::{Preset, Section, SettingKey, Settings};

/// `[log]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "log",
    doc: "The log, and the access log.",
    keys: &[
        SettingKey::choice("level", &["debug", "info", "warn", "error"],
            "the least level that is written").with_default(Preset::Text("info")),
        SettingKey::choice("format", &["text", "json"], "lines for people, or one object per line"),
        SettingKey::choice("access", &["off", "common", "json"], "the access log"),
        // Less, and time, id and place leave no room for a message. More, and a few lines fill the queue of the log.
        SettingKey::size("line_bytes_max", 1024..=1024 * 1024, 64 * 1024,
            "longest line; what is longer is cut, with a mark"),
    ],
};

impl LogSettings {
    /// Reads `[log]`.
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            level_min: settings.text("level").parse().unwrap_or(Level::Info),
            format: settings.text("format").parse().unwrap_or_default(),
            access: settings.text("access").parse().unwrap_or_default(),
            line_bytes_max: settings.number("line_bytes_max"),
        }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self::from_settings(&Settings::of(&SECTION))
    }
}
