//! The limits of statements and their values.

/// The longest statement.
pub(crate) const SQL_BYTES_MAX: usize = 1024 * 1024;

/// The largest text or blob, and the largest row. A function that makes one (`printf`, `hex`, `randomblob`) is not
/// interrupted meanwhile, which takes some 100 ms.
pub(crate) const VALUE_BYTES_MAX: i32 = 16 * 1024 * 1024;
/// The longest pattern of LIKE and GLOB. One comparison is not interrupted and takes time in proportion to the pattern
/// and to the text: with 1 MiB of text made for it, some 250 ms. A function of our own would not be slow, nor would it
/// use an index.
pub(crate) const PATTERN_BYTES_MAX: usize = 128;
