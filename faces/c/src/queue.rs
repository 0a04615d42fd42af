//! Entries on their way to the program, which takes them in batches.

use crate::status::{
    Fault, SAMPAN_ERROR_STOPPED, SAMPAN_OK, SAMPAN_SMALL_BUFFER, SAMPAN_TIMEOUT, sampan_status,
};
use crate::text;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// For how many turns of a worker entries are gathered at most while each brings more.
const TURNS_MAX: u32 = 32;

/// Entries that wait to be taken.
#[derive(Default)]
pub(crate) struct EntryQueue {
    state: Mutex<QueueState>,
    has_entries: Condvar,
}

#[derive(Default)]
struct QueueState {
    entries: VecDeque<Vec<u8>>,
    /// Threads that sleep here and were not woken.
    sleeping: usize,
    /// A task of the worker is on its way to wake one of them.
    is_announced: bool,
    is_closed: bool,
}

impl EntryQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry. A sleeping thread is woken once, however many entries come until it runs.
    pub(crate) fn push(&self, entry: Vec<u8>) {
        let mut state = self.lock();
        state.entries.push_back(entry);
        let is_first = state.entries.len() == 1;
        let wakes = is_first && state.sleeping > 0;
        if wakes {
            state.sleeping -= 1;
        }
        drop(state);
        if wakes {
            self.has_entries.notify_one();
        }
    }

    /// Adds an entry from a worker. A sleeping thread is woken when a turn of the worker has brought no further entry:
    /// woken for the first, it would take the processor from the worker on a machine that has one, for one entry each
    /// time.
    pub(crate) fn push_with_turn(self: &Arc<Self>, entry: Vec<u8>) {
        let mut state = self.lock();
        state.entries.push_back(entry);
        let is_first = state.entries.len() == 1;
        if is_first && state.sleeping > 0 && !state.is_announced {
            state.is_announced = true;
            drop(state);
            let queue = Arc::clone(self);
            drop(tokio::task::spawn_local(
                async move { queue.announce().await },
            ));
        }
    }

    async fn announce(&self) {
        let mut seen = 0;
        for _ in 0..TURNS_MAX {
            // Sockets are looked at before it goes on.
            tokio::task::yield_now().await;
            let count = self.lock().entries.len();
            if count <= seen {
                break;
            }
            seen = count;
        }
        let mut state = self.lock();
        state.is_announced = false;
        let wakes = !state.entries.is_empty() && state.sleeping > 0;
        if wakes {
            state.sleeping -= 1;
        }
        drop(state);
        if wakes {
            self.has_entries.notify_one();
        }
    }

    /// Nothing is added from now on. Who sleeps wakes up.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.sleeping = 0;
        drop(state);
        self.has_entries.notify_all();
    }

    /// Moves as many entries as fit into a buffer, and tells how many bytes they have.
    ///
    /// # Safety
    /// `buffer` is NULL or points to `capacity` bytes that are the caller's for this call; so is `len`.
    pub(crate) unsafe fn take(
        &self,
        timeout_millis: i64,
        buffer: *mut c_void,
        capacity: usize,
        len: *mut usize,
    ) -> Result<sampan_status, Fault> {
        // SAFETY: by this function's contract.
        let mut len = unsafe { text::place(len, "len") }?;
        len.write(0);
        if buffer.is_null() {
            return Err(Fault::argument("buffer is NULL"));
        }
        let mut state = self.lock();
        if state.entries.is_empty() && !state.is_closed && timeout_millis != 0 {
            state = self.sleep(state, timeout_millis);
        }
        let mut written = 0;
        while let Some(entry) = state.entries.front() {
            if entry.len() > capacity - written {
                break;
            }
            // SAFETY: `written + entry.len() <= capacity`, so this is inside of the buffer, which has no other user.
            unsafe {
                let to = buffer.cast::<u8>().add(written);
                to.copy_from_nonoverlapping(entry.as_ptr(), entry.len());
            }
            written += entry.len();
            state.entries.pop_front();
        }
        let next = state.entries.front().map(Vec::len);
        // The rest is for another sleeper, which is not woken for entries behind the first.
        let wakes = next.is_some() && state.sleeping > 0;
        if wakes {
            state.sleeping -= 1;
        }
        let is_closed = state.is_closed;
        drop(state);
        if wakes {
            self.has_entries.notify_one();
        }
        match next {
            _ if written > 0 => {
                len.write(written);
                Ok(SAMPAN_OK)
            }
            Some(needed) => {
                len.write(needed);
                Ok(SAMPAN_SMALL_BUFFER)
            }
            None if is_closed => Err(Fault::new(SAMPAN_ERROR_STOPPED, "nothing comes any more")),
            None => Ok(SAMPAN_TIMEOUT),
        }
    }

    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState>,
        timeout_millis: i64,
    ) -> MutexGuard<'a, QueueState> {
        let deadline = u64::try_from(timeout_millis).ok();
        let deadline =
            deadline.and_then(|it| Instant::now().checked_add(Duration::from_millis(it)));
        while state.entries.is_empty() && !state.is_closed {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            state.sleeping += 1;
            state = match left {
                None => self
                    .has_entries
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.has_entries.wait_timeout(state, left);
                    let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
                    if waited.timed_out() {
                        // It was not woken, so it still counts; unless it was woken just now.
                        state.sleeping = state.sleeping.saturating_sub(1);
                    }
                    state
                }
            };
        }
        state
    }
}
