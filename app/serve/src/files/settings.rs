//! `[static]`: the files that are served by their paths.

use crate::files::paths::is_below;
use crate::routing::pattern::Pattern;
use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};

/// The folder of the files, unless told otherwise.
pub(super) const FOLDER: &str = "public";

/// `[static]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "static",
    doc: "The files that are served by their paths.",
    keys: &[
        SettingKey::text("folder", Preset::Text(FOLDER),
            "the folder whose files are served at /, relative to the project's"),
        SettingKey::text("cache_control", Preset::Text("no-cache"), "the Cache-Control of its files"),
        SettingKey::texts("immutable", Preset::Unset,
            "paths such as \"/assets/*\" whose files change their names with their content"),
        SettingKey::time("check_millis", ANY, 1_000,
            "how long a file is believed to be what it was; 0 looks at each request"),
        // Larger files gain nothing by being kept.
        SettingKey::size("file_bytes_max", 0..=16 * 1024 * 1024, 64 * 1024,
            "larger files are not kept in memory but sent from where the system keeps them"),
        SettingKey::size("cache_bytes_max", ANY, 16 * 1024 * 1024,
            "memory of each worker for files, and as much again for those that it has compressed"),
        SettingKey::flag("compress", Preset::Flag(true),
            "text files that have no encoded form beside them are compressed and kept so"),
        SettingKey::text("fallback", Preset::Unset,
            "a file of the folder that answers browsers where nothing else is at a path"),
        SettingKey::text("not_found", Preset::Unset,
            "a file of the folder that is the page of 404 for browsers where the script has none"),
    ],
};

/// `[static]`, checked.
#[derive(Clone, Debug)]
pub struct StaticSettings {
    /// The folder whose files are served, relative to the project's.
    pub folder: String,
    /// The `Cache-Control` of files whose names do not change with their content.
    pub cache_control: String,
    /// The paths of files whose names do; those whose names show a hash, unless told.
    pub immutable: Option<Vec<Pattern>>,
    /// The time that a file is believed to be what it was.
    pub check_millis: u64,
    /// Larger files are not kept in memory but sent from where the system keeps them.
    pub file_bytes_max: u64,
    /// The number of bytes that a worker keeps in memory.
    pub cache_bytes_max: usize,
    /// True if files without encoded forms beside them are compressed.
    pub compress: bool,
    /// The file that answers browsers where nothing else is at a path.
    pub fallback: Option<String>,
    /// The file that is the page of 404 for browsers where the script has none.
    pub not_found: Option<String>,
}

impl StaticSettings {
    /// Reads `[static]`.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn from_settings(settings: &Settings) -> Result<Self, String> {
        let folder = settings.text("folder");
        if !is_below(folder.trim_end_matches('/')) {
            return Err(format!(
                "folder: {folder:?} is no folder below the project's: write its name without '..' and '/' in front"
            ));
        }
        let cache_control = settings.text("cache_control");
        if cache_control.is_empty()
            || !cache_control
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~'))
        {
            return Err(format!(
                "cache_control: {cache_control:?} is no value of Cache-Control"
            ));
        }
        let immutable = settings.list_if_set("immutable").map(|texts| {
            let patterns = texts.iter().map(|text| Pattern::parse(text));
            patterns.collect::<Result<_, _>>()
        });
        let immutable = immutable.transpose();
        let page = |key: &str, example: &str| match settings.text_if_set(key) {
            Some(path) if !is_below(path) => Err(format!(
                "{key}: {path:?} is no file of the folder: write its path there, such as {example:?}"
            )),
            path => Ok(path.map(|path| format!("/{path}"))),
        };
        Ok(Self {
            folder: folder.trim_end_matches('/').to_owned(),
            cache_control: cache_control.to_owned(),
            immutable: immutable.map_err(|fault| format!("immutable: {fault}"))?,
            check_millis: settings.number("check_millis"),
            file_bytes_max: settings.number("file_bytes_max"),
            cache_bytes_max: settings.number("cache_bytes_max"),
            compress: settings.flag("compress"),
            fallback: page("fallback", "index.html")?,
            not_found: page("not_found", "404.html")?,
        })
    }
}

#[cfg(test)]
impl Default for StaticSettings {
    fn default() -> Self {
        Self::from_settings(&Settings::of(&SECTION)).expect("defaults are valid")
    }
}
