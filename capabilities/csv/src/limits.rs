//! The limits of one table of values.

use std::time::Duration;

/// The largest record that is read, in bytes without its quotes.
pub(crate) const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// The most fields that a record may have that is read: as many as a spreadsheet has columns.
pub(crate) const FIELDS_MAX: usize = 16_384;
/// The output that a writer keeps until it is taken, in bytes: it does not count as memory of the isolate.
pub(crate) const UNTAKEN_BYTES_MAX: usize = 1024 * 1024;
/// The time that the records of a body keep their worker at a time.
pub(crate) const TURN_MAX: Duration = Duration::from_millis(1);
