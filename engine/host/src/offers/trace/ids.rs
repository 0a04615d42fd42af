//! The ids of traces and spans, which are shown as hexadecimal digits in lower case.

use std::fmt;

/// The id of a trace; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(pub u128);

/// The id of a span in its trace; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

/// The ids by which a line of the log is found beside a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIds {
    /// The trace.
    pub trace: TraceId,
    /// The span that was open.
    pub span: SpanId,
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
