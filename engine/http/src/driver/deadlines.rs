//! Deadlines of all connections of a worker, checked by one sweep instead of a timer each.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use slab::Slab;

/// No deadline.
pub(super) const NEVER: u64 = u64::MAX;

struct DeadlineSlot {
    millis: u64,
    waker: Option<Waker>,
}

/// One slot per connection, in one piece of memory that a sweep walks.
pub(super) struct Deadlines {
    slots: RefCell<Slab<DeadlineSlot>>,
    /// No deadline is before this; it lags behind, so a sweep may find nothing.
    earliest: Cell<u64>,
}

impl Deadlines {
    pub(super) fn new() -> Deadlines {
        Deadlines {
            slots: RefCell::new(Slab::new()),
            earliest: Cell::new(NEVER),
        }
    }

    pub(super) fn add(&self) -> usize {
        self.slots.borrow_mut().insert(DeadlineSlot {
            millis: NEVER,
            waker: None,
        })
    }

    pub(super) fn remove(&self, key: usize) {
        let slot = self.slots.borrow_mut().remove(key);
        // Dropping a task's waker can drop the task, so it happens outside of the borrow.
        drop(slot);
    }

    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.slots.borrow().len()
    }

    pub(super) fn set(&self, key: usize, millis: u64, waker: &Waker) {
        let slot = &mut self.slots.borrow_mut()[key];
        slot.millis = millis;
        if !slot
            .waker
            .as_ref()
            .is_some_and(|known| known.will_wake(waker))
        {
            slot.waker = Some(waker.clone());
        }
        if millis < self.earliest.get() {
            self.earliest.set(millis);
        }
    }

    /// A time before which no sweep is needed.
    pub(super) fn earliest(&self) -> u64 {
        self.earliest.get()
    }

    /// Wakes the connections whose deadline has come; they look at the reason themselves.
    pub(super) fn sweep(&self, now: u64) {
        if now < self.earliest.get() {
            return;
        }
        let mut earliest = NEVER;
        for (_, slot) in self.slots.borrow_mut().iter_mut() {
            if slot.millis <= now {
                slot.millis = NEVER;
                if let Some(waker) = &slot.waker {
                    waker.wake_by_ref();
                }
            } else {
                earliest = earliest.min(slot.millis);
            }
        }
        self.earliest.set(earliest);
    }

    pub(super) fn wake_all(&self) {
        for (_, slot) in self.slots.borrow().iter() {
            if let Some(waker) = &slot.waker {
                waker.wake_by_ref();
            }
        }
    }
}
