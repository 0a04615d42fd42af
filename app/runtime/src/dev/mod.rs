//! `sampan dev`: serves a project while it is written.
//!
//! A watcher (`watch`) tells what was saved; the project is loaded anew by the same mechanism as for `sampan reload`.
//! Pages in the browser hear of it by server-sent events (`browser`), which a handler of its own answers before the
//! project's (`handler`). Errors become pages (`page`). What a request cost is written for each (`trace`). Nothing of
//! this is on the way of a request of `sampan run`.

mod browser;
mod errors;
mod handler;
mod hosts;
mod loaded_scripts;
mod own_pages;
mod page;
mod plans;
mod policy;
mod poll;
mod reset;
mod run;
mod settings;
mod trace;
mod watch;

pub use run::{DevFlags, run as dev};

pub(crate) use errors::DevErrors;
pub(crate) use handler::DevHandler;
pub(crate) use settings::{DevSettings, SECTION};

use browser::Browsers;
use loaded_scripts::LoadedScripts;
use own_pages::OwnPages;
use plans::Plans;
use sampan_log::Logger;
use std::path::PathBuf;

/// The state that the workers of `sampan dev` share.
pub(crate) struct Dev {
    /// The project's folder.
    pub(crate) root: PathBuf,
    pub(crate) settings: DevSettings,
    pub(crate) logger: Logger,
    browsers: Browsers,
    own_pages: OwnPages,
    scripts: LoadedScripts,
    plans: Plans,
}

impl std::fmt::Debug for Dev {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dev")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}
