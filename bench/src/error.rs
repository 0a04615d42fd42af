//! The error of a benchmark.

/// A sentence for the developer.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
