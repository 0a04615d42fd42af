//! `[csrf]`.

use sampan_host::settings::{Preset, Section, SettingKey};

/// `[csrf]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "csrf",
    doc: "The protection against requests of other sites.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true),
            "requests of other sites that may change something are refused"),
        SettingKey::texts("trusted_origins", Preset::Empty,
            "origins such as \"https://app.example\" whose requests pass"),
        SettingKey::texts("except", Preset::Empty,
            "patterns such as \"/hooks/*\": to their paths every request passes"),
    ],
};
