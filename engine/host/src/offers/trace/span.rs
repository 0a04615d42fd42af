//! A span that has ended, and the trait of what takes those of a trace.

use super::ids::{SpanId, TraceId};
use std::borrow::Cow;

/// The attributes of a span.
pub type Attributes = Vec<(Cow<'static, str>, AttributeValue)>;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A boolean.
    Bool(bool),
}

/// The side of a call that a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work inside of the server.
    Internal,
    /// The answer to a request.
    Server,
    /// A request to another server, or a statement.
    Client,
    /// The run of a job.
    Consumer,
}

/// The outcome of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpanStatus {
    /// Success, or nothing that is known.
    #[default]
    Unset,
    /// A failure, with a text that may be empty.
    Error(String),
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The id.
    pub id: SpanId,
    /// The span around it, here or on the server that called.
    pub parent: Option<SpanId>,
    /// The name.
    pub name: Cow<'static, str>,
    /// The kind.
    pub kind: SpanKind,
    /// The beginning, in nanoseconds since 1970.
    pub start_nanos: u64,
    /// The end, in nanoseconds since 1970.
    pub end_nanos: u64,
    /// The attributes.
    pub attributes: Attributes,
    /// The outcome.
    pub status: SpanStatus,
}

/// Spans of one trace that have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedSpans {
    /// The trace.
    pub trace: TraceId,
    /// The `tracestate` of the caller.
    pub state: Option<Box<str>>,
    /// The spans.
    pub spans: Vec<Span>,
}

/// Takes the spans of all workers. It must not wait: it is called between the requests of a worker.
pub trait SpanSink: Send + Sync {
    /// Takes spans, or drops and counts them where there is no room.
    fn take(&self, finished: FinishedSpans);
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}
