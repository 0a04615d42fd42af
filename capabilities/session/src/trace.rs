//! The trace of a session that a socket needs when its request has ended.

use crate::store::{SessionKey, StoredSession};
use sampan_host::RequestView;
use std::cell::RefCell;
use std::rc::Rc;

/// A way to find a session again.
#[derive(Clone, Default)]
pub(crate) enum Trace {
    /// No session.
    #[default]
    None,
    /// A key of the table.
    Table(SessionKey),
    /// The content of the cookie.
    Cookie(StoredSession),
}

/// The trace of a request's session. The session of the request keeps it up to date.
#[derive(Default)]
pub(crate) struct TraceOfRequest(RefCell<Trace>);

impl TraceOfRequest {
    /// Returns that of a request; true if it was made by this call.
    pub(crate) fn of(request: &dyn RequestView) -> (Rc<Self>, bool) {
        match request.store().get::<Self>() {
            Some(known) => (known, false),
            None => (request.store().put(Self::default()), true),
        }
    }

    pub(crate) fn get(&self) -> Trace {
        self.0.borrow().clone()
    }

    pub(crate) fn set(&self, trace: Trace) {
        self.0.replace(trace);
    }
}
