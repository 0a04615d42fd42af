//! The values in force and the place where each was written, as `sampan config` prints them.

use sampan_host::settings::{AllSettings, Preset, SettingKey, SettingKind, Settings};
use toml::Value;

/// A key of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The section and name: `server.listen`.
    pub key: String,
    /// The value, as `sampan.toml` would have it; nothing where it is decided while the server runs.
    pub value: Option<String>,
    /// The place where the value was written; `None` for a default.
    pub origin: Option<String>,
    /// One line about it.
    pub doc: &'static str,
}

/// Every key of the configuration, in the order of the sections. Secrets are counted and not shown.
pub fn shown(all: &AllSettings) -> Vec<Setting> {
    let of = |settings| {
        Settings::section(settings)
            .keys
            .iter()
            .map(move |key| shown_key(settings, key))
    };
    all.iter().flat_map(of).collect()
}

fn shown_key(settings: &Settings, key: &SettingKey) -> Setting {
    let written = settings.written(key.name);
    let value = match key.is_secret {
        true if matches!(key.kind, SettingKind::Text) => written.map(|_| "(not shown)".to_owned()),
        true => Some(format!("{} (not shown)", settings.list(key.name).len())),
        false => written.map_or_else(|| default_of(key), |written| Some(written.text.clone())),
    };
    Setting {
        key: format!("{}.{}", settings.section().name, key.name),
        value,
        origin: written.map(|written| written.origin.clone()),
        doc: key.doc,
    }
}

/// Returns the default of a key as `sampan.toml` would have it.
pub fn default_of(key: &SettingKey) -> Option<String> {
    let whole = |number: u64| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let value = match key.default {
        Preset::Unset => return None,
        Preset::Flag(flag) => Value::from(flag),
        Preset::Number(number) => whole(number),
        Preset::Computed(number) => whole(number()),
        Preset::Text(text) => Value::from(text),
        Preset::Empty => Value::Array(Vec::new()),
    };
    Some(value.to_string())
}
