//! The exporter of spans, as `[trace]` has it.

use crate::app_config::AppConfig;
use crate::database::backup;
use sampan_serve::fetch;
use sampan_trace::{Exporter, SECTION, TraceSettings};

/// Starts what sends the spans of all workers; `None` where nothing is traced.
///
/// # Errors
/// The settings are wrong, or the system has no thread left: one line that says what to do.
pub(crate) fn start(config: &AppConfig) -> Result<Option<Exporter>, String> {
    let section = config.base.sections.of(&SECTION);
    let settings = TraceSettings::of(&section).map_err(|fault| section.tell(&fault))?;
    let Some(settings) = settings else {
        return Ok(None);
    };
    let fetch = config.base.sections.of(&fetch::SECTION);
    let fetcher = backup::fetcher(fetch, config.base.project.root().to_owned())?;
    let logger = config.program.logger.clone();
    let log = Box::new(move |level, text: String| logger.text(level, text));
    let started = Exporter::start(settings, fetcher, log);
    let started = started.map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(Some(started))
}
