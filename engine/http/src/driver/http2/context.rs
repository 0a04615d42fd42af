//! The parts of a connection that its streams use.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use http::header::HeaderValue;

use super::budget::BodyBudget;
use super::piece::Outflow;
use super::wakers::ReadyList;
use crate::codec::encoder::DATE_BYTES;
use crate::driver::local::Local;
use crate::peer::RemoteEnd;

pub(super) struct StreamContext {
    pub(super) local: Rc<Local>,
    pub(super) client: RemoteEnd,
    pub(super) outflow: Rc<Outflow>,
    pub(super) ready: Arc<ReadyList>,
    /// The bodies of requests in memory.
    pub(super) bodies: Rc<BodyBudget>,
    /// True if its requests are only to be told 503.
    pub(super) is_refused: bool,
    /// Answers behind an undecided ticket.
    pub(super) held: Rc<Cell<usize>>,
    /// The client must take answers before its next request is given to a handler.
    pub(super) is_full: Cell<bool>,
    /// The streams whose requests have come whole and wait for that.
    pub(super) waiting: RefCell<Vec<usize>>,
    /// An answer has asked for the end of the connection.
    pub(super) is_ending: Cell<bool>,
    /// The client has been told that the connection ends.
    pub(super) has_departed: Cell<bool>,
    /// Requests that the client has taken back, less those that it has let be answered.
    resets: Cell<usize>,
    /// The last date that was sent.
    date: RefCell<([u8; DATE_BYTES], Option<HeaderValue>)>,
}

impl StreamContext {
    pub(super) fn new(local: Rc<Local>, client: RemoteEnd, is_refused: bool) -> Self {
        let ready: Arc<ReadyList> = Arc::default();
        let bytes_max = local.limits.collected_bytes_max;
        Self {
            bodies: BodyBudget::new(bytes_max, Arc::clone(&ready)),
            local,
            client,
            outflow: Rc::default(),
            ready,
            is_refused,
            held: Rc::default(),
            is_full: Cell::new(false),
            waiting: RefCell::default(),
            is_ending: Cell::new(false),
            has_departed: Cell::new(false),
            resets: Cell::new(0),
            date: RefCell::new(([0; DATE_BYTES], None)),
        }
    }

    /// The value of the field Date.
    pub(super) fn date(&self) -> Option<HeaderValue> {
        let now = self.local.clock.date();
        let mut known = self.date.borrow_mut();
        if known.0 != now || known.1.is_none() {
            *known = (now, HeaderValue::from_bytes(&now).ok());
        }
        known.1.clone()
    }

    pub(super) fn note_taken_back(&self) {
        self.resets.set(self.resets.get() + 1);
    }

    pub(super) fn note_answered(&self) {
        self.resets.set(self.resets.get().saturating_sub(1));
    }

    /// Reports whether the client takes back more requests than it may.
    pub(super) fn has_too_many_resets(&self) -> bool {
        self.resets.get() > self.local.limits.resets_max
    }
}

/// Counts an answer behind an undecided ticket, as long as it lives.
pub(super) struct HeldMark(Rc<Cell<usize>>);

impl HeldMark {
    pub(super) fn new(held: &Rc<Cell<usize>>) -> Self {
        held.set(held.get() + 1);
        Self(Rc::clone(held))
    }
}

impl Drop for HeldMark {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
