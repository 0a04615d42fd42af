//! The hooks of the capability.

use crate::rows;
use crate::settings::{SECTION, TraceSettings};
use sampan_host::Capability;
use sampan_host::capability::ProjectSettings;

/// Traces. The server starts the exporter before its workers, so it has no hooks but that for its settings.
pub static CAPABILITY: Capability = Capability {
    name: "trace",
    modules: &[&rows::MODULE],
    sections: &[&SECTION],
    configure,
    ..Capability::EMPTY
};

fn configure(project: &ProjectSettings<'_>) -> Result<(), String> {
    project.resolve(&SECTION, TraceSettings::of).map(drop)
}
