//! `[session]`: how sessions are kept.

use super::units::{Bytes, Millis};
use sampan_session::SessionConfig;
use serde::Deserialize;

/// `[session]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawSession {
    idle: Option<Millis>,
    lifetime: Option<Millis>,
    cookie: Option<String>,
    secure: Option<bool>,
    bytes_max: Option<Bytes>,
}

impl RawSession {
    /// The settings, checked.
    pub(super) fn resolve(&self) -> Result<SessionConfig, String> {
        let default = SessionConfig::default();
        let config = SessionConfig {
            idle_millis: self.idle.map_or(default.idle_millis, u64::from),
            lifetime_millis: self.lifetime.map_or(default.lifetime_millis, u64::from),
            cookie: self.cookie.clone().unwrap_or(default.cookie),
            secure: self.secure,
            bytes_max: self.bytes_max.map_or(default.bytes_max, usize::from),
        };
        config.check()?;
        Ok(config)
    }
}
