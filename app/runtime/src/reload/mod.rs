//! Loading the project anew while it is served: for `SIGHUP`, for `sampan reload`, and for `sampan dev`.
//!
//! A [`Generation`] is the project as it was read at one time. A reload has two steps (`swap`). Each worker loads an
//! isolate of the new generation beside the one that serves; when all of them have, each answers with the new one.
//! Where one fails, all drop what they loaded, and nothing has changed. An old isolate ends after its last request
//! (`retiring`). With `mode = "file"` requests notice changes themselves (`file_mode`): of the files that were read
//! (`seen_files`), at which they look from time to time (`followed_files`).

mod control;
mod file_mode;
mod followed_files;
mod requests;
mod retiring;
mod seen_files;
mod swap;

pub use control::{ReloadAnswer, reload_servers};
pub use swap::{Reloaded, Reloader};

pub(crate) use control::{listen, server_pids};
pub(crate) use file_mode::{FileModeHandler, ScriptFiles};
pub(crate) use followed_files::FollowedFiles;
pub(crate) use requests::{ReloadInbox, ReloadOutcome, ReloadRequests};
pub(crate) use retiring::{Retiring, retire, stop};
pub(crate) use seen_files::SeenFiles;
pub(crate) use swap::Order;

use crate::app_config::AppConfig;
use crate::process_parts::ProcessParts;
use std::sync::Arc;

/// The project as it was read at one time. All workers serve the same one.
pub(crate) struct Generation {
    pub(crate) config: Arc<AppConfig>,
    pub(crate) parts: ProcessParts,
}
