//! Traces as the rest of the server sees them: the spans of a request, across the parts of the server and between
//! servers (W3C Trace Context).
//!
//! A worker has a [`Tracer`] where traces are on. A request or a job has a [`Trace`] in its [`Store`](crate::Store), so
//! spans belong to the request and never to a thread. [`CurrentRun::trace`](crate::CurrentRun::trace) returns that of
//! the run that goes on. Finished spans go to a [`SpanSink`].

mod chain;
mod ids;
mod parent;
mod span;
mod statement;
mod tracer;
mod traces;

pub use chain::{ChainSpans, ChainStep};
pub use ids::{SpanId, TraceId, TraceIds};
pub use parent::RemoteParent;
pub use span::{AttributeValue, Attributes, FinishedSpans, Span, SpanKind, SpanSink, SpanStatus};
pub use statement::{operation, without_values};
pub use tracer::{Tracer, Tracing};
pub use traces::{OpenSpan, Trace};
