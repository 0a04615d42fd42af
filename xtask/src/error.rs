//! The error of a command.

/// A sentence for the developer.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
