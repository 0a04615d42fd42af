//! A queue between threads that hand work over and workers that take it. Workers without work sleep; each item wakes
//! one of them.

use crate::locks::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

/// The items of a queue, in the order in which they are taken.
pub(crate) trait Items: Sized {
    type Item;

    /// Adds an item. Returns the one that has no place, if there is no room.
    fn push(&mut self, item: Self::Item) -> Option<Self::Item>;

    /// Takes the next item.
    fn pop(&mut self) -> Option<Self::Item>;
}

impl<T> Items for VecDeque<T> {
    type Item = T;

    fn push(&mut self, item: T) -> Option<T> {
        self.push_back(item);
        None
    }

    fn pop(&mut self) -> Option<T> {
        self.pop_front()
    }
}

/// A queue that several workers share.
pub(crate) struct WorkQueue<Q>(Mutex<QueueState<Q>>);

struct QueueState<Q> {
    items: Q,
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

/// An item that is not queued.
pub(crate) enum Unqueued<T> {
    /// The one for which there was no room.
    Full(T),
    Closed(T),
}

impl<Q: Items> WorkQueue<Q> {
    /// Creates the queue of so many workers.
    pub(crate) fn new(items: Q, workers: usize) -> Self {
        Self(Mutex::new(QueueState {
            items,
            idle: vec![None; workers],
            is_closed: false,
        }))
    }

    /// Queues an item, and wakes a worker for it.
    ///
    /// # Errors
    /// The queue is full or closed.
    pub(crate) fn push(&self, item: Q::Item) -> Result<(), Unqueued<Q::Item>> {
        let mut state = lock(&self.0);
        if state.is_closed {
            return Err(Unqueued::Closed(item));
        }
        if let Some(item) = state.items.push(item) {
            return Err(Unqueued::Full(item));
        }
        let idle = state.idle.iter_mut().find_map(Option::take);
        drop(state);
        if let Some(idle) = idle {
            idle.wake();
        }
        Ok(())
    }

    /// The next item, if there is one.
    pub(crate) fn try_next(&self) -> Option<Next<Q::Item>> {
        let mut state = lock(&self.0);
        if let Some(item) = state.items.pop() {
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
    ) -> Poll<Next<Q::Item>> {
        let mut state = lock(&self.0);
        if let Some(item) = state.items.pop() {
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
    pub(crate) fn close(&self) -> Vec<Q::Item> {
        let items = {
            let mut state = lock(&self.0);
            state.is_closed = true;
            std::iter::from_fn(|| state.items.pop()).collect()
        };
        self.wake_all();
        items
    }
}
