//! The span of a request's script.

use crate::answer::errors;
use crate::dispatch::exchange::DispatchedRequest;
use sampan_host::Error;
use sampan_host::trace::{OpenSpan, SpanKind};

impl DispatchedRequest {
    /// Opens the span, if spans of the request are recorded.
    #[inline]
    pub(super) fn open_script_span(&self) -> Option<OpenSpan> {
        let trace = self.view.record()?.trace()?;
        let is_recorded = trace.is_recorded();
        is_recorded.then(|| trace.open("script", SpanKind::Internal))
    }

    /// Ends the span of a script that has failed; a refusal is none of its failures.
    #[inline]
    pub(super) fn end_failed(&self, span: Option<OpenSpan>, error: &Error) {
        if let Some(mut span) = span
            && errors::is_logged(error.kind())
        {
            span.fail(error.message());
        }
    }
}
