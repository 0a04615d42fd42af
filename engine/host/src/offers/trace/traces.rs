//! The trace of one request or job, with the spans that were recorded of it.

use super::ids::{SpanId, TraceId, TraceIds};
use super::parent::RemoteParent;
use super::span::{Attributes, FinishedSpans, Span, SpanKind, SpanStatus};
use super::tracer::Tracer;
use crate::request::RequestView;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The most spans of one trace that are recorded; more are counted.
const SPANS_MAX: usize = 1_000;

/// The trace of one request or job. Clones are the same one.
#[derive(Clone)]
pub struct Trace(Rc<TraceState>);

struct TraceState {
    tracer: Rc<Tracer>,
    id: TraceId,
    /// The span of the request itself.
    root: SpanId,
    /// The span of the caller.
    parent: Option<SpanId>,
    state: Option<Box<str>>,
    is_sampled: bool,
    /// True if another worker ends the span of the request itself.
    is_apart: bool,
    begun: Instant,
    begun_nanos: u64,
    spans: RefCell<Vec<Span>>,
    /// The number of spans that are in `spans`, or will be once they end.
    places: Cell<usize>,
    /// The spans that are open, the innermost last.
    open: RefCell<Vec<SpanId>>,
    dropped: Cell<i64>,
    fate: Cell<Fate>,
}

/// The decision about the spans of a trace.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// The request goes on.
    Open,
    Kept,
    Dropped,
}

impl Trace {
    /// Begins the trace of a request that arrives, within that of its caller.
    pub fn begin(tracer: &Rc<Tracer>, parent: Option<RemoteParent>) -> Self {
        match parent {
            Some(RemoteParent {
                trace,
                span,
                is_sampled,
                state,
            }) => Self::new(
                tracer,
                (trace, is_sampled),
                tracer.span_id(),
                Some(span),
                state,
            ),
            None => {
                let id = tracer.trace_id();
                Self::new(
                    tracer,
                    (id, tracer.samples(id)),
                    tracer.span_id(),
                    None,
                    None,
                )
            }
        }
    }

    /// Continues the trace of a request on another worker, which ends the request's own span.
    pub fn apart(tracer: &Rc<Tracer>, of: RemoteParent) -> Self {
        let mut trace = Self::new(tracer, (of.trace, of.is_sampled), of.span, None, of.state);
        if let Some(state) = Rc::get_mut(&mut trace.0) {
            state.is_apart = true;
        }
        trace
    }

    fn new(
        tracer: &Rc<Tracer>,
        (id, is_sampled): (TraceId, bool),
        root: SpanId,
        parent: Option<SpanId>,
        state: Option<Box<str>>,
    ) -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self(Rc::new(TraceState {
            tracer: Rc::clone(tracer),
            id,
            root,
            parent,
            state,
            is_sampled,
            is_apart: false,
            begun: Instant::now(),
            begun_nanos: now.as_nanos() as u64,
            spans: RefCell::default(),
            places: Cell::new(0),
            open: RefCell::default(),
            dropped: Cell::new(0),
            fate: Cell::new(Fate::Open),
        }))
    }

    /// Returns the trace of a request, if there is one.
    pub fn of(request: &dyn RequestView) -> Option<Self> {
        request.store().get::<Self>().map(|trace| (*trace).clone())
    }

    /// Returns the ids for a line of the log about a request.
    pub fn ids_of(request: &dyn RequestView) -> Option<TraceIds> {
        request.store().get::<Self>().map(|trace| trace.ids())
    }

    /// Returns the ids for a line of the log.
    pub fn ids(&self) -> TraceIds {
        TraceIds {
            trace: self.0.id,
            span: self.innermost(),
        }
    }

    /// Reports whether spans are recorded: the trace is sampled, or kept if it turns out slow.
    #[inline]
    pub fn is_recorded(&self) -> bool {
        match self.0.fate.get() {
            Fate::Open => self.0.is_sampled || self.0.tracer.tracing().slow.is_some(),
            Fate::Kept => true,
            Fate::Dropped => false,
        }
    }

    /// Returns the innermost open span as the parent of what another server, worker or run does.
    pub fn as_parent(&self) -> RemoteParent {
        self.parent_of(self.innermost())
    }

    fn parent_of(&self, span: SpanId) -> RemoteParent {
        RemoteParent {
            trace: self.0.id,
            span,
            is_sampled: self.0.is_sampled,
            state: self.0.state.clone(),
        }
    }

    fn innermost(&self) -> SpanId {
        self.0.open.borrow().last().copied().unwrap_or(self.0.root)
    }

    /// Opens a span; spans that begin from now on are within it, until it ends.
    pub fn open(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> OpenSpan {
        let span = self.open_beside(name, kind);
        self.0.open.borrow_mut().push(span.id);
        span
    }

    /// Opens a span that no other is within: what goes on while the script does something else.
    pub fn open_beside(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> OpenSpan {
        OpenSpan {
            parent: self.innermost(),
            id: self.0.tracer.span_id(),
            trace: self.clone(),
            name: name.into(),
            kind,
            begun: Instant::now(),
            attributes: Vec::new(),
            status: SpanStatus::Unset,
            has_place: self.take_place(),
        }
    }

    /// Takes a place among the spans of the trace. A span takes it when it begins: so one that is dropped for want of a
    /// place has nothing within it that is kept.
    fn take_place(&self) -> bool {
        let places = self.0.places.get();
        self.0.places.set((places + 1).min(SPANS_MAX));
        places < SPANS_MAX
    }

    /// Records a span that began then and ends now.
    pub fn add(
        &self,
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        begun: Instant,
        attributes: Attributes,
    ) {
        if !self.is_recorded() {
            return;
        }
        let span = Span {
            id: self.0.tracer.span_id(),
            parent: Some(self.innermost()),
            name: name.into(),
            kind,
            start_nanos: self.nanos(begun),
            end_nanos: self.nanos(Instant::now()),
            attributes,
            status: SpanStatus::Unset,
        };
        self.record(span, self.take_place());
    }

    /// Returns a time in nanoseconds since 1970, by the clock that never goes back.
    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.0.begun);
        let before = self.0.begun.saturating_duration_since(at);
        self.0.begun_nanos + nanos_of(since) - nanos_of(before)
    }

    fn record(&self, span: Span, has_place: bool) {
        let state = &self.0;
        match state.fate.get() {
            Fate::Dropped => {}
            // Work that goes on after the answer.
            Fate::Kept => self.send(vec![span]),
            Fate::Open if has_place => state.spans.borrow_mut().push(span),
            Fate::Open => state.dropped.set(state.dropped.get() + 1),
        }
    }

    fn send(&self, spans: Vec<Span>) {
        self.0.tracer.tracing().sink.take(FinishedSpans {
            trace: self.0.id,
            state: self.0.state.clone(),
            spans,
        });
    }

    /// Ends the request: its spans are kept, or dropped. `describe` gives the request's own name, attributes and
    /// status, where they are needed.
    pub fn finish(
        &self,
        kind: SpanKind,
        describe: impl FnOnce() -> (String, Attributes, SpanStatus),
    ) {
        let state = &self.0;
        if state.fate.get() != Fate::Open {
            return;
        }
        let slow = state.tracer.tracing().slow;
        let is_slow = || slow.is_some_and(|slow| state.begun.elapsed() >= slow);
        if !state.is_sampled && !is_slow() {
            state.fate.set(Fate::Dropped);
            state.spans.take();
            return;
        }
        let mut spans = state.spans.take();
        if !state.is_apart {
            let (name, mut attributes, status) = describe();
            if state.dropped.get() > 0 {
                let dropped = state.dropped.get().into();
                attributes.push((Cow::Borrowed("sampan.dropped_spans"), dropped));
            }
            spans.push(Span {
                id: state.root,
                parent: state.parent,
                name: name.into(),
                kind,
                start_nanos: state.begun_nanos,
                end_nanos: self.nanos(Instant::now()),
                attributes,
                status,
            });
        }
        state.fate.set(Fate::Kept);
        if !spans.is_empty() {
            self.send(spans);
        }
    }
}

fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A span that is open. It ends when it is dropped.
pub struct OpenSpan {
    trace: Trace,
    id: SpanId,
    parent: SpanId,
    name: Cow<'static, str>,
    kind: SpanKind,
    begun: Instant,
    attributes: Attributes,
    status: SpanStatus,
    /// True if the trace has a place for it.
    has_place: bool,
}

impl OpenSpan {
    /// Returns the span as the parent of what another server does.
    pub fn as_parent(&self) -> RemoteParent {
        self.trace.parent_of(self.id)
    }

    /// Adds attributes.
    pub fn add(&mut self, attributes: Attributes) {
        self.attributes.extend(attributes);
    }

    /// Marks the span as failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.status = SpanStatus::Error(text.into());
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.trace.0.open.borrow_mut().retain(|id| *id != self.id);
        if !self.trace.is_recorded() {
            return;
        }
        let span = Span {
            id: self.id,
            parent: Some(self.parent),
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            start_nanos: self.trace.nanos(self.begun),
            end_nanos: self.trace.nanos(Instant::now()),
            attributes: std::mem::take(&mut self.attributes),
            status: std::mem::take(&mut self.status),
        };
        self.trace.record(span, self.has_place);
    }
}
