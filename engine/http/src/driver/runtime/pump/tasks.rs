//! The tasks of a pump, and the queue of those that were woken.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use slab::Slab;

pub(super) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The tasks that were woken, from any thread.
struct Woken {
    keys: Mutex<Vec<usize>>,
    /// Rung by other threads, which the pump's thread may not see otherwise before it waits.
    bell: OwnedFd,
    owner: ThreadId,
}

impl Woken {
    fn keys(&self) -> MutexGuard<'_, Vec<usize>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes one task. Where that has ended, another may have its key, which is then polled for nothing.
struct TaskWaker {
    key: usize,
    is_queued: AtomicBool,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        self.woken.keys().push(self.key);
        if thread::current().id() != self.woken.owner {
            // Fails only where the counter is full: then it has been rung.
            let _ = rustix::io::write(&self.woken.bell, &1u64.to_ne_bytes());
        }
    }
}

struct Slot {
    /// Taken out while it is polled.
    task: Option<Task>,
    waker: Waker,
    state: Arc<TaskWaker>,
}

pub(super) struct Tasks {
    slots: RefCell<Slab<Slot>>,
    woken: Arc<Woken>,
    /// The keys of this round; kept for their memory.
    round: RefCell<Vec<usize>>,
    is_running: Cell<bool>,
}

impl Tasks {
    /// Those of this thread. `bell` is an eventfd that the pump waits for.
    pub(super) fn new(bell: OwnedFd) -> Self {
        Self {
            slots: RefCell::default(),
            woken: Arc::new(Woken {
                keys: Mutex::default(),
                bell,
                owner: thread::current().id(),
            }),
            round: RefCell::default(),
            is_running: Cell::new(false),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.borrow().len()
    }

    /// Adds a task, which runs soon.
    pub(super) fn add(&self, task: Task) {
        let mut slots = self.slots.borrow_mut();
        let entry = slots.vacant_entry();
        let state = Arc::new(TaskWaker {
            key: entry.key(),
            is_queued: AtomicBool::new(true),
            woken: Arc::clone(&self.woken),
        });
        self.woken.keys().push(entry.key());
        entry.insert(Slot {
            task: Some(task),
            waker: Waker::from(Arc::clone(&state)),
            state,
        });
    }

    /// Reports whether no task is ready.
    pub(super) fn is_quiet(&self) -> bool {
        self.woken.keys().is_empty()
    }

    /// Runs what is ready now, at most so many. False if nothing was.
    pub(super) fn run(&self, tasks_max: usize) -> bool {
        if self.is_running.replace(true) {
            // A task pumps: what is ready runs in the turn that it is a part of.
            return false;
        }
        let mut round = self.round.take();
        {
            let mut keys = self.woken.keys();
            if keys.len() <= tasks_max {
                std::mem::swap(&mut *keys, &mut round);
            } else {
                round.extend(keys.drain(..tasks_max));
            }
        }
        let had_any = !round.is_empty();
        for key in round.drain(..) {
            self.poll(key);
        }
        self.round.replace(round);
        self.is_running.set(false);
        had_any
    }

    fn poll(&self, key: usize) {
        let (mut task, waker) = {
            let mut slots = self.slots.borrow_mut();
            let Some(slot) = slots.get_mut(key) else {
                return;
            };
            // A swap, not a store: a waker on another thread that finds it queued relies on this poll to see what that
            // has done.
            slot.state.is_queued.swap(false, Ordering::AcqRel);
            let Some(task) = slot.task.take() else {
                return;
            };
            (task, slot.waker.clone())
        };
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        let mut slots = self.slots.borrow_mut();
        match polled {
            Poll::Pending => {
                if let Some(slot) = slots.get_mut(key) {
                    slot.task = Some(task);
                }
            }
            Poll::Ready(()) => {
                let slot = slots.try_remove(key);
                drop(slots);
                drop((task, slot));
            }
        }
    }

    /// Drops all tasks. Their destructors may add and wake others, which are dropped too.
    pub(super) fn clear(&self) {
        loop {
            let slots = std::mem::take(&mut *self.slots.borrow_mut());
            if slots.is_empty() {
                break;
            }
            drop(slots);
        }
        self.woken.keys().clear();
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.clear();
    }
}
