//! The errors of work that a pool does not do.

use sampan_host::limits::{CANCELLED, CLOSED};
use sampan_host::{Error, ErrorKind};
use std::fmt;

/// The reason why a pool does not take a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The pool is full: as many wait or run as may.
    Full,
    /// The pool has been stopped.
    Stopped,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the queue of the scripts is full",
            Self::Stopped => "the scripts have been stopped",
        })
    }
}

impl std::error::Error for Refused {}

/// The error of cancelled work.
pub(super) fn cancelled() -> Error {
    let text = "given up: its caller no longer waits for it";
    Error::new(ErrorKind::Unavailable, text).with_code(CANCELLED)
}

/// The error of work whose pool ended.
pub(super) fn stopped() -> Error {
    Error::new(ErrorKind::Unavailable, "the scripts have been stopped").with_code(CLOSED)
}
