//! The spans of a request's script: one around all of it, and one for each function of its chain.

use crate::answer::errors;
use crate::dispatch::exchange::DispatchedRequest;
use sampan_host::trace::{ChainSpans, OpenSpan, SpanKind, Trace};
use sampan_host::{Error, HandlerId};
use std::rc::Rc;

/// The spans of a script that runs. They end when this is dropped.
pub(super) struct ScriptSpan {
    span: OpenSpan,
    chain: Option<Rc<ChainSpans>>,
}

impl ScriptSpan {
    /// Reports whether the functions of the chain have spans.
    pub(super) fn has_chain(&self) -> bool {
        self.chain.is_some()
    }

    fn fail(mut self, error: &Error) {
        if let Some(chain) = self.chain.take() {
            chain.end(Some(error.message()));
        }
        self.span.fail(error.message());
    }
}

impl Drop for ScriptSpan {
    fn drop(&mut self) {
        if let Some(chain) = self.chain.take() {
            chain.end(None);
        }
    }
}

impl DispatchedRequest {
    /// Returns the trace of the request, if spans are recorded.
    #[inline]
    pub(super) fn recorded(&self) -> Option<Trace> {
        let trace = self.view.record()?.trace()?;
        trace.is_recorded().then_some(trace)
    }

    /// Opens the span of the script, if spans of the request are recorded.
    #[inline]
    pub(super) fn open_script_span(&self, middleware: &[HandlerId]) -> Option<ScriptSpan> {
        let trace = self.recorded()?;
        let span = trace.open("script", SpanKind::Internal);
        // Without middleware the handler is all of the script.
        let chain = (!middleware.is_empty()).then(|| {
            let chain = middleware.iter().copied().chain(self.end.handler());
            ChainSpans::begin(&*self.view, &trace, self.loaded.steps.steps(chain))
        });
        Some(ScriptSpan { span, chain })
    }

    /// Ends the span of a script that has failed; a refusal is none of its failures.
    #[inline]
    pub(super) fn end_failed(&self, span: Option<ScriptSpan>, error: &Error) {
        if let Some(span) = span
            && errors::is_logged(error.kind())
        {
            span.fail(error);
        }
    }
}
