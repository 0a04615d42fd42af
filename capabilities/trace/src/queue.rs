//! The spans of all workers on their way to the exporter.

use crate::limits::{BATCH_SPANS, QUEUED_SPANS_MAX};
use sampan_host::trace::{FinishedSpans, SpanSink};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The queue of spans. Where it is full, those that come are dropped and counted.
#[derive(Default)]
pub(crate) struct SpanQueue {
    /// Workers hold it for a push alone.
    queued: Mutex<Queued>,
    /// Told when the first span comes, and when the process ends.
    pub(crate) arrived: Notify,
    /// Told when a batch is complete, and when the process ends.
    pub(crate) filled: Notify,
    /// Told when the process ends.
    ended: Notify,
}

#[derive(Default)]
struct Queued {
    finished: VecDeque<FinishedSpans>,
    spans: usize,
    dropped: u64,
    is_ending: bool,
}

impl SpanQueue {
    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes about as many spans as one request has; empty if none wait.
    pub(crate) fn batch(&self) -> Vec<FinishedSpans> {
        let mut queued = self.lock();
        let (mut batch, mut spans) = (Vec::new(), 0);
        while spans < BATCH_SPANS
            && let Some(finished) = queued.finished.pop_front()
        {
            spans += finished.spans.len();
            batch.push(finished);
        }
        queued.spans -= spans;
        batch
    }

    /// Counts spans that were dropped after they were taken.
    pub(crate) fn drop_spans(&self, spans: usize) {
        self.lock().dropped += spans as u64;
    }

    /// Returns the number of spans that were dropped since the last call.
    pub(crate) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.lock().dropped)
    }

    /// Takes note that the process ends.
    pub(crate) fn end(&self) {
        self.lock().is_ending = true;
        self.arrived.notify_one();
        self.filled.notify_one();
        self.ended.notify_waiters();
    }

    /// Waits until the process ends.
    pub(crate) async fn ended(&self) {
        // Is told from here on, also before it is polled.
        let ended = self.ended.notified();
        if !self.is_ending() {
            ended.await;
        }
    }

    /// Reports whether the process ends.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().is_ending
    }
}

impl SpanSink for SpanQueue {
    fn take(&self, finished: FinishedSpans) {
        let mut queued = self.lock();
        let spans = finished.spans.len();
        if queued.spans + spans > QUEUED_SPANS_MAX {
            queued.dropped += spans as u64;
            return;
        }
        let before = queued.spans;
        queued.spans += spans;
        queued.finished.push_back(finished);
        let after = queued.spans;
        drop(queued);
        if before == 0 {
            self.arrived.notify_one();
        }
        if before < BATCH_SPANS && after >= BATCH_SPANS {
            self.filled.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::trace::{Span, SpanId, SpanKind, SpanStatus, TraceId};

    fn finished(spans: usize) -> FinishedSpans {
        let span = Span {
            id: SpanId(1),
            parent: None,
            name: "x".into(),
            kind: SpanKind::Internal,
            start_nanos: 1,
            end_nanos: 2,
            attributes: Vec::new(),
            status: SpanStatus::Unset,
        };
        FinishedSpans {
            trace: TraceId(1),
            state: None,
            spans: vec![span; spans],
        }
    }

    #[test]
    fn spans_above_the_limit_are_dropped_and_counted() {
        let queue = SpanQueue::default();
        for _ in 0..QUEUED_SPANS_MAX / 64 {
            queue.take(finished(64));
        }
        assert_eq!(queue.take_dropped(), 0);
        queue.take(finished(3));
        assert_eq!((queue.take_dropped(), queue.take_dropped()), (3, 0));
        assert_eq!(queue.batch().len(), BATCH_SPANS / 64);
        queue.take(finished(3));
        assert_eq!(queue.take_dropped(), 0);
    }
}
