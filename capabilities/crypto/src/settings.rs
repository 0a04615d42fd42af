//! `[secrets]`.

use sampan_host::settings::{Preset, Section, SettingKey};

/// `[secrets]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "secrets",
    doc: "The project's secret keys.",
    keys: &[
        SettingKey::texts("keys", Preset::Empty,
            "the keys that sign and encrypt what clients keep, the current one first").secret(),
    ],
};
