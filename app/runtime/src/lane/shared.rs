//! The state of the slow lane that all threads share.

use super::limits::WAITING_PER_ISOLATE_MAX;
use super::settings::LaneSettings;
use crate::worker::queue::WorkQueue;
use sampan_serve::lane::{LaneFull, LaneRequest, LaneRoutes, Learned, SlowLane};
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

/// The slow lane of a server.
pub(crate) struct Lane {
    pub(crate) routes: LaneRoutes,
    /// The requests that wait for an isolate.
    pub(crate) queue: WorkQueue<LaneRequest>,
    pub(crate) isolates: usize,
    /// True once isolates take requests.
    is_open: AtomicBool,
    changes: Sender<LaneChange>,
}

impl Lane {
    /// Creates the lane, with the receiver of its changes. No isolate has started.
    pub(crate) fn new(
        settings: LaneSettings,
        learned: Vec<Learned>,
    ) -> (Self, Receiver<LaneChange>) {
        let (changes, receiver) = channel();
        let lane = Self {
            routes: LaneRoutes::new(settings.slow_time, learned),
            queue: WorkQueue::new(settings.isolates),
            isolates: settings.isolates,
            is_open: AtomicBool::new(false),
            changes,
        };
        (lane, receiver)
    }

    /// Takes requests from now on.
    pub(crate) fn open(&self) {
        self.is_open.store(true, Ordering::Release);
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
        self.is_open.load(Ordering::Acquire)
    }

    fn submit(&self, request: LaneRequest) -> Result<(), LaneFull> {
        let waiting_max = self.isolates * WAITING_PER_ISOLATE_MAX;
        let pushed = self.queue.push(request, waiting_max);
        // One that is woken may first go on with a request that computes, so the others look too.
        self.queue.wake_all();
        pushed.map_err(|_| LaneFull)
    }

    fn moved(&self) {
        self.tell(LaneChange::Moved);
    }
}
