//! Limits of this capability.

use std::time::Duration;

/// The most spans that wait to be sent.
pub(crate) const QUEUED_SPANS_MAX: usize = 8_192;
/// The spans of one request to the collector, and those of the trace that completes them.
pub(crate) const BATCH_SPANS: usize = 512;
/// The longest time that spans wait for others.
pub(crate) const BATCH_WAIT: Duration = Duration::from_secs(1);
/// The longest time of one request to the collector.
pub(crate) const SEND_TIME_MAX: Duration = Duration::from_secs(10);
/// The pause before spans are sent again, which doubles each time.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause before spans are sent again.
pub(crate) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// The time between two lines of the log about spans that are not taken.
pub(crate) const TELL_PAUSE: Duration = Duration::from_secs(60);
/// The longest time that the end of the process waits for the last spans to be sent.
pub(crate) const END_WAIT: Duration = Duration::from_secs(2);

/// The longest name of a span of a script, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 200;
/// The most attributes of a span of a script.
pub(crate) const ATTRIBUTES_MAX: usize = 32;
/// The longest text of an attribute, in characters. Longer ones are cut.
pub(crate) const TEXT_CHARS_MAX: usize = 1_000;
