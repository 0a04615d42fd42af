//! `[files]` and `[forms]`: what scripts keep, and what forms with files may have.

use super::db::RawDurability;
use super::units::Bytes;
use sampan_files::{Durability, FilesConfig, FormLimits};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The storage folder unless told otherwise, relative to the project's folder.
pub(super) const STORAGE: &str = "storage";

/// `[files]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawFiles {
    storage: Option<PathBuf>,
    temp: Option<PathBuf>,
    durability: Option<RawDurability>,
}

/// `[forms]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawForms {
    parts_max: Option<usize>,
    files_max: Option<usize>,
    fields_bytes_max: Option<Bytes>,
    file_bytes_max: Option<Bytes>,
}

impl RawFiles {
    /// The files of the project in the folder `root`.
    pub(super) fn resolve(&self, root: &Path, forms: &RawForms) -> FilesConfig {
        let storage = self.storage.as_deref().unwrap_or(Path::new(STORAGE));
        let durability = self.durability.map(RawDurability::resolved);
        // A project in memory has no folder for files either, unless one is named.
        let is_nowhere = root.as_os_str().is_empty() && self.storage.is_none();
        FilesConfig {
            project: root.to_owned(),
            packed: None,
            storage: match is_nowhere {
                true => PathBuf::new(),
                false => root.join(storage),
            },
            temp: self.temp.as_ref().map(|temp| root.join(temp)),
            durability: match durability {
                Some(sampan_db::Durability::Full) | None => Durability::Full,
                Some(_) => Durability::Normal,
            },
            forms: forms.resolve(),
        }
    }
}

impl RawForms {
    fn resolve(&self) -> FormLimits {
        let defaults = FormLimits::default();
        FormLimits {
            parts_max: self.parts_max.unwrap_or(defaults.parts_max),
            files_max: self.files_max.unwrap_or(defaults.files_max),
            fields_bytes_max: self
                .fields_bytes_max
                .map_or(defaults.fields_bytes_max, usize::from),
            file_bytes_max: self
                .file_bytes_max
                .map_or(defaults.file_bytes_max, u64::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_its_effect() {
        let resolve = |text: &str| {
            let files: RawFiles = toml::from_str(text).expect("valid");
            files.resolve(Path::new("/project"), &RawForms::default())
        };
        let unset = resolve("");
        assert_eq!(unset.storage, Path::new("/project/storage"));
        assert_eq!((unset.temp, unset.durability), (None, Durability::Full));
        let set = resolve("storage = \"kept\"\ntemp = \"/tmp/spool\"\ndurability = \"normal\"");
        assert_eq!(set.storage, Path::new("/project/kept"));
        assert_eq!(set.temp.as_deref(), Some(Path::new("/tmp/spool")));
        assert_eq!(set.durability, Durability::Normal);
        assert_eq!(
            resolve("durability = \"full\"").durability,
            Durability::Full
        );
    }
}
