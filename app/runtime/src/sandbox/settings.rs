//! `[sandbox]`.

use sampan_host::capability::ProjectSettings;
use sampan_host::settings::{Preset, Section, SettingKey, SettingKind, Settings};
use std::path::{Path, PathBuf};

/// The description of ports, for faults.
const PORTS: &str = "\"auto\", \"any\", or a list of ports such as [\"443\", \"8443\"]";
/// The word for connections to all ports.
const ANY_PORT: &str = "any";
/// The word for connections to all ports where something of the project needs them.
const AUTO: &str = "auto";

/// `[sandbox]`.
#[rustfmt::skip]
pub(crate) static SECTION: Section = Section {
    name: "sandbox",
    doc: "What `sampan run` gives up when it has started: files, ports and system calls that it does not need.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true), "confines the process as far as the kernel can"),
        SettingKey::flag("required", Preset::Flag(false), "does not start where the kernel cannot do all of it"),
        SettingKey::texts("read", Preset::Empty,
            "files and folders that may be read besides, relative to the project's folder"),
        SettingKey::texts("write", Preset::Empty,
            "folders that may be written besides, relative to the project's folder"),
        SettingKey::text("connect", Preset::Text(AUTO),
            "ports that requests of scripts may go to; those of URLs in the configuration are added")
            .of_kind(SettingKind::TextOrTexts(PORTS)),
    ],
};

/// `[sandbox]`, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SandboxSettings {
    pub(crate) is_enabled: bool,
    pub(crate) is_required: bool,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) connections: ScriptConnections,
}

/// The TCP connections that scripts may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScriptConnections {
    /// All, where something of the project begins any; else none.
    Auto,
    /// To all ports.
    Any,
    /// To these ports.
    Ports(Vec<u16>),
}

impl SandboxSettings {
    /// Returns those of a project.
    ///
    /// # Errors
    /// As [`SandboxSettings::from_settings`], with the place.
    pub(crate) fn of(settings: &ProjectSettings<'_>) -> Result<Self, String> {
        let read = |section: &Settings| Self::from_settings(section, settings.root);
        settings.resolve(&SECTION, read)
    }

    /// Reads `[sandbox]`. Paths are relative to `root`.
    ///
    /// # Errors
    /// A port that is none, or a sandbox that is required and turned off.
    fn from_settings(settings: &Settings, root: &Path) -> Result<Self, String> {
        let (is_enabled, is_required) = (settings.flag("enabled"), settings.flag("required"));
        if is_required && !is_enabled {
            return Err("required = true: it cannot be with enabled = false".to_owned());
        }
        let paths = |key| {
            settings
                .list(key)
                .iter()
                .map(|path| root.join(path))
                .collect()
        };
        let words = settings.list("connect");
        let has = |wanted: &str| words.iter().any(|word| word == wanted);
        let ports =
            || -> Result<Vec<u16>, String> { words.iter().map(|word| port(word)).collect() };
        let connections = match (has(ANY_PORT), has(AUTO)) {
            (true, _) => ScriptConnections::Any,
            (false, true) if words.len() == 1 => ScriptConnections::Auto,
            (false, _) => ScriptConnections::Ports(ports()?),
        };
        Ok(Self {
            is_enabled,
            is_required,
            read: paths("read"),
            write: paths("write"),
            connections,
        })
    }
}

fn port(word: &str) -> Result<u16, String> {
    let port = word.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("connect: {word:?} is no port; it must be {PORTS}"))
}

/// Checks `[sandbox]`.
///
/// # Errors
/// The place, the key, and what is wrong with its value.
pub(crate) fn configure(settings: &ProjectSettings<'_>) -> Result<(), String> {
    SandboxSettings::of(settings).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    fn read(values: Vec<(&'static str, SettingValue)>) -> Result<SandboxSettings, String> {
        let settings = Settings::with(&SECTION, values)?;
        SandboxSettings::from_settings(&settings, Path::new("/app"))
    }

    fn list(words: &[&str]) -> SettingValue {
        SettingValue::List(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn paths_are_those_of_the_project_and_ports_are_numbers() {
        let preset = read(Vec::new()).expect("the presets");
        assert!(preset.is_enabled && !preset.is_required);
        assert_eq!(preset.connections, ScriptConnections::Auto);
        let set = vec![
            ("read", list(&["fonts", "/usr/share/fonts"])),
            ("connect", list(&["443", "8443"])),
        ];
        let set = read(set).expect("right");
        assert_eq!(
            set.read,
            [PathBuf::from("/app/fonts"), "/usr/share/fonts".into()]
        );
        assert_eq!(set.connections, ScriptConnections::Ports(vec![443, 8443]));
        let none = read(vec![("connect", list(&[]))]).expect("right");
        assert_eq!(none.connections, ScriptConnections::Ports(Vec::new()));
    }

    #[test]
    fn contradictions_and_words_that_are_no_ports_are_refused() {
        let required = vec![
            ("enabled", SettingValue::Flag(false)),
            ("required", SettingValue::Flag(true)),
        ];
        for (values, part) in [
            (required, "enabled = false"),
            (vec![("connect", list(&["https"]))], "\"https\" is no port"),
            (vec![("connect", list(&["0"]))], "\"0\" is no port"),
        ] {
            let fault = read(values).expect_err(part);
            assert!(fault.contains(part), "{fault}");
        }
    }
}
