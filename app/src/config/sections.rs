//! Sections that become the settings of something else: `[dev]`, `[limits]`, `[log]`, `[static]`, `[template]`.

use super::raw::{RawConfig, RawDev, RawLog, RawStatic};
use crate::dev::DevSettings;
use sampan_host::ScriptLimits;
use sampan_http::Limits;
use sampan_log::Settings;
use sampan_serve::files::{self as static_files, StaticSettings};
use sampan_serve::routing::pattern::Pattern;
use sampan_template::UndefinedBehavior;
use std::str::FromStr;
use std::time::Duration;

/// Resolves `template.undefined`.
pub(super) fn undefined(text: Option<&str>) -> Result<UndefinedBehavior, String> {
    Ok(match text {
        None | Some("semi_strict") => UndefinedBehavior::SemiStrict,
        Some("strict") => UndefinedBehavior::Strict,
        Some("lenient") => UndefinedBehavior::Lenient,
        Some("chainable") => UndefinedBehavior::Chainable,
        Some(other) => {
            return Err(format!(
                "{other:?}; it must be \"semi_strict\", \"strict\", \"lenient\" or \"chainable\""
            ));
        }
    })
}

/// Resolves `[dev]`.
pub(super) fn dev_settings(raw: &RawDev) -> Result<DevSettings, String> {
    let mut settings = DevSettings::default();
    if let Some(editor) = &raw.editor {
        if !editor.contains("{path}") || !editor.contains(':') {
            return Err(format!(
                "editor: {editor:?}; it must be a URL with {{path}} in it, such as \"{}\"",
                settings.editor
            ));
        }
        settings.editor.clone_from(editor);
    }
    for host in raw.hosts.iter().flatten() {
        let name = host.strip_prefix('.').unwrap_or(host);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(format!(
                "hosts: {host:?} is no name of a host: write it without \"http://\" and port, such as \"app.test\", \
                 or \".app.test\" for all names below it"
            ));
        }
        settings.hosts.push(host.to_ascii_lowercase());
    }
    if let Some(millis) = raw.slow_query {
        settings.slow_query = Duration::from_millis(millis.into());
    }
    Ok(settings)
}

/// Resolves `[static]`.
pub(super) fn static_settings(raw: &RawStatic) -> Result<StaticSettings, String> {
    /// Larger files gain nothing by being kept.
    const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
    let mut settings = StaticSettings::default();
    if let Some(folder) = &raw.folder {
        settings.folder = folder.trim_end_matches('/').to_owned();
        if !static_files::is_folder(&settings.folder) {
            return Err(format!(
                "folder: {folder:?} is no folder below the project's: write its name without '..' and '/' in front"
            ));
        }
    }
    if let Some(value) = &raw.cache_control {
        if value.is_empty() || !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(format!(
                "cache_control: {value:?} is no value of Cache-Control"
            ));
        }
        settings.cache_control.clone_from(value);
    }
    if let Some(texts) = &raw.immutable {
        let patterns = texts.iter().map(|text| Pattern::parse(text));
        let patterns = patterns.collect::<Result<_, _>>();
        settings.immutable = Some(patterns.map_err(|fault| format!("immutable: {fault}"))?);
    }
    if let Some(compress) = raw.compress {
        settings.compress = compress;
    }
    if let Some(fallback) = &raw.fallback {
        if !static_files::is_folder(fallback) {
            return Err(format!(
                "fallback: {fallback:?} is no file of the folder: write its path there, such as \"index.html\""
            ));
        }
        settings.fallback = Some(format!("/{fallback}"));
    }
    if let Some(millis) = raw.check_millis {
        settings.check_millis = millis.into();
    }
    if let Some(bytes) = raw.file_bytes_max {
        settings.file_bytes_max = bytes.into();
    }
    if let Some(bytes) = raw.cache_bytes_max {
        settings.cache_bytes_max = bytes.into();
    }
    if settings.file_bytes_max > FILE_BYTES_MAX {
        return Err(format!(
            "file_bytes_max is {}; it must be at most {FILE_BYTES_MAX}",
            settings.file_bytes_max
        ));
    }
    Ok(settings)
}

/// Resolves `[log]`.
pub(super) fn log_settings(raw: &RawLog) -> Result<Settings, String> {
    /// Less than this and time, id and place leave no room for a message.
    const LINE_BYTES_MIN: usize = 1024;
    /// More than this and a few lines fill the queue of the log.
    const LINE_BYTES_MAX: usize = 1024 * 1024;
    let defaults = Settings::default();
    let line_bytes_max = raw
        .line_bytes_max
        .map_or(defaults.line_bytes_max, usize::from);
    if !(LINE_BYTES_MIN..=LINE_BYTES_MAX).contains(&line_bytes_max) {
        return Err(format!(
            "line_bytes_max is {line_bytes_max}; it must be {LINE_BYTES_MIN} to {LINE_BYTES_MAX}"
        ));
    }
    Ok(Settings {
        level_min: choice(
            "level",
            raw.level.as_deref(),
            defaults.level_min,
            &["debug", "info", "warn", "error"],
        )?,
        format: choice(
            "format",
            raw.format.as_deref(),
            defaults.format,
            &["text", "json"],
        )?,
        access: choice(
            "access",
            raw.access.as_deref(),
            defaults.access,
            &["off", "common", "json"],
        )?,
        line_bytes_max,
    })
}

/// One of a few words.
fn choice<T: FromStr>(
    key: &str,
    text: Option<&str>,
    default: T,
    words: &[&str],
) -> Result<T, String> {
    let Some(text) = text else {
        return Ok(default);
    };
    text.parse().map_err(|_| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        format!("{key}: {text:?} is none of {}", words.join(", "))
    })
}

/// Resolves `[limits] `[limits]` says, checked: the limits of the HTTP engine and of the scripts.
pub(super) fn limits(raw: &RawConfig) -> Result<(Limits, ScriptLimits), String> {
    /// Less than this and an engine cannot even start.
    const MEMORY_BYTES_MIN: usize = 4 * 1024 * 1024;
    let (mut http, mut script) = (Limits::default(), ScriptLimits::default());
    raw.limits.apply(&mut http, &mut script);
    if raw.limits.target_bytes_max.is_none() {
        // A target is a part of the head.
        http.target_bytes_max = http.target_bytes_max.min(http.head_bytes_max);
    }
    http.check()?;
    let day_millis = 24 * 3_600 * 1_000;
    if !(1..=day_millis).contains(&script.script_millis_max) {
        return Err(format!(
            "script_millis_max is {}; it must be 1 to {day_millis} milliseconds",
            script.script_millis_max
        ));
    }
    if script.memory_bytes_max < MEMORY_BYTES_MIN {
        return Err(format!(
            "memory_bytes_max is {}; it must be at least {MEMORY_BYTES_MIN}",
            script.memory_bytes_max
        ));
    }
    if !(1..=1_000).contains(&script.json_depth_max) {
        return Err(format!(
            "json_depth_max is {}; it must be 1 to 1000",
            script.json_depth_max
        ));
    }
    Ok((http, script))
}
