//! The project as it was read at one time, at start or by a reload.

use crate::app_config::AppConfig;
use crate::process_state::ProcessState;
use std::sync::Arc;

/// The project as it was read at one time. All workers serve the same one.
pub(crate) struct Generation {
    pub(crate) config: Arc<AppConfig>,
    pub(crate) state: ProcessState,
}
