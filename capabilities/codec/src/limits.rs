//! Limits of this capability.

/// The default of the largest result of inflating, in bytes: 16 MiB.
pub(crate) const INFLATED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The data that is compressed or inflated between two looks at the time limit of the script, in bytes.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;
/// The longest URL or query that is read, in bytes.
pub(crate) const URL_BYTES_MAX: usize = 64 * 1024;
