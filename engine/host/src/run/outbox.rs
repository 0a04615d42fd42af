//! The outbox: effects that must not leave the process yet.
//!
//! While a worker has writes that are not committed, everything that its isolate produces may depend on them: answers,
//! chunks, and later outbound requests, messages and jobs. The writer [opens](Outbox::open) the worker's outbox and
//! [settles](Outbox::settle) it when it knows; a sender asks whether it [is open](Outbox::is_open) and, if so, leaves
//! what it has with [`Outbox::hold`]. Neither knows the other.
//!
//! While the outcome is being found out elsewhere (a slow commit on a thread of its own) the outbox is
//! [sealed](Outbox::seal): the isolate may not be entered until it is settled, because what it would do then would
//! depend on writes whose group it can no longer join.

use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The end of a group of writes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Committed.
    Committed,
    /// Failed: none of it is there.
    Failed,
}

/// Receives the verdict on what it holds.
type Held = Box<dyn FnOnce(Verdict)>;

/// The outcome of one group, for those who ran in it and are not done yet.
#[derive(Clone, Default)]
pub struct Fate(Rc<FateState>);

#[derive(Default)]
struct FateState {
    verdict: Cell<Option<Verdict>>,
    cause: RefCell<Option<Error>>,
}

impl Fate {
    /// The outcome, once it is known.
    pub fn verdict(&self) -> Option<Verdict> {
        self.0.verdict.get()
    }

    /// The error for which the group has failed, where it is known.
    pub fn cause(&self) -> Option<Error> {
        self.0.cause.borrow().clone()
    }
}

/// The outbox of one worker, shared by clones.
#[derive(Clone, Default)]
pub struct Outbox(Rc<OutboxState>);

#[derive(Default)]
struct OutboxState {
    /// The group that is open now.
    fate: RefCell<Option<Fate>>,
    held: RefCell<Vec<Held>>,
    is_sealed: Cell<bool>,
    /// Those who wait to enter the isolate.
    waiting: RefCell<Vec<Waker>>,
}

impl Outbox {
    /// Reports whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Reports whether there are writes that are not committed, so that nothing may leave.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.0.fate.borrow().is_some()
    }

    /// The group that is open now.
    pub fn fate(&self) -> Option<Fate> {
        self.0.fate.borrow().clone()
    }

    /// Has `held` called with the verdict on the group that is open now; at once with [`Verdict::Committed`] if there
    /// is none.
    pub fn hold(&self, held: Held) {
        if self.is_open() {
            self.0.held.borrow_mut().push(held);
        } else {
            held(Verdict::Committed);
        }
    }

    /// Takes back the effects that were left since [`Outbox::held`] gave `count`: the part of the group in which they
    /// were left is rolled back.
    pub fn take_back(&self, count: usize) {
        let taken = {
            let mut held = self.0.held.borrow_mut();
            let count = count.min(held.len());
            held.split_off(count)
        };
        for held in taken {
            held(Verdict::Failed);
        }
    }

    /// Returns the number of held effects.
    pub fn held(&self) -> usize {
        self.0.held.borrow().len()
    }

    /// A group begins. One at a time: it is settled before the next.
    pub fn open(&self) {
        debug_assert!(!self.is_open());
        *self.0.fate.borrow_mut() = Some(Fate::default());
    }

    /// The outcome is being found out elsewhere: the isolate is not entered until it is settled.
    pub fn seal(&self) {
        debug_assert!(self.is_open());
        self.0.is_sealed.set(true);
    }

    /// Reports whether the isolate may not be entered now.
    #[inline]
    pub fn is_sealed(&self) -> bool {
        self.0.is_sealed.get()
    }

    /// Has a task woken when the open group is settled.
    pub fn wake_when_settled(&self, cx: &Context<'_>) {
        self.0.waiting.borrow_mut().push(cx.waker().clone());
    }

    /// Waits until the isolate may be entered.
    pub async fn unsealed(&self) {
        self.until(|| !self.is_sealed()).await;
    }

    /// Waits until the group that is open now is settled, and tells how.
    pub fn settled(&self) -> impl Future<Output = Verdict> + 'static {
        let (outbox, fate) = (self.clone(), self.fate());
        async move {
            let Some(fate) = fate else {
                return Verdict::Committed;
            };
            outbox.until(|| fate.verdict().is_some()).await;
            fate.verdict().unwrap_or(Verdict::Failed)
        }
    }

    async fn until(&self, is_so: impl Fn() -> bool) {
        poll_fn(|cx| {
            if is_so() {
                return Poll::Ready(());
            }
            self.wake_when_settled(cx);
            Poll::Pending
        })
        .await;
    }

    /// Settles the open group as failed, for this reason.
    pub fn fail(&self, cause: &Error) {
        if let Some(fate) = self.fate() {
            fate.0.cause.replace(Some(cause.clone()));
        }
        self.settle(Verdict::Failed);
    }

    /// The outcome of the open group is known: tells everyone who holds something, and lets those in who wait.
    pub fn settle(&self, verdict: Verdict) {
        let Some(fate) = self.0.fate.borrow_mut().take() else {
            return;
        };
        fate.0.verdict.set(Some(verdict));
        self.0.is_sealed.set(false);
        let held = std::mem::take(&mut *self.0.held.borrow_mut());
        for held in held {
            held(verdict);
        }
        let waiting = std::mem::take(&mut *self.0.waiting.borrow_mut());
        for waker in waiting {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_fails_tells_its_cause() {
        let outbox = Outbox::default();
        outbox.open();
        let failed = outbox.fate().expect("a group");
        outbox.fail(&Error::script("no room"));
        assert_eq!(failed.verdict(), Some(Verdict::Failed));
        assert_eq!(failed.cause().expect("known").message(), "no room");
        outbox.open();
        let next = outbox.fate().expect("a group");
        outbox.settle(Verdict::Failed);
        assert!(next.cause().is_none());
    }

    #[test]
    fn a_part_that_is_rolled_back_takes_its_effects_with_it() {
        let (outbox, heard) = (Outbox::default(), Rc::new(RefCell::new(Vec::new())));
        let hold = |name: &'static str| {
            let heard = heard.clone();
            outbox.hold(Box::new(move |verdict| {
                heard.borrow_mut().push((name, verdict))
            }));
        };
        outbox.open();
        hold("before");
        let count = outbox.held();
        hold("inside");
        outbox.take_back(count);
        hold("after");
        outbox.settle(Verdict::Committed);
        outbox.take_back(count);
        let committed = Verdict::Committed;
        assert_eq!(
            *heard.borrow(),
            [
                ("inside", Verdict::Failed),
                ("before", committed),
                ("after", committed)
            ]
        );
    }

    #[test]
    fn what_is_held_hears_the_verdict_once() {
        let outbox = Outbox::default();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let hold = |name: &'static str| {
            let heard = heard.clone();
            outbox.hold(Box::new(move |verdict| {
                heard.borrow_mut().push((name, verdict))
            }));
        };
        hold("none open");
        outbox.open();
        hold("a");
        let fate = outbox.fate().unwrap();
        outbox.seal();
        assert!(outbox.is_open() && outbox.is_sealed() && fate.verdict().is_none());
        outbox.settle(Verdict::Failed);
        assert!(!outbox.is_open() && !outbox.is_sealed());
        assert_eq!(fate.verdict(), Some(Verdict::Failed));
        outbox.settle(Verdict::Committed);
        assert_eq!(
            *heard.borrow(),
            [("none open", Verdict::Committed), ("a", Verdict::Failed)]
        );
    }
}
