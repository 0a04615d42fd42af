//! `[scripts]`: what requests share, and when files are read.

use crate::files::Project;
use crate::language::Language;
use sampan_host::Isolation;
use sampan_host::settings::{ANY, Section, SettingKey, Settings};
use std::time::Duration;

/// `[scripts]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "scripts",
    doc: "What requests share, and when files are read.",
    keys: &[
        SettingKey::choice("isolation", &["worker", "request"],
            "whether requests of a worker share globals and modules, or each has its own"),
        SettingKey::choice("mode", &["cached", "file"],
            "whether files are read at start and by a reload, or requests look for changes"),
        SettingKey::time("check_millis", ANY, 20,
            "with mode = \"file\": how long after one look the next request looks again"),
    ],
};

/// The resolved settings of `[scripts]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptSettings {
    /// The state that requests share.
    pub isolation: Isolation,
    /// With `mode = "file"`: how long after one look at the files the next request looks again.
    pub check_time: Option<Duration>,
}

impl ScriptSettings {
    pub(super) fn from_settings(settings: &Settings, project: &Project) -> Result<Self, String> {
        let isolation = match settings.text("isolation") {
            "request" => Isolation::Request,
            _ => Isolation::Worker,
        };
        if isolation == Isolation::Request && project.language() == Some(Language::Js) {
            return Err(format!(
                "isolation = \"request\" is for projects in Lua, and {} is none: leave it out, and keep nothing in \
                 variables of modules",
                project.entry()
            ));
        }
        let reads_files = settings.text("mode") == "file";
        if reads_files && project.archive().is_some() {
            return Err("mode = \"file\" is for projects in a folder, and this one is a part of its program: leave it \
             out".to_owned());
        }
        let check_time = Duration::from_millis(settings.number("check_millis"));
        Ok(Self {
            isolation,
            check_time: reads_files.then_some(check_time),
        })
    }
}
