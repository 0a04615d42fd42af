//! The values in force and the place where each was written, as `sampan config` prints them.

use super::db::RawDb;
use super::files::{RawFiles, RawForms};
use super::raw::*;
use super::scripts::RawScripts;
use super::session::RawSession;
use super::sources::{Environment, Sources};
use super::{COMPRESSED_BYTES_MAX, Config, LISTEN, fields};
use crate::dev::DevSettings;
use crate::project::Project;
use sampan_files::FormLimits;
use sampan_serve::files::StaticSettings;
use sampan_session::SessionConfig;
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
}

/// Every key of the configuration, in the order of the sections. Values of `[secrets]` are not shown.
///
/// # Errors
/// As [`Config::resolve`].
pub fn settings(flags: &Flags) -> Result<Vec<Setting>, String> {
    let project = Project::of(flags)?;
    let environment = Environment::of_process().with(&flags.env_file.read(project.root())?);
    let sources = Sources::of(project.root(), flags, &environment)?;
    Config::from_sources(project, &sources)?;
    Ok(all(&sources))
}

fn all(sources: &Sources) -> Vec<Setting> {
    let keys = keys().into_iter();
    keys.map(|(section, name)| {
        let key = format!("{section}.{name}");
        let written = sources.value(section, name).cloned();
        let value = written.or_else(|| default_of(&key));
        let value = value.map(|value| match section {
            "secrets" => format!("{} (not shown)", value.as_array().map_or(0, Vec::len)),
            _ => value.to_string(),
        });
        let origin = sources.origins.of(&key).map(str::to_owned);
        Setting { key, value, origin }
    })
    .collect()
}

/// All sections with their keys.
fn keys() -> Vec<(&'static str, &'static str)> {
    let of = |section: &'static str| -> &'static [&'static str] {
        match section {
            "server" => fields::names::<RawServer>(),
            "limits" => fields::names::<RawLimits>(),
            "scripts" => fields::names::<RawScripts>(),
            "log" => fields::names::<RawLog>(),
            "db" => fields::names::<RawDb>(),
            "template" => fields::names::<RawTemplate>(),
            "secrets" => fields::names::<RawSecrets>(),
            "files" => fields::names::<RawFiles>(),
            "forms" => fields::names::<RawForms>(),
            "csrf" => fields::names::<RawCsrf>(),
            "session" => fields::names::<RawSession>(),
            "static" => fields::names::<RawStatic>(),
            "i18n" => fields::names::<RawI18n>(),
            "compression" => fields::names::<RawCompression>(),
            "dev" => fields::names::<RawDev>(),
            _ => &[],
        }
    };
    let sections = fields::names::<RawConfig>().iter();
    sections
        .flat_map(|section| of(section).iter().map(move |key| (*section, *key)))
        .collect()
}

/// Returns the default of a key; `None` where there is no fixed value.
fn default_of(key: &str) -> Option<Value> {
    let whole = |number: u64| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let size = |number: usize| whole(number as u64);
    let (files, dev) = (StaticSettings::default(), DevSettings::default());
    let (forms, session) = (FormLimits::default(), SessionConfig::default());
    let known = RawLimits::default_of(key).or_else(|| RawDb::default_of(key));
    if let Some(value) = known.or_else(|| RawScripts::default_of(key)) {
        return Some(value);
    }
    Some(match key {
        "server.listen" => LISTEN.into(),
        "server.socket_mode" => super::SOCKET_MODE.into(),
        "server.workers" => size(super::cores()),
        "server.trusted_proxies" | "secrets.keys" | "csrf.trusted_origins" | "csrf.except" => {
            Value::Array(Vec::new())
        }
        "log.level" => "info".into(),
        "log.format" => "text".into(),
        "log.access" => "off".into(),
        "log.line_bytes_max" => size(sampan_log::Settings::default().line_bytes_max),
        "db.path" => super::db::FILE.into(),
        "db.durability" | "files.durability" => "full".into(),
        "db.migrate" | "csrf.enabled" | "compression.enabled" => true.into(),
        "template.undefined" => "semi_strict".into(),
        "files.storage" => super::files::STORAGE.into(),
        "forms.parts_max" => size(forms.parts_max),
        "forms.files_max" => size(forms.files_max),
        "forms.fields_bytes_max" => size(forms.fields_bytes_max),
        "forms.file_bytes_max" => whole(forms.file_bytes_max),
        "session.store" => "db".into(),
        "session.idle" => whole(session.idle_millis),
        "session.lifetime" => whole(session.lifetime_millis),
        "session.cookie" => session.cookie.into(),
        "session.bytes_max" => size(session.bytes_max),
        "static.folder" => files.folder.into(),
        "static.cache_control" => files.cache_control.into(),
        "static.check_millis" => whole(files.check_millis),
        "static.file_bytes_max" => whole(files.file_bytes_max),
        "static.compress" => files.compress.into(),
        "static.cache_bytes_max" => size(files.cache_bytes_max),
        "compression.cache_bytes_max" => size(COMPRESSED_BYTES_MAX),
        "dev.editor" => dev.editor.into(),
        "dev.hosts" => toml::Value::Array(Vec::new()),
        "dev.slow_query" => whole(dev.slow_query.as_millis() as u64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Sources {
        Sources::of_text(
            text,
            "sampan.toml",
            &Flags::default(),
            &Environment::default(),
        )
        .expect("valid")
    }

    #[test]
    fn a_default_that_is_written_changes_nothing() {
        let config = |text: &str| {
            let project = Project::in_memory("app.lua", &[]);
            let config = Config::from_sources(project, &sources(text)).expect("valid");
            format!("{config:?}")
        };
        let by_default = config("");
        let (mut shown, mut unknown) = (0, Vec::new());
        for (section, key) in keys() {
            match default_of(&format!("{section}.{key}")) {
                Some(value) => {
                    let text = format!("[{section}]\n{key} = {value}\n");
                    // A storage folder that is named is there for a project in memory too.
                    if key != "storage" {
                        assert_eq!(config(&text), by_default, "{text}");
                    }
                    shown += 1;
                }
                None => unknown.push(format!("{section}.{key}")),
            }
        }
        assert!(shown > 60, "{shown}");
        let decided_later = [
            "server.user",
            "files.temp",
            "session.secure",
            "static.immutable",
            "static.fallback",
            "i18n.default",
            "i18n.locales",
        ];
        assert_eq!(unknown, decided_later);
    }

    #[test]
    fn secrets_are_counted_and_not_shown() {
        let text =
            "[secrets]\nkeys = [\"0123456789abcdef0123456789abcdef\"]\n[log]\nlevel = \"warn\"\n";
        let all = all(&sources(text));
        let of = |key: &str| {
            all.iter()
                .find(|one| one.key == key)
                .cloned()
                .expect("known")
        };
        assert_eq!(of("secrets.keys").value.as_deref(), Some("1 (not shown)"));
        assert_eq!(of("log.level").value.as_deref(), Some("\"warn\""));
        assert_eq!(of("log.level").origin.as_deref(), Some("sampan.toml:4"));
        assert_eq!(of("log.format").origin, None);
    }
}
