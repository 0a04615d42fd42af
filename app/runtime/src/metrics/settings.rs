//! `[metrics]`.

use crate::health::operators;
use crate::health::settings::HealthSettings;
use sampan_host::capability::ProjectSettings;
use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use std::net::SocketAddr;

/// The path unless `[metrics] path` names another.
const PATH: &str = "/_sampan/metrics";

/// `[metrics]`.
#[rustfmt::skip]
pub(crate) static SECTION: Section = Section {
    name: "metrics",
    doc: "Measurements of the server, for Prometheus and `sampan top`.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true), "measures, and answers GET requests of the path"),
        SettingKey::text("path", Preset::Text(PATH), "the path"),
        SettingKey::text("token", Preset::Unset,
            "clients on other machines send it as a bearer token; without it they are refused").secret(),
        SettingKey::text("listen", Preset::Unset,
            "an address of its own, such as \"10.0.0.5:9100\": the path is answered there and nowhere else"),
    ],
};

/// The settings of the measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetricsSettings {
    /// True if anything is measured.
    pub(crate) is_enabled: bool,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
    pub(crate) listen: Option<SocketAddr>,
}

impl MetricsSettings {
    /// Reads `[metrics]`.
    ///
    /// # Errors
    /// A path that no request can have, an empty token, or an address that is none.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, String> {
        let listen = settings.text_if_set("listen").map(|text| {
            let address = text.parse::<SocketAddr>();
            address.map_err(|_| {
                format!("listen is {text:?}; it must be an address and a port, such as \"127.0.0.1:9100\"")
            })
        });
        Ok(Self {
            is_enabled: settings.flag("enabled"),
            path: operators::checked_path(settings.text("path"), PATH)?,
            token: operators::checked_token(settings.text_if_set("token"))?,
            listen: listen.transpose()?,
        })
    }
}

/// Checks `[metrics]`.
///
/// # Errors
/// The place, the key, and what is wrong with its value: the path may be that of the answers about the health, too.
pub(crate) fn configure(settings: &ProjectSettings<'_>) -> Result<(), String> {
    let health = HealthSettings::of(settings)?.path;
    let checked = settings.resolve(&SECTION, |settings| {
        let metrics = MetricsSettings::from_settings(settings)?;
        let is_elsewhere = !metrics.is_enabled || metrics.listen.is_some();
        match &health {
            Some(health) if !is_elsewhere && is_below(&metrics.path, health) => Err(format!(
                "path is {:?}, which [health] answers: give one of them another path",
                metrics.path
            )),
            _ => Ok(metrics),
        }
    });
    checked.map(drop)
}

/// Reports whether `[health]` answers a path.
fn is_below(path: &str, health: &str) -> bool {
    matches!(path.strip_prefix(health), Some("" | "/live" | "/ready"))
}
