//! The limits of statements and connections.

/// The longest statement.
pub(crate) const SQL_BYTES_MAX: usize = 1024 * 1024;

/// The longest statement that is kept, by workers and on connections.
pub(crate) const KEPT_SQL_BYTES_MAX: usize = 32 * 1024;

/// The longest message of PostgreSQL. The server's own limit of a row is a little lower.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// The most that the parameters of one statement may have.
pub(crate) const PARAMS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Statements that each worker keeps translated, with the types of their parameters and columns.
pub(crate) const KNOWN_STATEMENTS_MAX: usize = 1_000;

/// The longest message with lines of a COPY.
pub(crate) const COPY_PART_BYTES: usize = 1024 * 1024;

/// The most that a connection reads or writes before other tasks of its worker get their turn.
pub(crate) const TURN_BYTES_MAX: usize = 1024 * 1024;

/// Room that a connection keeps for what it reads.
pub(crate) const READ_BYTES: usize = 16 * 1024;

/// The number of times that a statement is run again after an error in which nothing was observed.
pub(crate) const RERUNS_MAX: usize = 5;

/// Statements that a connection has under way before another connection is taken for one that reads.
pub(crate) const PIPELINED_READS: usize = 8;
