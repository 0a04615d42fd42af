//! Reports of crashes: text files about a signal that ends the server, or a panic that it survives. Nothing is sent
//! anywhere. The route is told as it is declared, so a report has no data of clients, unless the text of a panic has.

mod handler;
mod panics;
mod report;

use report::Facts;
use sampan_runtime::AppConfig;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::OnceLock;

/// Writes reports from now on, where the configuration wants any. To be called before the process confines itself and
/// before it has threads; only the first call has an effect.
pub(crate) fn watch(config: &AppConfig) {
    static FACTS: OnceLock<Option<Facts>> = OnceLock::new();
    let folder = config.crash_folder();
    let facts = FACTS.get_or_init(|| Facts::new(folder.as_deref().unwrap_or(Path::new(""))));
    if let (Some(_), Some(facts)) = (folder, facts) {
        make_parent(facts.folder());
        report::remove_old(facts.folder());
        handler::install(facts);
        panics::install(facts);
    }
}

/// Makes the folders above that of the reports, which is made with the first report. Where they cannot be made, there
/// are no reports.
fn make_parent(folder: &Path) {
    if let Some(parent) = folder.parent() {
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(parent);
    }
}
