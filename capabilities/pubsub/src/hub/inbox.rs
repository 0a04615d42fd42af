//! The inbox of a worker: messages on their way from other workers and processes, and from itself.

use crate::limits::{INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, MESSAGES_AT_ONCE, RUN_BYTES_MAX};
use sampan_host::topics::Message;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A message for one worker.
pub(crate) struct Delivery {
    pub(crate) message: Arc<Message>,
    /// True if this worker runs the functions that one worker runs for all.
    pub(crate) runs_once: bool,
}

/// The messages for one worker, bounded: a worker that is busy for long misses some, and is told of which topics.
#[derive(Default)]
pub(crate) struct Inbox {
    queue: Mutex<InboxQueue>,
    notify: Notify,
}

/// The messages that have arrived.
#[derive(Default)]
pub(crate) struct InboxQueue {
    pub(crate) messages: VecDeque<Delivery>,
    bytes: usize,
    /// The topics of which messages were dropped. Later ones are dropped too, until the worker knows of the gap.
    pub(crate) missed: HashSet<Arc<str>>,
}

/// The messages that a worker is about to deliver: those that it has taken from its inbox, then those that are still
/// there.
pub(crate) struct Arrivals {
    inbox: Arc<Inbox>,
    taken: InboxQueue,
}

impl Arrivals {
    pub(crate) fn new(inbox: Arc<Inbox>) -> Self {
        let taken = InboxQueue::default();
        Self { inbox, taken }
    }

    /// Waits until something has arrived since the last wait.
    pub(crate) async fn wait(&self) {
        self.inbox.arrived().await;
    }

    /// Takes the next messages, which are of one topic: as many as one turn delivers to a receiver. None if there are
    /// none, if topics are to be told that they have missed messages, or if the next is not of `topic`.
    pub(crate) fn next_run(&mut self, topic: Option<&str>) -> Vec<Delivery> {
        if self.taken.messages.is_empty() && self.taken.missed.is_empty() {
            self.taken = self.inbox.take();
        }
        let (mut run, mut bytes) = (Vec::<Delivery>::new(), 0);
        while run.len() < MESSAGES_AT_ONCE && bytes < RUN_BYTES_MAX {
            let wanted = run.first().map(|first| &*first.message.topic).or(topic);
            let is_next = |next: &mut Delivery| wanted.is_none_or(|it| it == &*next.message.topic);
            let Some(next) = self.taken.messages.pop_front_if(is_next) else {
                break;
            };
            bytes += next.message.size();
            run.push(next);
        }
        run
    }

    /// Takes the topics of which messages were dropped behind those that were taken.
    pub(crate) fn missed(&mut self) -> HashSet<Arc<str>> {
        std::mem::take(&mut self.taken.missed)
    }
}

impl Inbox {
    /// Adds a message, and wakes the worker.
    pub(crate) fn push(&self, delivery: Delivery) {
        let mut waiting = self.lock();
        let size = delivery.message.size();
        let is_full = waiting.messages.len() >= INBOX_MESSAGES_MAX
            || waiting.bytes.saturating_add(size) > INBOX_BYTES_MAX;
        if is_full || waiting.missed.contains(&delivery.message.topic) {
            waiting.missed.insert(Arc::clone(&delivery.message.topic));
        } else {
            waiting.bytes += size;
            waiting.messages.push_back(delivery);
        }
        drop(waiting);
        self.notify.notify_one();
    }

    /// Tells the worker that messages of a topic were lost on their way.
    pub(crate) fn miss(&self, topic: &Arc<str>) {
        self.lock().missed.insert(Arc::clone(topic));
        self.notify.notify_one();
    }

    /// Takes everything that has arrived.
    pub(crate) fn take(&self) -> InboxQueue {
        std::mem::take(&mut *self.lock())
    }

    /// Waits until something has arrived since the last wait.
    pub(crate) async fn arrived(&self) {
        self.notify.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, InboxQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::topics::{MessageId, MessageKind, Payload};

    fn delivery(topic: &str, number: u64, bytes: usize) -> Delivery {
        let id = MessageId {
            epoch: "e".into(),
            number,
        };
        let payload = Payload::Bytes(vec![0; bytes]);
        let kind = MessageKind::Published;
        Delivery {
            message: Arc::new(Message::new(topic.into(), id, kind, payload, false)),
            runs_once: false,
        }
    }

    #[test]
    fn a_run_has_messages_of_one_topic_in_the_order_of_all() {
        let inbox = Inbox::default();
        for (number, topic) in (1..).zip(["a", "a", "b", "a"]) {
            inbox.push(delivery(topic, number, 1));
        }
        for number in 5..8 {
            inbox.push(delivery("a", number, RUN_BYTES_MAX / 4));
        }
        let mut arrivals = Arrivals::new(Arc::new(inbox));
        let mut next = |topic| {
            let run = arrivals.next_run(topic);
            Vec::from_iter(run.iter().map(|one| one.message.id.number))
        };
        assert_eq!(next(None), [1, 2]);
        assert_eq!(next(Some("a")), [0; 0], "the next one is of another topic");
        assert_eq!(next(None), [3]);
        assert_eq!(next(Some("a")), [4, 5, 6]);
        assert_eq!(next(None), [7]);
        assert_eq!(next(None), [0; 0]);
    }

    #[test]
    fn a_full_inbox_tells_the_topics_that_it_dropped_and_leaves_no_hole() {
        let inbox = Inbox::default();
        inbox.push(delivery("a", 1, INBOX_BYTES_MAX / 4));
        inbox.push(delivery("b", 2, INBOX_BYTES_MAX / 2));
        inbox.push(delivery("a", 3, 1));
        inbox.push(delivery("b", 4, 1));
        let taken = inbox.take();
        let numbers: Vec<u64> = taken
            .messages
            .iter()
            .map(|one| one.message.id.number)
            .collect();
        assert_eq!(numbers, [1, 3]);
        assert!(taken.missed.contains("b") && taken.missed.len() == 1);
        inbox.push(delivery("b", 5, 1));
        assert_eq!(inbox.take().messages.len(), 1);
    }
}
