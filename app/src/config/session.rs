//! `[session]`: how sessions are kept.

use super::units::{Bytes, Millis};
use sampan_session::{SessionConfig, SessionPlace};
use serde::Deserialize;

/// `[session]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawSession {
    store: Option<String>,
    idle: Option<Millis>,
    lifetime: Option<Millis>,
    cookie: Option<String>,
    secure: Option<bool>,
    bytes_max: Option<Bytes>,
}

impl RawSession {
    /// The settings, checked.
    pub(super) fn resolve(&self) -> Result<SessionConfig, String> {
        let place = match self.store.as_deref() {
            None | Some("db") => SessionPlace::Db,
            Some("cookie") => SessionPlace::Cookie,
            Some(other) => {
                return Err(format!("store: {other:?} is none of \"db\", \"cookie\""));
            }
        };
        let default = SessionConfig::default();
        let config = SessionConfig {
            place,
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
