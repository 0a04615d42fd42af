//! Answers that no handler has made, and the log of errors.

pub(crate) mod error_log;
pub(crate) mod errors;
