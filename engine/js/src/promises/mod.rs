//! Handlers that wait, and the promises and microtasks that they wait with.

pub(crate) mod births;
pub(crate) mod class_calls;
pub(crate) mod job_queue;
pub(crate) mod suspend;
pub(crate) mod tasks;
