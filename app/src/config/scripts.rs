//! `[scripts]`: what requests share, and when files are read.

use super::units::Millis;
use crate::project::Project;
use sampan_host::Isolation;
use sampan_project::Language;
use serde::Deserialize;
use std::time::Duration;

/// The interval at which files are looked at with `mode = "file"`, in milliseconds, unless told otherwise.
const CHECK_MILLIS: u64 = 20;

/// `[scripts]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawScripts {
    pub(crate) isolation: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) check_millis: Option<Millis>,
}

/// The resolved settings of `[scripts]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScriptSettings {
    /// The state that requests share.
    pub(crate) isolation: Isolation,
    /// With `mode = "file"`: how long after one look at the files the next request looks again.
    pub(crate) check_time: Option<Duration>,
}

impl RawScripts {
    pub(super) fn resolve(&self, project: &Project) -> Result<ScriptSettings, String> {
        let isolation = match self.isolation.as_deref() {
            None | Some("worker") => Isolation::Worker,
            Some("request") => Isolation::Request,
            Some(other) => {
                return Err(format!(
                    "isolation: {other:?} is none of \"worker\", \"request\""
                ));
            }
        };
        if isolation == Isolation::Request && project.language() == Some(Language::Js) {
            return Err(format!(
                "isolation = \"request\" is for projects in Lua, and {} is none: leave it out, and keep nothing in \
                 variables of modules",
                project.entry()
            ));
        }
        let reads_files = match self.mode.as_deref() {
            None | Some("cached") => false,
            Some("file") => true,
            Some(other) => {
                return Err(format!("mode: {other:?} is none of \"cached\", \"file\""));
            }
        };
        if reads_files && project.archive().is_some() {
            return Err("mode = \"file\" is for projects in a folder, and this one is a part of its program: leave it \
             out".to_owned());
        }
        let millis = self.check_millis.map_or(CHECK_MILLIS, u64::from);
        Ok(ScriptSettings {
            isolation,
            check_time: reads_files.then(|| Duration::from_millis(millis)),
        })
    }

    /// Returns the default of a key.
    pub(super) fn default_of(key: &str) -> Option<toml::Value> {
        Some(match key {
            "scripts.isolation" => "worker".into(),
            "scripts.mode" => "cached".into(),
            "scripts.check_millis" => return super::raw::whole(CHECK_MILLIS),
            _ => return None,
        })
    }
}
