//! Handlers that wait, and the promises and microtasks that they wait with.

pub(crate) mod suspend;
pub(crate) mod tasks;
pub(crate) mod thenable;
