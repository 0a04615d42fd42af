//! A request that waits for its turn.

use super::fair_queue::Decision;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The place of a request in the queue.
#[derive(Debug, Default)]
pub(super) struct Place {
    decision: Cell<Option<Decision>>,
    waker: RefCell<Option<Waker>>,
}

impl Place {
    /// Tells the request of the decision.
    pub(super) fn decide(&self, decision: Decision) {
        self.decision.set(Some(decision));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Waits for the decision about a request. Dropped before, nothing waits at its place any more.
pub(super) async fn decided(place: Rc<Place>) -> Decision {
    poll_fn(|cx| match place.decision.get() {
        Some(decision) => Poll::Ready(decision),
        None => {
            *place.waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        }
    })
    .await
}
