//! The state that the two ends of a request in the slow lane share beside its answer.

use sampan_http::codec::Exceeded;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};

/// The state of a request in the slow lane, for both threads.
#[derive(Debug)]
pub struct LaneLink {
    has_begun: AtomicBool,
    /// True if its isolate was abandoned: no answer comes.
    is_lost: AtomicBool,
    /// True if `handler_millis_max` has passed.
    is_overdue: AtomicBool,
    /// The time over which clients of a worker that ends should spread, in milliseconds; `u64::MAX` while it goes on.
    ends_over_millis: AtomicU64,
    /// The limit that has cut the answer's stream.
    cut: Mutex<Option<Exceeded>>,
    /// The tasks to wake: of the connection, and of the isolate.
    connection: Mutex<Option<Waker>>,
    isolate: Mutex<Option<Waker>>,
}

impl Default for LaneLink {
    fn default() -> Self {
        Self {
            has_begun: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            is_overdue: AtomicBool::new(false),
            ends_over_millis: AtomicU64::new(u64::MAX),
            cut: Mutex::default(),
            connection: Mutex::default(),
            isolate: Mutex::default(),
        }
    }
}

/// Has a task woken at the next change.
fn park(place: &Mutex<Option<Waker>>, cx: &Context<'_>) {
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if !place
        .as_ref()
        .is_some_and(|known| known.will_wake(cx.waker()))
    {
        *place = Some(cx.waker().clone());
    }
}

fn wake(place: &Mutex<Option<Waker>>) {
    let waker = place.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl LaneLink {
    /// Tells the connection that its isolate was abandoned.
    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
        wake(&self.connection);
    }

    /// Reports whether no answer comes. If one may, the connection's task is woken should that change.
    pub(crate) fn poll_lost(&self, cx: &Context<'_>) -> bool {
        park(&self.connection, cx);
        self.is_lost.load(Ordering::Acquire)
    }

    /// An isolate has begun to answer.
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    /// The connection gives the request up because it is late. To be called before it stops to wait for the answer.
    pub(crate) fn set_overdue(&self) {
        self.is_overdue.store(true, Ordering::Release);
    }

    pub(crate) fn is_overdue(&self) -> bool {
        self.is_overdue.load(Ordering::Acquire)
    }

    /// The connection's worker is about to end.
    pub(crate) fn end_over(&self, millis: u64) {
        if self.ends_over_millis.swap(millis, Ordering::AcqRel) != millis {
            wake(&self.isolate);
        }
    }

    /// Returns the time over which clients should spread, once the connection's worker is about to end. The isolate's
    /// task is woken then.
    pub(crate) fn poll_end(&self, cx: &Context<'_>) -> Option<u64> {
        park(&self.isolate, cx);
        let millis = self.ends_over_millis.load(Ordering::Acquire);
        (millis != u64::MAX).then_some(millis)
    }

    /// The connection drops the stream because it is above a limit. To be called before it stops to read.
    pub(crate) fn cut(&self, limit: Exceeded) {
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
    }

    pub(crate) fn cut_by(&self) -> Option<Exceeded> {
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
