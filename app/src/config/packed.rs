//! The part of a project's configuration that matters when it is packed. Variables of a project's configuration matters
//! when it is packed. Variables of the environment have no values then: those of the machine that
//! serves it count.

use super::raw::{FILE, RawConfig};
use super::{db, files};
use sampan_serve::files::StaticSettings;
use std::path::Path;
use toml::{Table, Value};

/// The settings that matter when a project is packed.
pub(crate) struct PackedSettings {
    /// The folder of static files, relative to the project's.
    pub(crate) static_folder: String,
    /// The storage folder and the database.
    pub(crate) storage: String,
    pub(crate) database: String,
    /// The languages; nothing where the environment decides on anything.
    pub(crate) i18n: Option<sampan_i18n::Settings>,
    /// The warnings for the developer.
    pub(crate) warnings: Vec<String>,
}

impl PackedSettings {
    /// Reads those of the project in the folder `root`.
    ///
    /// # Errors
    /// The file is wrong: its line and why.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join(FILE);
        let text = match path.exists() {
            true => super::sources::read(&path)?,
            false => String::new(),
        };
        let name = path.display().to_string();
        let has_places = text.contains("${");
        let i18n = match has_places {
            true => None,
            false => {
                let raw = RawConfig::parse(&text, &name)?.i18n;
                Some(sampan_i18n::Settings {
                    default: raw.default,
                    locales: raw.locales,
                })
            }
        };
        let table: Table =
            toml::from_str(&text).map_err(|error| super::told::fault(&text, &name, &error))?;
        let value = |section: &str, key: &str| table.get(section)?.get(key);
        let text = |section: &str, key: &str, default: &str| {
            let written = value(section, key).and_then(Value::as_str);
            let known = written.filter(|text| !text.contains("${"));
            known.unwrap_or(default).to_owned()
        };
        let static_folder = text("static", "folder", &StaticSettings::default().folder);
        let mut warnings = Vec::new();
        let keys = value("secrets", "keys").and_then(Value::as_array);
        let is_written = |key: &Value| key.as_str().is_some_and(|key| !key.contains("${"));
        if keys.is_some_and(|keys| keys.iter().any(is_written)) {
            warnings.push(format!(
                "{FILE} has secret keys, which everybody can read who has the built file: SAMPAN_SECRETS_KEYS keeps \
                 them out of it"
            ));
        }
        Ok(Self {
            static_folder: static_folder.trim_end_matches('/').to_owned(),
            storage: text("files", "storage", files::STORAGE),
            database: text("db", "path", db::FILE),
            i18n,
            warnings,
        })
    }
}
