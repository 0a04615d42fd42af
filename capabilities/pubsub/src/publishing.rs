//! The way of a message from the script that publishes it: to the hub of this process, or to the carrier of all.

use crate::limits::HELD_BYTES_MAX;
use crate::worker::WorkerTopics;
use sampan_host::carrier::{Carrier, Publication, WorkerCarrier};
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::topics::MessageKind;
use sampan_host::{Effects, Error, ErrorKind, RequestView, Verdict};
use std::cell::Cell;
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

/// The bytes of a message that waits for a commit.
struct HeldBytes {
    all: Rc<Cell<usize>>,
    bytes: usize,
}

impl HeldBytes {
    fn new(all: &Rc<Cell<usize>>, bytes: usize) -> Result<Self, Error> {
        let before = all.get();
        if before > 0 && before + bytes > HELD_BYTES_MAX {
            let text = format!(
                "publish: more than {HELD_BYTES_MAX} bytes of messages wait for commits: publish fewer between a write \
                 and its commit"
            );
            return Err(Error::new(ErrorKind::Unavailable, text));
        }
        all.set(before + bytes);
        let all = Rc::clone(all);
        Ok(Self { all, bytes })
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.bytes);
    }
}

impl WorkerTopics {
    /// Publishes a message in this process, when everything is committed that it may depend on.
    ///
    /// # Errors
    /// Fails if the writes of the run were rolled back, or too many messages wait.
    pub(crate) fn publish_here(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        publication: Publication,
    ) -> Result<(), Error> {
        let hub = Arc::clone(&self.hub);
        let effects = &self.around.effects;
        let held = match effects.are_held(request)? {
            true => Some(HeldBytes::new(&self.held_bytes, publication.size())?),
            false => None,
        };
        effects.when_settled(request, move |verdict| {
            drop(held);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_have_a_limit() {
        let all = Rc::default();
        let hold = |bytes| HeldBytes::new(&all, bytes);
        // A single one may be larger.
        drop(hold(HELD_BYTES_MAX + 1).expect("room"));
        let held = hold(HELD_BYTES_MAX).expect("room");
        let error = hold(1).err().expect("no room");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        drop(held);
        assert!(hold(1).is_ok() && all.get() == 0);
    }
}
