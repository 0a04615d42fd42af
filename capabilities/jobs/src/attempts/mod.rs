//! Attempts to do a job: the object that its function is given, and the threads that make them.

pub(crate) mod object;
mod traced;
pub(crate) mod worker;
