//! The connection between the prompt and the worker that runs its lines.

use sampan_host::{Error, Value, Watch};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

/// The interval at which a run that must stop is told so.
const STOP_PAUSE: Duration = Duration::from_millis(2);

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
    /// The watch of the worker, once there is one.
    watch: OnceLock<Arc<Watch>>,
    /// Notified when the person gives up what runs.
    given_up: Notify,
}

impl Link {
    pub(super) fn new(asked: UnboundedReceiver<Ask>, replies: Sender<Reply>) -> Self {
        Self(Arc::new(LinkParts {
            asked: Mutex::new(Some(asked)),
            replies: Mutex::new(replies),
            watch: OnceLock::new(),
            given_up: Notify::new(),
        }))
    }

    /// Begins to answer, in a worker with this watch. Returns the requests; `None` if they were taken before.
    pub(super) fn serve(&self, watch: Arc<Watch>) -> Option<UnboundedReceiver<Ask>> {
        let _ = self.0.watch.set(watch);
        let mut asked = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take()
    }

    /// Completes when the person gives up what runs.
    pub(super) fn given_up(&self) -> impl Future<Output = ()> {
        self.0.given_up.notified()
    }

    /// Stops the script that runs, or gives up what it waits for.
    pub(super) fn stop(&self) {
        let Some(watch) = self.0.watch.get() else {
            return;
        };
        let epoch = watch.epoch();
        while epoch & 1 == 1 && watch.epoch() == epoch {
            watch.stop(epoch);
            std::thread::sleep(STOP_PAUSE);
        }
        if epoch & 1 == 0 {
            self.0.given_up.notify_one();
        }
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
