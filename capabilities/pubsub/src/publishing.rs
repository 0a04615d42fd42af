//! The way of a message from the script that publishes it: to the hub of this process, or to the carrier of all.

use crate::worker::WorkerTopics;
use sampan_host::carrier::{Carrier, Publication, WorkerCarrier};
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::topics::MessageKind;
use sampan_host::{Effects, Error, ErrorKind, RequestView, Verdict};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::spawn_local;

/// The parts of a worker that topics use.
pub(crate) struct Surroundings {
    /// Holds what depends on writes that are not committed.
    pub(crate) effects: Effects,
    /// The carrier of messages, where the database is one.
    pub(crate) carrier: Option<Rc<Rc<dyn WorkerCarrier>>>,
    pub(crate) log: Option<Rc<Rc<dyn Log>>>,
}

impl WorkerTopics {
    /// Publishes a message in this process, when everything is committed that it may depend on.
    pub(crate) fn publish_here(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        publication: Publication,
    ) -> Result<(), Error> {
        let hub = Arc::clone(&self.hub);
        self.around.effects.when_settled(request, move |verdict| {
            if verdict == Verdict::Committed {
                let Publication { topic, payload } = publication;
                hub.publish(topic, MessageKind::Published, payload);
            }
        })
    }

    /// Publishes a message in all processes: with the commit of the batch or transaction that is open, else before the
    /// answer leaves.
    pub(crate) fn publish_by(
        &self,
        carrier: &Arc<dyn Carrier>,
        request: Option<&Rc<dyn RequestView>>,
        publication: Publication,
    ) -> Result<(), Error> {
        let missing = || Error::new(ErrorKind::Internal, "no database for topics");
        let of_worker = self.around.carrier.as_ref().ok_or_else(missing)?;
        if of_worker.enclose(request, &publication)? {
            return Ok(());
        }
        let dependencies = self.around.effects.dependencies(request)?;
        // The answer waits for the message, and the message not for itself.
        let release = of_worker.hold();
        let (carrier, log) = (Arc::clone(carrier), self.around.log.clone());
        dependencies.when_settled(move |verdict| {
            if verdict == Verdict::Failed {
                return release(verdict);
            }
            let (told, outcome) = oneshot::channel();
            carrier.publish(publication, Box::new(|outcome| drop(told.send(outcome))));
            drop(spawn_local(async move {
                let ended = |_| Err(Error::new(ErrorKind::Unavailable, "the server ends"));
                let Err(error) = outcome.await.unwrap_or_else(ended) else {
                    return release(Verdict::Committed);
                };
                if let Some(log) = log {
                    let text = format!("app.publish: {error}");
                    let cause = Cause::message(&text);
                    log.write_limited(Level::Error, cause, &Entry::text(text));
                }
                release(Verdict::Failed);
            }));
        });
        Ok(())
    }
}
