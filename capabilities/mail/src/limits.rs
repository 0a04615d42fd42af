//! Limits of this capability.

use std::time::Duration;

/// The default size of a mail, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// The default time for a step of a delivery: to connect, and for each answer of the server.
pub(crate) const TIMEOUT_MILLIS: u64 = 30_000;
/// The default number of attempts to deliver a mail.
pub(crate) const ATTEMPTS_MAX: u64 = 10;
/// The pause before the second attempt to deliver a mail; it doubles from one to the next.
pub(crate) const PAUSE: Duration = Duration::from_secs(10);
/// The most steps of an attempt beside one for each address: to connect, and the answers of the server.
pub(crate) const STEPS_MAX: u32 = 20;
/// The most addresses of a mail.
pub(crate) const ADDRESSES_MAX: usize = 100;
/// The longest subject, and the longest value of a header field, in bytes.
pub(crate) const FIELD_BYTES_MAX: usize = 2000;
/// The most header fields that a script adds to a mail.
pub(crate) const FIELDS_MAX: usize = 50;
/// The most files of a mail: those that are attached, and the pictures.
pub(crate) const FILES_MAX: usize = 50;
/// The longest line of a text that is made from HTML before it is wrapped, in characters.
pub(crate) const WRAP_CHARS: usize = 78;
/// The deepest indentation of lists in a text that is made from HTML, in steps. Deeper lists have the same.
pub(crate) const INDENTS_MAX: usize = 10;
