//! The connection between the prompt and the worker that runs its lines.

use crate::loaded_project::Stop;
use sampan_host::{Error, Value, Watch};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedReceiver;

/// A request to the scripts.
pub(super) enum Ask {
    Run(String),
    Names(String),
    IsOpen(String),
}

/// An answer of the scripts.
pub(super) enum Reply {
    Ready,
    /// A value that the text has shown.
    Shown(Value),
    /// Printed output.
    Printed(Value),
    Ran(Result<(), Error>),
    Names(Vec<String>),
    IsOpen(bool),
}

/// The connection between the prompt and a worker. Clones are the same connection.
#[derive(Clone)]
pub(super) struct Link(Arc<LinkParts>);

struct LinkParts {
    asked: Mutex<Option<UnboundedReceiver<Ask>>>,
    replies: Mutex<Sender<Reply>>,
    stop: Stop,
}

impl Link {
    pub(super) fn new(asked: UnboundedReceiver<Ask>, replies: Sender<Reply>) -> Self {
        Self(Arc::new(LinkParts {
            asked: Mutex::new(Some(asked)),
            replies: Mutex::new(replies),
            stop: Stop::default(),
        }))
    }

    /// Begins to answer, in a worker with this watch. Returns the requests; `None` if they were taken before.
    pub(super) fn serve(&self, watch: Arc<Watch>) -> Option<UnboundedReceiver<Ask>> {
        self.0.stop.watch(watch);
        let mut asked = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take()
    }

    /// Returns the handle that stops a run.
    pub(super) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    pub(super) fn reply(&self, reply: Reply) {
        let replies = self.0.replies.lock();
        // Without a receiver the process is about to end.
        let _ = replies.unwrap_or_else(PoisonError::into_inner).send(reply);
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}
