//! Entries on their way to the program, which takes them in batches.

use crate::status::{
    CallFault, SAMPAN_ERROR_STOPPED, SAMPAN_OK, SAMPAN_SMALL_BUFFER, SAMPAN_TIMEOUT, sampan_status,
};
use crate::text;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The largest number of turns of a worker for which entries are gathered while each brings more.
const TURNS_MAX: u32 = 32;
/// The age from which a worker's announcement counts as held up: its next push wakes a thread at once.
const ANNOUNCED_MAX: Duration = Duration::from_millis(1);

/// Entries that wait to be taken.
#[derive(Default)]
pub(crate) struct EntryQueue {
    state: Mutex<QueueState>,
    has_entries: Condvar,
}

#[derive(Default)]
struct QueueState {
    entries: VecDeque<Vec<u8>>,
    /// The number of threads that sleep here, or have been woken and do not run yet.
    sleeping: usize,
    /// True from waking a thread until some thread takes entries: one is enough for all that come meanwhile.
    is_waking: bool,
    /// The workers with a task that will wake a thread, and when each began. One for each worker, since a worker that
    /// runs a script or a callback holds its task up.
    announced: Vec<(ThreadId, Instant)>,
    is_closed: bool,
}

impl EntryQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a thread if there are entries, one sleeps, and none is on its way.
    fn wake(&self, mut state: MutexGuard<'_, QueueState>) {
        let wakes = state.needs_wake();
        state.is_waking |= wakes;
        drop(state);
        if wakes {
            self.has_entries.notify_one();
        }
    }

    /// Adds an entry. A sleeping thread is woken once, however many entries come until it runs.
    pub(crate) fn push(&self, entry: Vec<u8>) {
        let mut state = self.lock();
        state.entries.push_back(entry);
        self.wake(state);
    }

    /// Adds an entry from a worker. A sleeping thread is woken when a turn of the worker has brought no further entry:
    /// woken for the first, it would take the processor from the worker on a machine that has one, for one entry each
    /// time.
    pub(crate) fn push_with_turn(self: &Arc<Self>, entry: Vec<u8>) {
        let mut state = self.lock();
        state.entries.push_back(entry);
        if !state.needs_wake() {
            return;
        }
        let worker = thread::current().id();
        let own = state.announced.iter().find(|(of, _)| *of == worker);
        match own.map(|(_, begun)| begun.elapsed()) {
            Some(age) if age < ANNOUNCED_MAX => {}
            Some(_) => self.wake(state),
            None => {
                state.announced.push((worker, Instant::now()));
                drop(state);
                let queue = Arc::clone(self);
                let announcement = Announcement { queue, worker };
                drop(tokio::task::spawn_local(announcement.run()));
            }
        }
    }

    /// Ends the queue: nothing is added from now on, and those who sleep wake up.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
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
    ) -> Result<sampan_status, CallFault> {
        // SAFETY: `len` is NULL or a number of the caller's for this call, by this function's contract.
        let mut len = unsafe { text::place(len, "len") }?;
        len.write(0);
        if buffer.is_null() {
            return Err(CallFault::argument("buffer is NULL"));
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
        let is_closed = state.is_closed;
        // The rest is for another sleeper.
        state.is_waking = false;
        self.wake(state);
        match next {
            _ if written > 0 => {
                len.write(written);
                Ok(SAMPAN_OK)
            }
            Some(needed) => {
                len.write(needed);
                Ok(SAMPAN_SMALL_BUFFER)
            }
            None if is_closed => Err(CallFault::new(
                SAMPAN_ERROR_STOPPED,
                "nothing comes any more",
            )),
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
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.sleeping -= 1;
        }
        state
    }
}

impl QueueState {
    /// Reports whether a sleeping thread is to be woken for the entries.
    fn needs_wake(&self) -> bool {
        !self.entries.is_empty() && self.sleeping > 0 && !self.is_waking
    }
}

/// A task of a worker that wakes a thread. Dropping this does so too: the worker may end before the task runs.
struct Announcement {
    queue: Arc<EntryQueue>,
    worker: ThreadId,
}

impl Announcement {
    async fn run(self) {
        let mut seen = 0;
        for _ in 0..TURNS_MAX {
            // Sockets are looked at before it goes on.
            tokio::task::yield_now().await;
            let count = self.queue.lock().entries.len();
            if count <= seen {
                break;
            }
            seen = count;
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.announced.retain(|(worker, _)| *worker != self.worker);
        self.queue.wake(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use tokio::runtime::Builder;
    use tokio::task::{LocalSet, yield_now};

    /// Runs one turn after another of a worker, as long as `turns` does.
    fn on_a_worker(turns: impl Future<Output = ()>) {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, turns);
    }

    /// Takes the first entries that come, and measures the wait.
    fn take(queue: &EntryQueue) -> (usize, Duration) {
        let (mut buffer, mut len, begun) = ([0_u8; 64], 0, Instant::now());
        // SAFETY: the buffer has as many bytes as this says, and no other user.
        let taken = unsafe { queue.take(10_000, buffer.as_mut_ptr().cast(), 64, &raw mut len) };
        assert!(taken.is_ok_and(|status| status == SAMPAN_OK));
        (len, begun.elapsed())
    }

    fn wait_for_sleeper(queue: &EntryQueue) {
        while queue.lock().sleeping == 0 {
            thread::yield_now();
        }
    }

    #[test]
    fn entries_of_one_turn_wake_a_thread_once() {
        let queue: Arc<EntryQueue> = Arc::default();
        thread::scope(|scope| {
            let taking = scope.spawn(|| take(&queue).0);
            wait_for_sleeper(&queue);
            let begun = Instant::now();
            let mut pushing = Duration::MAX;
            on_a_worker(async {
                for _ in 0..5 {
                    queue.push_with_turn(vec![0; 8]);
                }
                assert_eq!(queue.lock().announced.len(), 1);
                pushing = begun.elapsed();
                for _ in 0..4 {
                    yield_now().await;
                }
            });
            let len = taking.join().expect("taken");
            // A machine that stops this thread meanwhile makes the announcement one that is held up.
            assert!(len == 40 || pushing >= ANNOUNCED_MAX, "{len} bytes");
        });
    }

    #[test]
    fn a_busy_worker_does_not_hold_up_the_entries_of_another() {
        const BUSY_MAX: Duration = Duration::from_secs(10);
        let queue: Arc<EntryQueue> = Arc::default();
        let queue = &queue;
        let (taken, is_taken) = mpsc::channel();
        thread::scope(|scope| {
            let taking = scope.spawn(move || {
                let (len, _) = take(queue);
                // The busy worker has given up waiting.
                let _ = taken.send(());
                len
            });
            wait_for_sleeper(queue);
            let busy = scope.spawn(move || {
                let mut was_taken = false;
                on_a_worker(async {
                    queue.push_with_turn(vec![0; 8]);
                    was_taken = is_taken.recv_timeout(BUSY_MAX).is_ok();
                });
                was_taken
            });
            while queue.lock().announced.is_empty() {
                thread::yield_now();
            }
            on_a_worker(async {
                queue.push_with_turn(vec![0; 8]);
                for _ in 0..4 {
                    yield_now().await;
                }
            });
            assert_eq!(taking.join().expect("taken"), 16);
            assert!(busy.join().expect("no panic"), "taken while it is busy");
        });
    }

    #[test]
    fn a_worker_that_ends_before_its_announcement_wakes_a_thread() {
        let queue: Arc<EntryQueue> = Arc::default();
        thread::scope(|scope| {
            let taking = scope.spawn(|| take(&queue));
            wait_for_sleeper(&queue);
            on_a_worker(async { queue.push_with_turn(vec![0; 8]) });
            let (len, waited) = taking.join().expect("taken");
            assert_eq!(len, 8);
            assert!(waited < Duration::from_secs(5), "{waited:?}");
        });
    }
}
