//! Answers that wait for their turn in the output, and the handler whose answer is awaited.

use std::rc::Rc;
use std::sync::Arc;

use super::observed::Observed;
use crate::answer::{Answer, Ticket};
use crate::codec::encoder::Exchange;
use crate::future::LocalFuture;
use crate::precomputed::Precomputed;
use crate::request::Request;
use crate::response::{Body, Response};
use crate::upgrade::Upgrade;

/// A response that is ready to be serialised.
pub(super) enum Reply {
    Response(Response),
    Precomputed(Arc<Precomputed>),
    Upgrade(Box<Upgrade>),
}

impl Reply {
    pub(super) fn status(&self) -> u16 {
        match self {
            Reply::Response(response) => response.status(),
            Reply::Precomputed(response) => response.status(),
            Reply::Upgrade(_) => 101,
        }
    }

    pub(super) fn is_streamed(&self) -> bool {
        matches!(self, Reply::Response(response) if matches!(response.body(), Body::Stream(_)))
    }
}

/// An answer that cannot be serialised yet: its own ticket or one before it is undecided, or output is full.
pub(super) struct Queued {
    pub(super) reply: Reply,
    pub(super) ticket: Option<Ticket>,
    pub(super) exchange: Exchange,
    /// The time at which an undecided ticket is given up; counted from the answer.
    pub(super) by: u64,
    pub(super) observed: Observed,
}

impl Queued {
    /// The memory that its response holds, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        match &self.reply {
            Reply::Response(response) => response.body().held_bytes(),
            Reply::Precomputed(_) | Reply::Upgrade(_) => 0,
        }
    }
}

/// A handler's future under way. At most one per connection: the requests behind it wait.
pub(super) struct RunningHandler {
    pub(super) future: LocalFuture<Answer>,
    pub(super) exchange: Exchange,
    /// Kept so that its buffer can be used again if the future has not kept it.
    pub(super) request: Option<Rc<Request>>,
    pub(super) by: u64,
    pub(super) observed: Observed,
}
