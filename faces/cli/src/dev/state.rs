//! The state that the workers of `sampan dev` share.

use super::hints::Hints;
use super::loaded_scripts::LoadedScripts;
use super::pages::browser::Browsers;
use super::pages::own_pages::OwnPages;
use super::plans::Plans;
use super::previews::Previews;
use sampan_host::mails::Mailbox;
use sampan_log::Logger;
use sampan_project::config::DevSettings;
use std::path::PathBuf;
use std::sync::Arc;

/// The state that the workers of `sampan dev` share.
pub(super) struct Dev {
    /// The project's folder.
    pub(super) root: PathBuf,
    pub(super) settings: DevSettings,
    pub(super) logger: Logger,
    pub(super) browsers: Browsers,
    pub(super) own_pages: OwnPages,
    /// All mails of the project.
    pub(super) mails: Arc<Mailbox>,
    pub(super) previews: Arc<Previews>,
    pub(super) scripts: LoadedScripts,
    pub(super) plans: Plans,
    pub(super) hints: Hints,
}

impl std::fmt::Debug for Dev {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dev")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}
