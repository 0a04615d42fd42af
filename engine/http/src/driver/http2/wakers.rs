//! Wakers of single streams: a connection with a hundred streams polls those that have something to do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The streams of a connection that are to be polled.
#[derive(Default)]
pub(super) struct ReadyList(Mutex<ReadyState>);

#[derive(Default)]
struct ReadyState {
    keys: Vec<usize>,
    connection: Option<Waker>,
}

impl ReadyList {
    fn lock(&self) -> MutexGuard<'_, ReadyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what is woken with any stream.
    pub(super) fn set_connection(&self, waker: &Waker) {
        let mut state = self.lock();
        if !state
            .connection
            .as_ref()
            .is_some_and(|known| known.will_wake(waker))
        {
            let old = state.connection.replace(waker.clone());
            drop(state);
            // Dropping a task's waker can drop the task, so it happens outside of the lock.
            drop(old);
        }
    }

    /// Takes the keys of the streams, into an empty list.
    pub(super) fn take(&self, keys: &mut Vec<usize>) {
        std::mem::swap(&mut self.lock().keys, keys);
    }

    /// Has a stream polled in the next round.
    pub(super) fn add(&self, key: usize) {
        let waker = {
            let mut state = self.lock();
            if !state.keys.contains(&key) {
                state.keys.push(key);
            }
            state.connection.clone()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns the waker of one stream.
    pub(super) fn waker(self: &Arc<Self>, key: usize) -> Waker {
        let list = Arc::clone(self);
        Waker::from(Arc::new(StreamWaker { key, list }))
    }
}

struct StreamWaker {
    key: usize,
    list: Arc<ReadyList>,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.list.add(self.key);
    }
}
