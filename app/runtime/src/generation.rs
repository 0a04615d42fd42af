//! The project as it was read at one time, at start or by a reload.

use crate::app_config::AppConfig;
use crate::process_state::ProcessState;
use crate::reload::renewals::Renewals;
use std::sync::Arc;

/// The project as it was read at one time. All workers serve the same one.
pub(crate) struct Generation {
    pub(crate) config: Arc<AppConfig>,
    pub(crate) state: ProcessState,
    /// Its outcome in the isolates that load it when they have time.
    pub(crate) renewals: Renewals,
}

impl Generation {
    pub(crate) fn new(config: Arc<AppConfig>, state: ProcessState) -> Self {
        Self {
            config,
            state,
            renewals: Renewals::default(),
        }
    }
}
