//! The settings that matter when a project is packed. Variables of the environment have no values then: those of the
//! machine that serves it count.

use crate::app_config::SECTIONS;
use crate::config::{FILE, read_file};
use sampan_i18n::I18nSettings;
use sampan_serve::files;
use std::path::Path;

/// The settings that matter when a project is packed.
pub(super) struct PackedSettings {
    /// The folder of static files, relative to the project's.
    pub(super) static_folder: String,
    /// The storage folder and the database.
    pub(super) storage: String,
    pub(super) database: String,
    /// The languages; nothing where the environment decides on anything.
    pub(super) i18n: Option<I18nSettings>,
    /// The warnings for the developer.
    pub(super) warnings: Vec<String>,
}

impl PackedSettings {
    /// Reads those of the project in the folder `root`.
    ///
    /// # Errors
    /// The file is wrong: its line and why.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let (all, has_variables) = read_file(root, SECTIONS)?;
        let mut warnings = Vec::new();
        if !all.of(&sampan_crypto::SECTION).list("keys").is_empty() {
            warnings.push(format!(
                "{FILE} has secret keys, which everybody can read who has the built file: SAMPAN_SECRETS_KEYS keeps \
                 them out of it"
            ));
        }
        let folder = all.of(&files::SECTION);
        let i18n = I18nSettings::from_settings(&all.of(&sampan_i18n::SECTION));
        Ok(Self {
            static_folder: folder.text("folder").trim_end_matches('/').to_owned(),
            storage: all.of(&sampan_files::SECTION).text("storage").to_owned(),
            database: all.of(&sampan_db::SECTION).text("path").to_owned(),
            i18n: (!has_variables).then_some(i18n),
            warnings,
        })
    }
}
