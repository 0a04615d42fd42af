//! The traces in which jobs were added.

use super::Desk;
use crate::limits::TRACES_MAX;
use sampan_host::trace::RemoteParent;
use std::sync::PoisonError;

impl Desk {
    /// Keeps the trace of the request that has added a job.
    pub(crate) fn keep_trace(&self, id: i64, parent: RemoteParent) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.insert(id, parent);
        if traces.len() > TRACES_MAX {
            traces.pop_first();
        }
    }

    /// Returns the trace of the request that has added a job, if that was in this process.
    pub(crate) fn trace_of(&self, id: i64) -> Option<RemoteParent> {
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.get(&id).cloned()
    }
}
