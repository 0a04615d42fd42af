//! The limits of what scripts do with PostgreSQL.

/// The most statements of one batch: they are kept until it is sent.
pub(super) const BATCH_STATEMENTS_MAX: usize = 100_000;

/// The most bytes of the statements of one batch, with their parameters; also of those of a worker that are under way
/// outside of transactions.
pub(super) const STATEMENTS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The most bytes of the statements of one transaction that are under way, with their parameters.
pub(super) const TRANSACTION_BYTES_MAX: usize = 64 * 1024 * 1024;
