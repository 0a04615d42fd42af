//! Promises of what capabilities do asynchronously, and handlers that wait.

pub(crate) mod background;
pub(crate) mod promise;
pub(crate) mod suspend;
pub(crate) mod tasks;
