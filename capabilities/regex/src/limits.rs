//! Limits of regular expressions.

/// The longest pattern, in bytes.
pub(crate) const PATTERN_BYTES_MAX: usize = 16 * 1024;
/// The most that a compiled pattern takes, in bytes.
pub(crate) const COMPILED_BYTES_MAX: usize = 512 * 1024;
/// The most that a compiled pattern keeps of what it has learned about texts, in bytes.
pub(crate) const LEARNED_BYTES_MAX: usize = 512 * 1024;
/// The greatest depth to which groups may nest.
pub(crate) const NESTED_GROUPS_MAX: u32 = 100;
/// A pattern that takes no more than this when it is compiled, in bytes, takes no long time for any text.
pub(crate) const SMALL_BYTES_MAX: usize = 4 * 1024;
/// The length of the pieces of a text on which a larger pattern is tried, in bytes.
pub(crate) const TRIED_BYTES: usize = 4 * 1024;
/// The longest text that is searched, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// The longest text that a replacement makes, in bytes.
pub(crate) const REPLACED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The number of matches or pieces that one call gives.
pub(crate) const MATCHES_MAX: usize = 100_000;
/// The longest time that one call may search, in milliseconds. Looked at between two matches, and between two pieces of
/// a text on which a pattern is tried.
pub(crate) const SEARCH_MILLIS_MAX: u128 = 200;
/// The number of compiled patterns that an isolate keeps.
pub(crate) const COMPILED_PATTERNS_MAX: usize = 64;
