//! The state of the slow lane that all threads share.

use super::limits::{WAITING_PER_ISOLATE_MAX, WAITING_PER_ISOLATE_MIN};
use super::settings::LaneSettings;
use crate::worker::queue::{Items, Next, Unqueued, WorkQueue};
use sampan_serve::admission::OverloadSettings;
use sampan_serve::lane::{LaneQueue, LaneRefusal, LaneRequest, LaneRoutes, Learned, SlowLane};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A message to the thread that looks after the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneChange {
    /// A route has moved from one lane to the other.
    Moved,
    /// The server ends.
    End,
}

impl Items for LaneQueue {
    type Item = LaneRequest;

    fn push(&mut self, request: LaneRequest) -> Option<LaneRequest> {
        LaneQueue::push(self, request)
    }

    fn pop(&mut self) -> Option<LaneRequest> {
        LaneQueue::pop(self)
    }
}

/// The slow lane of a server.
pub(crate) struct Lane {
    pub(crate) routes: LaneRoutes,
    /// The requests that wait for an isolate.
    pub(crate) queue: WorkQueue<LaneQueue>,
    pub(crate) isolates: usize,
    /// True from when isolates were asked for, until they could not be started.
    is_asked: AtomicBool,
    /// True from when isolates could not be started, until others could.
    has_failed: AtomicBool,
    changes: Sender<LaneChange>,
}

impl Lane {
    /// Creates the lane, with the receiver of its changes. No isolate has started.
    pub(crate) fn new(
        settings: LaneSettings,
        overload: Option<OverloadSettings>,
        learned: Vec<Learned>,
    ) -> (Self, Receiver<LaneChange>) {
        let (changes, receiver) = channel();
        let waiting_min = settings.isolates * WAITING_PER_ISOLATE_MIN;
        let waiting_max = settings.isolates * WAITING_PER_ISOLATE_MAX;
        let items = LaneQueue::new(overload, waiting_min, waiting_max);
        let lane = Self {
            routes: LaneRoutes::new(settings.slow_time, learned),
            queue: WorkQueue::new(items, settings.isolates),
            isolates: settings.isolates,
            is_asked: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            changes,
        };
        (lane, receiver)
    }

    /// Isolates have started, which take requests.
    pub(crate) fn open(&self) {
        self.is_asked.store(true, Ordering::Release);
        self.has_failed.store(false, Ordering::Release);
    }

    /// Isolates could not be started: takes no requests until others could, and tells the connections of those that
    /// wait that no answer comes.
    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::SeqCst);
        self.lose_waiting();
        self.is_asked.store(false, Ordering::Release);
    }

    fn lose_waiting(&self) {
        while let Some(Next::Item(request)) = self.queue.try_next() {
            request.link().lose();
        }
    }

    /// Tells the thread that looks after the lane of a change.
    pub(crate) fn tell(&self, change: LaneChange) {
        // It is gone where the server ends.
        let _ = self.changes.send(change);
    }
}

impl SlowLane for Lane {
    fn routes(&self) -> &LaneRoutes {
        &self.routes
    }

    fn is_open(&self) -> bool {
        !self.has_failed.load(Ordering::SeqCst)
    }

    fn submit(&self, request: LaneRequest) {
        // Where the queue is closed, the connection notices that its request is gone.
        if let Err(Unqueued::Full(refused)) = self.queue.push(request) {
            refused.refuse(LaneRefusal::Full);
        }
        // One that is woken may first go on with a request that computes, so the others look too.
        self.queue.wake_all();
        if !self.is_asked.swap(true, Ordering::AcqRel) {
            self.tell(LaneChange::Moved);
        }
        if !self.is_open() {
            // They have failed meanwhile.
            self.lose_waiting();
        }
    }

    fn moved(&self) {
        self.tell(LaneChange::Moved);
    }
}
