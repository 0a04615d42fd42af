//! Handlers that wait, in coroutines.

pub(crate) mod suspend;
