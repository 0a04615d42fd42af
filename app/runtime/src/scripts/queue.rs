//! The queue between the threads of a program and those of a pool. Who waits sleeps; who hands over wakes one of them.

use super::errors::{Refused, stopped};
use super::job::{JobHandle, Places, Work};
use crate::locks::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

pub(super) struct Queue {
    state: Mutex<QueueState>,
    places: Arc<Places>,
}

struct QueueState {
    jobs: VecDeque<(Work, JobHandle)>,
    /// The workers that wait, by their place.
    idle: Vec<Option<Waker>>,
    is_closed: bool,
}

/// The next task of a worker.
pub(super) enum Next {
    Job(Work, JobHandle),
    /// The worker was woken, but not for a work.
    Woken,
    Closed,
}

impl Queue {
    pub(super) fn new(workers: usize, under_way_max: usize) -> Self {
        Self {
            state: Mutex::new(QueueState {
                jobs: VecDeque::new(),
                idle: vec![None; workers],
                is_closed: false,
            }),
            places: Arc::new(Places::new(under_way_max)),
        }
    }

    pub(super) fn places(&self) -> Arc<Places> {
        Arc::clone(&self.places)
    }

    /// Adds a work.
    pub(super) fn push(&self, work: Work, handle: &JobHandle) -> Result<(), Refused> {
        if !self.places.take() {
            return Err(Refused::Full);
        }
        let mut state = lock(&self.state);
        if state.is_closed {
            drop(state);
            self.places.give_back();
            return Err(Refused::Stopped);
        }
        state.jobs.push_back((work, handle.clone()));
        let idle = state.idle.iter_mut().find_map(Option::take);
        drop(state);
        if let Some(idle) = idle {
            idle.wake();
        }
        Ok(())
    }

    /// The next work, if there is one.
    pub(super) fn try_next(&self) -> Option<Next> {
        let mut state = lock(&self.state);
        if let Some((work, handle)) = state.jobs.pop_front() {
            return Some(Next::Job(work, handle));
        }
        state.is_closed.then_some(Next::Closed)
    }

    /// The next work for the worker at `place`. `is_waiting` is the caller's to keep: whether it has been told to wait.
    pub(super) fn poll_next(
        &self,
        place: usize,
        is_waiting: &mut bool,
        cx: &Context<'_>,
    ) -> Poll<Next> {
        let mut state = lock(&self.state);
        if let Some((work, handle)) = state.jobs.pop_front() {
            state.idle[place] = None;
            // Another one may have been woken for what this one took; who comes later wakes the next.
            return Poll::Ready(Next::Job(work, handle));
        }
        if state.is_closed {
            return Poll::Ready(Next::Closed);
        }
        if *is_waiting && state.idle[place].is_none() {
            *is_waiting = false;
            return Poll::Ready(Next::Woken);
        }
        *is_waiting = true;
        state.idle[place] = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The worker at `place` waits no more.
    pub(super) fn leave(&self, place: usize) {
        lock(&self.state).idle[place] = None;
    }

    /// Has every worker that waits look around.
    pub(super) fn wake_all(&self) {
        let idle: Vec<Waker> = lock(&self.state)
            .idle
            .iter_mut()
            .flat_map(Option::take)
            .collect();
        idle.into_iter().for_each(Waker::wake);
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    /// Takes no more, and gives up what waits.
    pub(super) fn close(&self) {
        let jobs = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            std::mem::take(&mut state.jobs)
        };
        for (_, handle) in jobs {
            handle.job().give_up(stopped());
        }
        self.wake_all();
    }
}
