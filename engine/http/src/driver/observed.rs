//! Observation of requests, for a handler that wants to know: see [`Observer`].
//!
//! Where the handler does not ask, all of this is `None`, and costs neither a reading of the clock nor memory.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

use crate::answer::{Observer, RequestOutcome};

/// The status of a request whose client left before it was answered, as nginx counts it.
const CLIENT_LEFT: u16 = 499;

/// A request with an observer; `None` without one. Dropped without an answer, it tells that the client left.
pub(super) type Observed = Option<PendingOutcome>;

pub(super) struct PendingOutcome {
    observer: Option<Rc<dyn Observer>>,
    begun: Instant,
}

impl PendingOutcome {
    pub(super) fn new(observer: Rc<dyn Observer>) -> PendingOutcome {
        let begun = Instant::now();
        observer.begun(begun);
        PendingOutcome {
            observer: Some(observer),
            begun,
        }
    }

    /// Reports whether the observer is told of bytes.
    pub(super) fn counts_bytes(&self) -> bool {
        let observer = self.observer.as_ref();
        observer.is_some_and(|observer| observer.counts_bytes())
    }

    /// Returns the observer, as long as it has not been notified.
    pub(super) fn observer(&self) -> Option<Rc<dyn Observer>> {
        self.observer.clone()
    }

    /// The server itself ends before it has answered.
    pub(super) fn tell_cut(&mut self) {
        self.tell(503, 0, false);
    }

    /// Tells the outcome, unless one has been told.
    pub(super) fn tell(&mut self, status: u16, body_bytes: u64, is_whole: bool) {
        if let Some(observer) = self.observer.take() {
            observer.done(&RequestOutcome {
                status,
                body_bytes,
                elapsed: self.begun.elapsed(),
                is_whole,
            });
        }
    }
}

impl Drop for PendingOutcome {
    fn drop(&mut self) {
        self.tell(CLIENT_LEFT, 0, false);
    }
}

/// An answer that is on its way, by its place among all bytes of the connection.
struct Sending {
    pending: PendingOutcome,
    status: u16,
    /// The beginning of its body, if the observer is told of bytes.
    body_from: Option<u64>,
    /// The end of its bytes; `None` while it is streamed.
    until: Option<u64>,
}

impl Sending {
    fn tell(mut self, sent: u64, is_whole: bool) {
        let end = self.until.map_or(sent, |until| until.min(sent));
        let body_bytes = self.body_from.map(|from| end.saturating_sub(from));
        let body_bytes = body_bytes.unwrap_or_default();
        self.pending.tell(self.status, body_bytes, is_whole);
    }
}

/// The observed answers of a connection, in their order.
#[derive(Default)]
pub(super) struct Answers {
    /// The first of them. Mostly there is no other, so that it needs no memory of its own.
    first: Option<Sending>,
    others: VecDeque<Sending>,
}

impl Answers {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// An answer was serialised: its body begins at `body_from` and ends at `until`, where these are known.
    #[inline]
    pub(super) fn begin(
        &mut self,
        pending: PendingOutcome,
        status: u16,
        body_from: Option<u64>,
        until: Option<u64>,
    ) {
        let sending = Sending {
            pending,
            status,
            body_from,
            until,
        };
        match self.first {
            None => self.first = Some(sending),
            Some(_) => self.others.push_back(sending),
        }
    }

    /// The answer that is streamed ends here.
    pub(super) fn end_stream(&mut self, until: u64) {
        if let Some(last) = self.others.back_mut().or(self.first.as_mut()) {
            last.until = Some(until);
        }
    }

    /// So many bytes have been sent.
    pub(super) fn sent(&mut self, sent: u64) {
        let is_whole = |first: &mut Sending| first.until.is_some_and(|until| until <= sent);
        while let Some(first) = self.first.take_if(is_whole) {
            self.first = self.others.pop_front();
            first.tell(sent, true);
        }
        if self.others.is_empty() && self.others.capacity() > 0 {
            // An idle connection owns nothing.
            self.others = VecDeque::new();
        }
    }

    /// The connection ends, and with it what has not been sent whole.
    pub(super) fn cut(&mut self, sent: u64) {
        for answer in self.first.take().into_iter().chain(self.others.drain(..)) {
            answer.tell(sent, false);
        }
    }
}
