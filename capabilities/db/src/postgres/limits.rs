//! The limits of what scripts do with PostgreSQL.

/// The most statements of one batch: they are kept until it is sent.
pub(super) const BATCH_STATEMENTS_MAX: usize = 100_000;
