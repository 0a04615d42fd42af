//! The tasks of a request: what its promises wait for, and its native objects.

use sampan_host::{Error, Object, Objects, RequestObjects};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::{Context, Waker};

/// The most things that a request may wait for at a time.
const PENDING_MAX: usize = 10_000;

/// The tasks of one request.
#[derive(Default)]
pub(crate) struct Tasks {
    pending: RefCell<Vec<Weak<Pending>>>,
    objects: RefCell<RequestObjects>,
    pub(super) is_cancelled: Cell<bool>,
    /// The waker for the moment when nothing is left.
    pub(super) at_end: RefCell<Option<Waker>>,
}

/// One wait, as far as its request can give it up.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) is_cancelled: Cell<bool>,
    pub(super) waker: RefCell<Option<Waker>>,
}

impl Tasks {
    /// A native object that a row gives goes with these, if its class says so.
    pub(crate) fn own(&self, objects: &Objects, object: Object) {
        self.objects.borrow_mut().own(objects, object);
    }

    /// Reports whether there is something that the request waits for.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending
            .borrow()
            .iter()
            .any(|one| one.strong_count() > 0)
    }

    /// Has the task woken when one of its waits has ended.
    pub(crate) fn wake_at_end(&self, cx: &Context<'_>) {
        self.at_end.replace(Some(cx.waker().clone()));
    }

    pub(super) fn add(&self) -> Result<Rc<Pending>, Error> {
        let mut pending = self.pending.borrow_mut();
        if pending.len() >= 16 && pending.len().is_power_of_two() {
            pending.retain(|one| one.strong_count() > 0);
        }
        if pending.len() >= PENDING_MAX {
            return Err(Error::script(format!(
                "too much to wait for: a request may wait for {PENDING_MAX} things at a time"
            )));
        }
        let one: Rc<Pending> = Rc::default();
        pending.push(Rc::downgrade(&one));
        Ok(one)
    }

    /// The request is given up: all that its promises wait for fails, and its native objects go.
    pub(crate) fn cancel_all(&self) {
        let pending = self.pending.take();
        for one in pending.iter().filter_map(Weak::upgrade) {
            one.is_cancelled.set(true);
            let waker = one.waker.borrow_mut().take();
            waker.inspect(Waker::wake_by_ref);
        }
        let objects = self.objects.take();
        drop(objects);
    }

    /// The request has ended: its native objects go.
    pub(crate) fn end(&self) {
        self.is_cancelled.set(true);
        let objects = self.objects.take();
        drop(objects);
    }
}
