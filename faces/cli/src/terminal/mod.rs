//! The terminal: colour, lines that are typed, and what Ctrl-C does.

pub(crate) mod paint;
pub(crate) mod prompt;
pub(crate) mod signals;
