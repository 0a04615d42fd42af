//! Deadlines of all connections of a worker, checked by one sweep instead of a timer each, and what becomes of a
//! connection whose deadline has passed.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

use slab::Slab;

use super::connection::{Connection, Phase};
use super::runtime::Socket;
use crate::codec::{Exceeded, Fault};

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

/// The effect of a deadline.
pub(super) enum Expired {
    Nothing,
    /// There is something to send now.
    Answered,
    Gone,
}

impl<S: Socket> Connection<S> {
    /// Puts the earliest deadline of this connection where the sweep looks.
    pub(super) fn arm(&mut self, cx: &Context<'_>) {
        let mut deadline = self.write_by.min(self.work_by());
        if self.reads_on_time() {
            deadline = deadline.min(self.read_by);
        }
        if deadline != self.armed {
            self.armed = deadline;
            self.local
                .deadlines
                .set(self.deadline_key, deadline, cx.waker());
        }
    }

    /// Reports whether the client is the one to act, so that `read_by` counts: not while answers are being made, and
    /// not while it still reads them, because nothing is read from it then.
    pub(super) fn reads_on_time(&self) -> bool {
        let answering =
            self.running.is_some() || self.streaming.is_some() || !self.queue.is_empty();
        (!answering || self.awaits_body()) && self.output.is_empty()
    }

    /// Acts on a deadline that has passed without the event that would have moved it.
    pub(super) fn expire(&mut self) -> Expired {
        let now = self.local.now_millis();
        // The slot is rewritten at the next arming: the sweep clears the deadlines that it has reported.
        if self.armed <= now {
            self.armed = NEVER;
        }
        if self.write_by <= now {
            return Expired::Gone;
        }
        if self.work_by() <= now {
            self.end_work(now);
            return Expired::Answered;
        }
        if self.read_by > now || !self.reads_on_time() {
            return Expired::Nothing;
        }
        match self.phase {
            Phase::Head | Phase::Body => {
                let limits = &self.local.limits;
                let (name, max) = if self.phase == Phase::Head {
                    ("head_millis_max", limits.head_millis_max)
                } else {
                    ("body_idle_millis_max", limits.body_idle_millis_max)
                };
                let limit = Exceeded { name, max };
                if self.awaits_body() {
                    let fault = Fault::above(408, "the body did not come in time", name, max);
                    self.fail_body(fault);
                } else {
                    self.fail(408, Some(limit));
                }
                Expired::Answered
            }
            Phase::Fresh | Phase::Idle => Expired::Gone,
            Phase::Busy => Expired::Nothing,
        }
    }
}
