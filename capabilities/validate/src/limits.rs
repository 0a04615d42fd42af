//! The limits of one validation.

/// The greatest depth to which objects and lists of a schema may nest.
pub(crate) const DEPTH_MAX: usize = 16;
/// The number of errors that are told: the rest of the data is not looked at then.
pub(crate) const ERRORS_MAX: usize = 100;
/// The number of patterns that an isolate keeps compiled.
pub(crate) const PATTERNS_MAX: usize = 256;
/// The maximum size of a compiled pattern may take, in bytes.
pub(crate) const PATTERN_BYTES_MAX: usize = 256 * 1024;
/// The longest text that is compared with a pattern, in bytes: time grows with both.
pub(crate) const PATTERN_TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest e-mail address, in bytes: RFC 3696, erratum 1690.
pub(crate) const EMAIL_BYTES_MAX: usize = 254;
