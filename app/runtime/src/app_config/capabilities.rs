//! The configurations of the capabilities.

use sampan_crypto::SecretKeys;
use sampan_db::DatabaseConfig;
use sampan_files::FilesConfig;
use sampan_host::sources::PackedFiles;
use sampan_i18n::I18nSettings;
use sampan_project::config::Config;
use sampan_session::SessionConfig;
use sampan_template::UndefinedBehavior;
use std::sync::Arc;

/// The configurations of the capabilities, checked.
#[derive(Clone, Debug)]
pub struct CapabilityConfigs {
    /// The database.
    pub db: DatabaseConfig,
    /// True if migrations run at start.
    pub migrate: bool,
    /// The secret keys, if there are any.
    pub secret_keys: Option<SecretKeys>,
    /// The settings for stored files and for uploads in forms.
    pub files: FilesConfig,
    /// The treatment of undefined values in templates.
    pub undefined: UndefinedBehavior,
    /// The languages of the project.
    pub(crate) i18n: I18nSettings,
    /// The way sessions are kept.
    pub session: SessionConfig,
}

impl CapabilityConfigs {
    /// Resolves the settings.
    ///
    /// # Errors
    /// The place, the key, and what is wrong with its value.
    pub(super) fn of(config: &Config) -> Result<Self, String> {
        let (root, all) = (config.project.root(), &config.sections);
        let db = all.of(&sampan_db::SECTION);
        let (files, forms) = (all.of(&sampan_files::SECTION), all.of(&sampan_files::FORMS));
        let packed = config.project.archive();
        Ok(Self {
            migrate: db.flag("migrate"),
            db: DatabaseConfig::from_settings(&db, root),
            secret_keys: config.resolve(&sampan_crypto::SECTION, SecretKeys::from_settings)?,
            files: FilesConfig {
                packed: packed.map(|archive| Arc::clone(archive) as Arc<dyn PackedFiles>),
                ..FilesConfig::from_settings(&files, &forms, root)
            },
            undefined: sampan_template::undefined(&all.of(&sampan_template::SECTION)),
            i18n: I18nSettings::from_settings(&all.of(&sampan_i18n::SECTION)),
            session: config.resolve(&sampan_session::SECTION, SessionConfig::from_settings)?,
        })
    }
}
