//! Errors of applying a migration, with the place in its file.

use super::files::{File, fault};
use super::split::SplitError;
use sampan_host::Error;
use sampan_host::statement_text::position;

/// An error that concerns the file as a whole.
pub(super) fn failed(file: &File, message: &str) -> Error {
    fault(format!(
        "{}: {message}; nothing of it was applied",
        file.path.display()
    ))
}

/// An error at a place in the file.
pub(super) fn failed_at(file: &File, at: &SplitError) -> Error {
    let (start_line, _) = position(&file.text, at.start);
    let (line, column) = position(&file.text, at.place.unwrap_or(at.start));
    let statement = if line == start_line {
        String::new()
    } else {
        format!(" (in the statement that begins in line {start_line})")
    };
    fault(format!(
        "{}:{line}:{column}: {}{statement}; nothing of it was applied",
        file.path.display(),
        at.message
    ))
}
