//! Handlers that wait, in coroutines.

pub(crate) mod gather;
pub(crate) mod gathered;
pub(crate) mod suspend;
