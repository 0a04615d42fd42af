//! `[files]` and `[forms]`: what scripts keep, and what forms with files may have.

use crate::limits::FormLimits;
use crate::storage::{Durability, FilesConfig};
use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};
use std::path::{Component, Path, PathBuf};

/// `[files]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "files",
    doc: "The folders of files that scripts keep.",
    keys: &[
        SettingKey::text("storage", Preset::Text("storage"),
            "the folder of files and of saved uploads, relative to the project's"),
        SettingKey::text("temp", Preset::Unset, "the folder of files that are not complete yet"),
        SettingKey::choice("durability", &["full", "normal"],
            "a change is reported when it is on the disk, or at once"),
    ],
};

/// `[forms]`.
#[rustfmt::skip]
pub static FORMS: Section = Section {
    name: "forms",
    doc: "Limits of forms with files.",
    keys: &[
        SettingKey::count("parts_max", ANY, 1_000, "fields and files"),
        SettingKey::count("files_max", ANY, 20, "files"),
        SettingKey::size("fields_bytes_max", ANY, 1024 * 1024, "names and values of all fields"),
        SettingKey::size("file_bytes_max", ANY, 100 * 1024 * 1024, "one file"),
    ],
};

/// Refuses folders without a name, and a storage folder that is the project's folder `root` or one above it: scripts
/// could overwrite the files of the project.
///
/// # Errors
/// The key, and what to do.
pub(crate) fn check(files: &Settings, root: &Path) -> Result<(), String> {
    for key in ["storage", "temp"] {
        if files.text_if_set(key) == Some("") {
            return Err(format!("{key} is empty: name a folder, or leave it out"));
        }
    }
    let storage = files.text("storage");
    if !root.as_os_str().is_empty() && is_around(&root.join(storage), root) {
        return Err(format!(
            "storage: {storage:?} is the project's folder or one above it, so scripts could overwrite the project: \
             name a folder of its own, such as \"storage\""
        ));
    }
    Ok(())
}

/// Reports whether a folder is the folder `root` or one above it, also by a link.
fn is_around(folder: &Path, root: &Path) -> bool {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let by_link = folder.canonicalize();
    root.starts_with(without_dots(folder)) || by_link.is_ok_and(|folder| root.starts_with(folder))
}

/// Returns a path without `.` and `..`, as it is once all its folders are there.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

impl FilesConfig {
    /// Reads `[files]` and `[forms]` of the project in the folder `root`.
    pub fn from_settings(files: &Settings, forms: &Settings, root: &Path) -> Self {
        // A project in memory has no folder for files either, unless one is named.
        let is_nowhere = root.as_os_str().is_empty() && files.written("storage").is_none();
        Self {
            project: root.to_owned(),
            packed: None,
            storage: match is_nowhere {
                true => PathBuf::new(),
                false => root.join(files.text("storage")),
            },
            temp: files.text_if_set("temp").map(|temp| root.join(temp)),
            durability: match files.text("durability") {
                "normal" => Durability::Normal,
                _ => Durability::Full,
            },
            forms: FormLimits::from_settings(forms),
        }
    }
}

impl FormLimits {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            parts_max: settings.number("parts_max"),
            files_max: settings.number("files_max"),
            fields_bytes_max: settings.number("fields_bytes_max"),
            file_bytes_max: settings.number("file_bytes_max"),
        }
    }
}

impl Default for FormLimits {
    fn default() -> Self {
        Self::from_settings(&Settings::of(&FORMS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    #[test]
    fn folders_are_relative_to_the_project() {
        let config = |root: &str, written: &[(&'static str, &str)]| {
            let written = written.iter();
            let written = written.map(|(key, text)| (*key, SettingValue::Text((*text).to_owned())));
            let files = Settings::with(&SECTION, written).expect("valid");
            FilesConfig::from_settings(&files, &Settings::of(&FORMS), Path::new(root))
        };
        let unset = config("/project", &[]);
        assert_eq!(unset.storage, Path::new("/project/storage"));
        assert_eq!((unset.temp, unset.durability), (None, Durability::Full));
        let set = config(
            "/project",
            &[
                ("storage", "kept"),
                ("temp", "/tmp/spool"),
                ("durability", "normal"),
            ],
        );
        assert_eq!(set.storage, Path::new("/project/kept"));
        assert_eq!(set.temp.as_deref(), Some(Path::new("/tmp/spool")));
        assert_eq!(set.durability, Durability::Normal);
        assert_eq!(config("", &[]).storage, Path::new(""));
        assert_eq!(
            config("", &[("storage", "kept")]).storage,
            Path::new("kept")
        );
    }

    #[test]
    fn a_folder_without_a_name_is_refused() {
        let read = |key: &'static str, text: &str| {
            let written = [(key, SettingValue::Text(text.to_owned()))];
            let files = Settings::with(&SECTION, written).expect("valid");
            check(&files, Path::new(""))
        };
        for key in ["storage", "temp"] {
            let fault = read(key, "").expect_err(key);
            assert_eq!(
                fault,
                format!("{key} is empty: name a folder, or leave it out")
            );
            assert_eq!(read(key, "kept"), Ok(()));
        }
        assert_eq!(check(&Settings::of(&SECTION), Path::new("")), Ok(()));
    }

    #[test]
    fn a_storage_folder_around_the_project_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("project");
        std::fs::create_dir(&root).expect("a folder");
        std::os::unix::fs::symlink("..", root.join("link")).expect("a link");
        let read = |text: &str| {
            let written = [("storage", SettingValue::Text(text.to_owned()))];
            check(&Settings::with(&SECTION, written).expect("valid"), &root)
        };
        for text in [".", "./", "..", "x/..", "x/../..", "link", "link/project"] {
            let fault = read(text).expect_err(text);
            let told = format!("storage: {text:?} is the project's folder or one above it");
            assert!(fault.starts_with(&told), "{fault}");
        }
        assert!(read("/").is_err() && read(root.to_str().expect("UTF-8")).is_err());
        for text in ["storage", "./a/b", "../beside", "../project-files"] {
            assert_eq!(read(text), Ok(()), "{text}");
        }
    }
}
