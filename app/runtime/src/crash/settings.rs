//! `[crash]`.

use sampan_db::DatabaseConfig;
use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use std::path::{Path, PathBuf};

/// The folder beside the database.
const FOLDER: &str = "crashes";

/// The folder in the storage folder, where the database is on a server. Scripts and URLs do not reach hidden files.
const STORED_FOLDER: &str = ".crashes";

/// `[crash]`.
#[rustfmt::skip]
pub(crate) static SECTION: Section = Section {
    name: "crash",
    doc: "The reports that a server writes when it crashes, or finds a fault of its own.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true), "writes reports"),
        SettingKey::text("folder", Preset::Unset,
            "the folder of the reports, from the project's folder; without it: crashes, beside the database"),
    ],
};

/// The settings of the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashSettings {
    is_enabled: bool,
    folder: Option<String>,
}

impl CrashSettings {
    /// Reads `[crash]`.
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        Self {
            is_enabled: settings.flag("enabled"),
            folder: settings.text_if_set("folder").map(str::to_owned),
        }
    }

    /// Reads `[crash]`, and refuses a folder without a name, which would be that of the project.
    ///
    /// # Errors
    /// The key, and what to do.
    pub(crate) fn checked(settings: &Settings) -> Result<Self, String> {
        match settings.text_if_set("folder") {
            Some("") => Err("folder is empty: name a folder, or leave it out".to_owned()),
            _ => Ok(Self::from_settings(settings)),
        }
    }

    /// Returns the folder of the reports of a project; `None` where none are written.
    pub(crate) fn folder(
        &self,
        root: &Path,
        database: &DatabaseConfig,
        storage: &Path,
    ) -> Option<PathBuf> {
        if !self.is_enabled {
            return None;
        }
        if let Some(folder) = &self.folder {
            return Some(root.join(folder));
        }
        if database.is_postgres() {
            let is_there = !storage.as_os_str().is_empty();
            return is_there.then(|| storage.join(STORED_FOLDER));
        }
        if database.path.as_os_str().is_empty() || database.path.ends_with(":memory:") {
            return None;
        }
        let beside = database.path.parent().unwrap_or(Path::new(""));
        Some(beside.join(FOLDER))
    }
}
