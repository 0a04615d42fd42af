//! The queue between the threads of a program and those of a pool, with its places.

use super::errors::{Refused, stopped};
use super::job::{JobHandle, Places, Work};
use crate::worker::queue::WorkQueue;
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) struct Queue {
    /// The works that wait for an isolate.
    pub(super) waiting: WorkQueue<VecDeque<(Work, JobHandle)>>,
    places: Arc<Places>,
}

impl Queue {
    pub(super) fn new(workers: usize, under_way_max: usize) -> Self {
        Self {
            waiting: WorkQueue::new(VecDeque::new(), workers),
            places: Arc::new(Places::new(under_way_max)),
        }
    }

    pub(super) fn places(&self) -> Arc<Places> {
        Arc::clone(&self.places)
    }

    /// Hands a work over, and wakes a worker for it.
    pub(super) fn push(&self, work: Work, handle: &JobHandle) -> Result<(), Refused> {
        if !self.places.take() {
            return Err(Refused::Full);
        }
        // Its places are its limit, so it has room until it is closed.
        let pushed = self.waiting.push((work, handle.clone()));
        pushed.map_err(|_| {
            self.places.give_back();
            Refused::Stopped
        })
    }

    /// Takes no more, and gives up what waits.
    pub(super) fn close(&self) {
        for (_, handle) in self.waiting.close() {
            handle.job().give_up(stopped());
        }
    }
}
