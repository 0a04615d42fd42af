//! An isolate of the slow lane: takes requests from the queue, one run at a time; those that wait go on between others.

use super::limits::{END_PAUSE, RENEW_WAIT_MAX};
use super::shared::Lane;
use crate::generation::Generation;
use crate::locks::lock;
use crate::worker::loader::Loader;
use crate::worker::queue::Next;
use sampan_serve::lane::{LaneLink, LaneRequest, SlowLane};
use sampan_serve::{Dispatch, answer_apart};
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;
use tokio::task::{JoinHandle, spawn_local, yield_now};

/// The state of an isolate for other threads.
#[derive(Default)]
pub(crate) struct IsolateState {
    /// True if the isolate could not be stopped, and another has its place.
    is_abandoned: AtomicBool,
    /// True if the isolate takes no more requests: others like it could not be started.
    is_ended: AtomicBool,
    /// The requests that it has taken.
    taken: Mutex<Vec<Weak<LaneLink>>>,
}

impl IsolateState {
    /// Gives the isolate up: the connections of its requests are told that no answer comes.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Release);
        let taken = std::mem::take(&mut *lock(&self.taken));
        for link in taken.iter().filter_map(Weak::upgrade) {
            link.lose();
        }
    }

    /// Has the isolate take no more requests, once it is woken. It goes on with those that it has.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
    }

    /// Takes note of a request. Returns false if the isolate was abandoned.
    fn take(&self, link: &Arc<LaneLink>) -> bool {
        let mut taken = lock(&self.taken);
        if taken.len().is_power_of_two() {
            taken.retain(|one| one.strong_count() > 0);
        }
        taken.push(Arc::downgrade(link));
        !self.is_abandoned()
    }

    fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::Acquire)
    }
}

/// The work of a thread of the slow lane.
pub(crate) struct LaneWork {
    pub(crate) lane: Arc<Lane>,
    pub(crate) state: Arc<IsolateState>,
    pub(crate) place: usize,
    /// Returns the generation that the server serves.
    pub(crate) serving: Box<dyn Fn() -> Arc<Generation> + Send>,
    /// The one that the isolate has loaded, or begun to load.
    pub(crate) loaded: Arc<Generation>,
    /// Loads that one where it takes long, and swaps to it. The isolate before answers meanwhile.
    pub(crate) loading: Option<JoinHandle<()>>,
}

impl LaneWork {
    /// Answers requests until the queue is closed.
    pub(crate) async fn run(mut self, loader: Rc<Loader>, dispatch: Rc<Dispatch>) {
        let running = Rc::new(Cell::new(0_usize));
        loop {
            let next = self.next().await;
            if self.state.is_abandoned() {
                // It came back to life after another took its place.
                if let Next::Item(request) = next {
                    request.link().lose();
                }
                return;
            }
            let request = match next {
                Next::Closed => break,
                Next::Woken => None,
                Next::Item(request) => Some(request),
            };
            self.renew(&loader).await;
            if let Some(request) = request {
                self.begin(request, &dispatch, &running);
                // It runs now, and then those that wait have their turn: timers, commits, earlier requests.
                yield_now().await;
            }
        }
        if let Some(loading) = self.loading.take() {
            // It ends soon in a server that ends, and then its `on_stop` is the one to run.
            let _ = loading.await;
        }
        // No connection waits any more: each notices that in its next turn.
        while running.get() > 0 {
            tokio::time::sleep(END_PAUSE).await;
        }
    }

    /// The next request. Reloads wake the isolate without one.
    async fn next(&self) -> Next<LaneRequest> {
        let mut is_waiting = false;
        poll_fn(|cx| {
            if self.state.is_ended.load(Ordering::Acquire) {
                // Another may wait at this place by now.
                return Poll::Ready(Next::Closed);
            }
            let next = self.lane.queue.poll_next(self.place, &mut is_waiting, cx);
            // A generation that came before it waited does not wake it.
            if next.is_pending() && self.is_behind() {
                self.lane.queue.leave(self.place);
                return Poll::Ready(Next::Woken);
            }
            next
        })
        .await
    }

    /// Reports whether there is a generation to load. One is loaded at a time.
    fn is_behind(&self) -> bool {
        let is_free = self.loading.as_ref().is_none_or(JoinHandle::is_finished);
        is_free && !Arc::ptr_eq(&(self.serving)(), &self.loaded)
    }

    /// Loads the generation that the server serves, if the isolate has another, and waits for it, but not for long.
    async fn renew(&mut self, loader: &Rc<Loader>) {
        if !self.is_behind() {
            return;
        }
        let wanted = (self.serving)();
        // Not tried again for each request.
        self.loaded = Arc::clone(&wanted);
        let (loader, lane) = (Rc::clone(loader), Arc::clone(&self.lane));
        let mut loading = spawn_local(async move {
            loader.renew(&wanted, "an isolate of slow routes").await;
            // There may be another generation by now.
            lane.queue.wake_all();
        });
        let waited = tokio::time::timeout(RENEW_WAIT_MAX, &mut loading).await;
        self.loading = waited.is_err().then_some(loading);
    }

    fn begin(&self, request: LaneRequest, dispatch: &Rc<Dispatch>, running: &Rc<Cell<usize>>) {
        if !self.state.take(request.link()) {
            return request.link().lose();
        }
        let lane = Arc::clone(&self.lane) as Arc<dyn SlowLane>;
        let answered = answer_apart(Rc::clone(dispatch), lane, request);
        running.set(running.get() + 1);
        let running = Rc::clone(running);
        drop(spawn_local(async move {
            answered.await;
            running.set(running.get() - 1);
        }));
    }
}
