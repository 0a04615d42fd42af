//! `[i18n]`.

use sampan_host::settings::{Preset, Section, SettingKey, Settings};

/// `[i18n]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "i18n",
    doc: "The languages of the project.",
    keys: &[
        SettingKey::text("default", Preset::Unset,
            "the app's own locale: its texts stand in for those that others lack"),
        SettingKey::texts("locales", Preset::Unset, "the locales that the app offers"),
    ],
};

/// The settings of `[i18n]`.
#[derive(Clone, Debug, Default)]
pub struct I18nSettings {
    /// The app's own locale.
    pub default: Option<String>,
    /// Those that it offers; all that have a file unless given.
    pub locales: Vec<String>,
}

impl I18nSettings {
    /// Reads `[i18n]`.
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            default: settings.text_if_set("default").map(str::to_owned),
            locales: settings.list("locales"),
        }
    }
}
