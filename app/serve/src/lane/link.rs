//! The state that the two ends of a request in the slow lane share beside its answer.

use sampan_host::{StopCause, Watch};
use sampan_http::codec::Exceeded;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// True if its runs are stopped once no client waits: it only reads.
    is_stoppable: bool,
    /// The run that goes on, if a run goes on and the request was not given up.
    run: Mutex<LaneRunState>,
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
            is_stoppable: false,
            run: Mutex::default(),
            connection: Mutex::default(),
            isolate: Mutex::default(),
        }
    }
}

/// The run of a request in its isolate.
#[derive(Default)]
struct LaneRunState {
    is_given_up: bool,
    /// The stopwatch of the isolate while it runs scripts of the request.
    watch: Option<Arc<Watch>>,
}

impl fmt::Debug for LaneRunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_running = self.watch.is_some();
        f.debug_struct("LaneRunState")
            .field("is_given_up", &self.is_given_up)
            .field("is_running", &is_running)
            .finish()
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
    /// Creates the link of a request, whose runs are stopped when it is given up if it only reads.
    pub(crate) fn new(only_reads: bool) -> Self {
        Self {
            is_stoppable: only_reads,
            ..Self::default()
        }
    }

    fn lock_run(&self) -> MutexGuard<'_, LaneRunState> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection waits no more. A run that goes on is stopped, where that leaves nothing half done.
    pub(crate) fn give_up(&self) {
        let mut run = self.lock_run();
        run.is_given_up = true;
        let watch = run.watch.as_ref().filter(|_| self.is_stoppable);
        if let Some(watch) = watch {
            let epoch = watch.epoch();
            if epoch & 1 == 1 {
                watch.stop_for(epoch, StopCause::GivenUp);
            }
        }
    }

    /// Runs a part of the request in its isolate, whose stopwatch is `watch`. Returns `None` with nothing done if the
    /// request was given up.
    pub(crate) fn during<T>(&self, watch: &Arc<Watch>, run: impl FnOnce() -> T) -> Option<T> {
        {
            let mut state = self.lock_run();
            if state.is_given_up {
                return None;
            }
            state.watch = Some(Arc::clone(watch));
        }
        let done = run();
        self.lock_run().watch = None;
        Some(done)
    }

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
