//! The terminal: colour, texts of others, lines that are typed, and what Ctrl-C does.

pub(crate) mod escaped;
pub(crate) mod paint;
pub(crate) mod print;
pub(crate) mod prompt;
pub(crate) mod signals;
