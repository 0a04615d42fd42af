//! A queue between threads that hand work over and workers that take it. Workers without work sleep; each item wakes
//! one of them.

use crate::locks::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

/// A queue that several workers share.
pub(crate) struct WorkQueue<T>(Mutex<QueueState<T>>);

struct QueueState<T> {
    items: VecDeque<T>,
    /// The workers that wait, by their place.
    idle: Vec<Option<Waker>>,
    is_closed: bool,
}

/// The next task of a worker.
pub(crate) enum Next<T> {
    Item(T),
    /// The worker was woken, but not for an item.
    Woken,
    Closed,
}

/// Why an item is not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unqueued {
    Full,
    Closed,
}

impl<T> WorkQueue<T> {
    /// Creates the queue of so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self(Mutex::new(QueueState {
            items: VecDeque::new(),
            idle: vec![None; workers],
            is_closed: false,
        }))
    }

    /// Queues an item, where fewer than `waiting_max` wait, and wakes a worker for it.
    ///
    /// # Errors
    /// The queue is full or closed.
    pub(crate) fn push(&self, item: T, waiting_max: usize) -> Result<(), Unqueued> {
        let mut state = lock(&self.0);
        if state.is_closed {
            return Err(Unqueued::Closed);
        }
        if state.items.len() >= waiting_max {
            return Err(Unqueued::Full);
        }
        state.items.push_back(item);
        let idle = state.idle.iter_mut().find_map(Option::take);
        drop(state);
        if let Some(idle) = idle {
            idle.wake();
        }
        Ok(())
    }

    /// The next item, if there is one.
    pub(crate) fn try_next(&self) -> Option<Next<T>> {
        let mut state = lock(&self.0);
        if let Some(item) = state.items.pop_front() {
            return Some(Next::Item(item));
        }
        state.is_closed.then_some(Next::Closed)
    }

    /// The next item for the worker at `place`. `is_waiting` is the caller's to keep: whether it has been told to wait.
    pub(crate) fn poll_next(
        &self,
        place: usize,
        is_waiting: &mut bool,
        cx: &Context<'_>,
    ) -> Poll<Next<T>> {
        let mut state = lock(&self.0);
        if let Some(item) = state.items.pop_front() {
            state.idle[place] = None;
            // Another one may have been woken for what this one took; who comes later wakes the next.
            return Poll::Ready(Next::Item(item));
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
    pub(crate) fn leave(&self, place: usize) {
        lock(&self.0).idle[place] = None;
    }

    /// Has every worker that waits look around.
    pub(crate) fn wake_all(&self) {
        let mut state = lock(&self.0);
        let idle: Vec<Waker> = state.idle.iter_mut().flat_map(Option::take).collect();
        drop(state);
        idle.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.0).is_closed
    }

    /// Takes no more, and returns what waits.
    #[must_use = "someone waits for what was queued"]
    pub(crate) fn close(&self) -> VecDeque<T> {
        let items = {
            let mut state = lock(&self.0);
            state.is_closed = true;
            std::mem::take(&mut state.items)
        };
        self.wake_all();
        items
    }
}
