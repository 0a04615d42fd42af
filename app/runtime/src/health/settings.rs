//! `[health]`.

use super::operators;
use sampan_host::capability::ProjectSettings;
use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};
use std::time::Duration;

/// The path unless `[health] path` names another.
const PATH: &str = "/_sampan/health";
/// The free space that a disk must have unless `[health] disk_bytes_min` says otherwise.
const DISK_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// The longest time that a server goes on between the signal and its end, in milliseconds.
const STOP_DELAY_MILLIS_MAX: u64 = 10 * 60 * 1_000;

/// `[health]`.
#[rustfmt::skip]
pub(crate) static SECTION: Section = Section {
    name: "health",
    doc: "The answers to load balancers that ask how the server is.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true), "answers GET requests of the path, before any route"),
        SettingKey::text("path", Preset::Text(PATH), "the path; PATH/live and PATH/ready stand below it"),
        SettingKey::text("token", Preset::Unset,
            "a client that sends it as a bearer token sees the reasons; clients on this machine need none").secret(),
        SettingKey::size("disk_bytes_min", ANY, DISK_BYTES_MIN,
            "free space that the disks must have on which the server writes; 0: any"),
        SettingKey::time("stop_delay_millis", 0..=STOP_DELAY_MILLIS_MAX, 0,
            "how long a server that is told to stop still answers, while its health says that it is not ready"),
    ],
};

/// The settings of the answers about the server's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSettings {
    /// The path; `None` where nothing is answered.
    pub path: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) disk_bytes_min: u64,
    pub(crate) stop_delay: Duration,
}

impl HealthSettings {
    /// Returns those of a project.
    ///
    /// # Errors
    /// As [`HealthSettings::from_settings`], with the place.
    pub(crate) fn of(settings: &ProjectSettings<'_>) -> Result<Self, String> {
        settings.resolve(&SECTION, Self::from_settings)
    }

    /// Reads `[health]`.
    ///
    /// # Errors
    /// A path that no request can have, or a token that anybody may guess.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, String> {
        let path = operators::checked_path(settings.text("path"), PATH)?;
        let token = operators::checked_token(settings.text_if_set("token"))?;
        Ok(Self {
            path: settings.flag("enabled").then_some(path),
            token,
            disk_bytes_min: settings.number("disk_bytes_min"),
            stop_delay: Duration::from_millis(settings.number("stop_delay_millis")),
        })
    }
}

/// Checks `[health]`.
///
/// # Errors
/// The place, the key, and what is wrong with its value.
pub(crate) fn configure(settings: &ProjectSettings<'_>) -> Result<(), String> {
    HealthSettings::of(settings).map(drop)
}
