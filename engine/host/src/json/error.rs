//! Texts that are not JSON.

use crate::error::{Error, ErrorKind};
use std::fmt;

/// A text that is not JSON, or nests too deeply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The fault, in a few words.
    pub message: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid JSON: {} at line {}, column {}",
            self.message, self.line, self.column
        )
    }
}

impl std::error::Error for JsonError {}

/// Returns the error that answers a body that is not JSON.
#[cold]
pub fn bad_json(error: &JsonError) -> Error {
    Error::new(ErrorKind::BadRequest, error.to_string())
}
