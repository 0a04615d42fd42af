//! Lines on standard output, and counts in them.

use std::io::{self, Write};

/// A number of things, in words.
pub(crate) fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// Prints a line. That the reader has gone is not a fault: what was to be done is done.
pub(crate) fn say(line: impl std::fmt::Display) -> Result<(), String> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
