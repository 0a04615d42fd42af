//! The tracer of a worker: which traces are kept, and new ids.

use super::ids::{SpanId, TraceId};
use super::span::SpanSink;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The random bits of an id by which a trace is sampled: the last 56 (W3C Trace Context, level 2, section 5.1).
const SAMPLED_BITS: u32 = 56;

/// The rules of traces, for all workers.
pub struct Tracing {
    /// The part of the traces that begin here which is kept, from 0 to 1.
    pub sample: f64,
    /// Requests that took at least so long are kept in any case.
    pub slow: Option<Duration>,
    /// Receives finished spans.
    pub sink: Arc<dyn SpanSink>,
}

/// The tracer of one worker.
pub struct Tracer {
    tracing: Arc<Tracing>,
    /// A trace is sampled if the random bits of its id are below.
    threshold: u64,
    /// Keys of the system's randomness, so that no id tells the next one.
    random: RandomState,
    made: Cell<u64>,
}

impl Tracer {
    /// Creates the tracer of a worker.
    pub fn new(tracing: Arc<Tracing>) -> Self {
        let share = tracing.sample.clamp(0.0, 1.0);
        Self {
            threshold: (share * (1_u64 << SAMPLED_BITS) as f64) as u64,
            tracing,
            random: RandomState::new(),
            made: Cell::new(0),
        }
    }

    /// Returns the rules.
    pub fn tracing(&self) -> &Tracing {
        &self.tracing
    }

    /// Returns a new id of a span.
    pub(super) fn span_id(&self) -> SpanId {
        let number = self.made.get();
        self.made.set(number.wrapping_add(1));
        SpanId(self.random.hash_one(number).max(1))
    }

    /// Returns a new id of a trace.
    pub(super) fn trace_id(&self) -> TraceId {
        let (high, low) = (self.span_id().0, self.span_id().0);
        TraceId(u128::from(high) << 64 | u128::from(low))
    }

    /// Reports whether a trace that begins here is kept.
    pub(super) fn samples(&self, trace: TraceId) -> bool {
        (trace.0 as u64) & ((1 << SAMPLED_BITS) - 1) < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offers::trace::FinishedSpans;

    struct Nowhere;

    impl SpanSink for Nowhere {
        fn take(&self, _: FinishedSpans) {}
    }

    #[test]
    fn keeps_the_part_that_is_asked_for() {
        let kept = |sample| {
            let tracer = Tracer::new(Arc::new(Tracing {
                sample,
                slow: None,
                sink: Arc::new(Nowhere),
            }));
            (0..4_000)
                .filter(|_| tracer.samples(tracer.trace_id()))
                .count()
        };
        assert_eq!((kept(0.0), kept(1.0)), (0, 4_000));
        let tenth = kept(0.1);
        assert!((250..600).contains(&tenth), "{tenth} of 4000");
    }
}
