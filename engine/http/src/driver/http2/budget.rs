//! The bodies that a connection keeps in memory, from their first bytes until their requests are answered.
//!
//! Together they are held to `collected_bytes_max`. Above it the windows of flow control stay as they are, so each
//! client can send what is left of them and no more. The request that began first is held only to its own limit:
//! it always comes to its end, and then the next does.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::wakers::ReadyList;
use crate::received::UNCOUNTED_BYTES_MAX;

/// The bodies of one connection.
pub(super) struct BodyBudget {
    bytes_max: usize,
    /// Bytes in memory.
    bytes: Cell<usize>,
    /// Bytes among them for which the client has not been given a new window.
    withheld: Cell<usize>,
    /// The streams that have a share, in the order in which they began.
    order: RefCell<VecDeque<usize>>,
    /// The streams among them that wait for others to end.
    parked: RefCell<Vec<usize>>,
    ready: Arc<ReadyList>,
}

impl BodyBudget {
    pub(super) fn new(bytes_max: usize, ready: Arc<ReadyList>) -> Rc<Self> {
        Rc::new(Self {
            bytes_max,
            bytes: Cell::new(0),
            withheld: Cell::new(0),
            order: RefCell::default(),
            parked: RefCell::default(),
            ready,
        })
    }

    /// Returns the bytes that the window of the connection lacks because streams wait. The window is widened by as
    /// many, so that those that need not wait can go on.
    pub(super) fn withheld(&self) -> usize {
        self.withheld.get()
    }

    fn is_over(&self) -> bool {
        self.bytes.get() > self.bytes_max
    }

    fn is_first(&self, key: usize) -> bool {
        self.order.borrow().front() == Some(&key)
    }

    /// Wakes the streams that need not wait any longer.
    fn wake(&self) {
        let mut parked = self.parked.borrow_mut();
        parked.retain(|key| {
            let waits = self.is_over() && !self.is_first(*key);
            if !waits {
                self.ready.add(*key);
            }
            waits
        });
    }
}

/// The body of one request, as long as it is in memory.
pub(super) struct BodyShare {
    budget: Rc<BodyBudget>,
    key: usize,
    bytes: usize,
    withheld: usize,
}

impl BodyShare {
    /// Begins an empty one.
    pub(super) fn new(budget: &Rc<BodyBudget>, key: usize) -> Self {
        budget.order.borrow_mut().push_back(key);
        Self {
            budget: Rc::clone(budget),
            key,
            bytes: 0,
            withheld: 0,
        }
    }

    /// Adds bytes that have come. Their part of the window is withheld until [`BodyShare::take_withheld`].
    pub(super) fn add(&mut self, bytes: usize) {
        let budget = &self.budget;
        self.bytes += bytes;
        budget.bytes.set(budget.bytes.get() + bytes);
        self.withheld += bytes;
        budget.withheld.set(budget.withheld.get() + bytes);
    }

    /// Returns the size that a buffer may have without being counted among those of the server: none once the bodies of
    /// the connection together are larger than that of one.
    pub(super) fn uncounted_bytes_max(&self) -> usize {
        match self.budget.bytes.get() > UNCOUNTED_BYTES_MAX {
            true => 0,
            false => UNCOUNTED_BYTES_MAX,
        }
    }

    /// Returns the bytes for which the client is to be given a new window now: all, or 0 while this stream must wait.
    pub(super) fn take_withheld(&mut self) -> usize {
        let budget = &self.budget;
        if budget.is_over() && !budget.is_first(self.key) {
            let mut parked = budget.parked.borrow_mut();
            if !parked.contains(&self.key) {
                parked.push(self.key);
            }
            return 0;
        }
        self.take_all()
    }

    /// Reports whether the stream waits for others to end.
    pub(super) fn waits(&self) -> bool {
        self.withheld > 0
    }

    /// Returns what [`BodyShare::take_withheld`] does, for a stream of which no more bytes are taken.
    pub(super) fn take_all(&mut self) -> usize {
        let withheld = std::mem::take(&mut self.withheld);
        let budget = &self.budget;
        budget.withheld.set(budget.withheld.get() - withheld);
        withheld
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.take_all();
        let budget = &self.budget;
        budget.bytes.set(budget.bytes.get() - self.bytes);
        budget.order.borrow_mut().retain(|key| *key != self.key);
        budget.parked.borrow_mut().retain(|key| *key != self.key);
        budget.wake();
    }
}
