//! The topics of one worker: who receives what here.

use crate::hub::inbox::{Arrivals, Inbox};
use crate::hub::members::Member;
use crate::hub::{Hub, WorkerKey};
use crate::limits::{MEMBER_BYTES_MAX, MESSAGES_AT_ONCE, SHOWN_BYTES_MAX, TOPIC_BYTES_MAX};
use crate::publishing::Surroundings;
use crate::receivers::{Receivers, Subscriber};
use sampan_host::carrier::Publication;
use sampan_host::topics::{Joining, Membership, Missed, Payload, Receiver, Subscription, Topics};
use sampan_host::{Error, RequestView, Value, Verdict};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use tokio::task::{JoinHandle, spawn_local};

/// The topics of one worker, over all the isolates that it has one after the other.
pub(crate) struct WorkerTopics {
    pub(crate) hub: Arc<Hub>,
    pub(crate) around: Surroundings,
    /// The bytes of messages that wait for commits.
    pub(crate) held_bytes: Rc<Cell<usize>>,
    place: usize,
    /// Made when the worker begins to serve, or with its first receiver.
    inbox: OnceCell<(WorkerKey, Arc<Inbox>)>,
    receivers: Receivers,
    next: Cell<u64>,
    /// Delivers what arrives in the inbox.
    task: RefCell<Option<JoinHandle<()>>>,
}

/// Checks the name of a topic.
///
/// # Errors
/// The name is empty or too long, or has control characters or a `*`.
pub(crate) fn check_topic(topic: &str) -> Result<(), Error> {
    check_pattern(topic)?;
    if topic.contains('*') {
        return Err(misplaced_star(topic));
    }
    Ok(())
}

/// Checks the name of a topic, or what stands for all topics whose names begin so.
///
/// # Errors
/// The name is empty or too long, or has control characters or a `*` before its end.
pub(crate) fn check_pattern(topic: &str) -> Result<(), Error> {
    let is_long = topic.len() > TOPIC_BYTES_MAX;
    if topic.is_empty() || is_long || topic.chars().any(char::is_control) {
        return Err(Error::script(format!(
            "the name of a topic has 1 to {TOPIC_BYTES_MAX} bytes and no control characters, not {}",
            shown(topic)
        )));
    }
    if topic.strip_suffix('*').unwrap_or(topic).contains('*') {
        return Err(misplaced_star(topic));
    }
    Ok(())
}

fn misplaced_star(topic: &str) -> Error {
    Error::script(format!(
        "`*` stands only at the end of a name given to app.topic, not as in {}",
        shown(topic)
    ))
}

/// Returns a name for a message, cut where it is long.
fn shown(topic: &str) -> String {
    let mut starts = topic.char_indices().map(|(at, _)| at);
    match starts.find(|at| *at >= SHOWN_BYTES_MAX) {
        Some(end) => format!("{:?} and so on ({} bytes)", &topic[..end], topic.len()),
        None => format!("{topic:?}"),
    }
}

impl WorkerTopics {
    /// Creates the topics of the worker at a place.
    pub(crate) fn new(hub: Arc<Hub>, place: usize, around: Surroundings) -> Rc<Self> {
        Rc::new(Self {
            hub,
            around,
            held_bytes: Rc::default(),
            place,
            inbox: OnceCell::new(),
            receivers: Receivers::default(),
            next: Cell::new(0),
            task: RefCell::default(),
        })
    }

    /// Has messages go by the carrier, if there is one.
    pub(crate) fn carry(&self) {
        if let Some(carrier) = &self.around.carrier {
            self.hub.carry_by(carrier.carrier());
        }
    }

    /// Begins to deliver what arrives.
    fn key(self: &Rc<Self>) -> WorkerKey {
        let (key, inbox) = self.inbox.get_or_init(|| self.hub.add_worker(self.place));
        if self.task.borrow().is_none() {
            let (worker, inbox) = (Rc::downgrade(self), Arc::clone(inbox));
            let task = spawn_local(deliver_all(worker, inbox));
            self.task.replace(Some(task));
        }
        *key
    }

    /// Adds a receiver. `begin` tells the hub, and returns the number of the last message so far. Returns the number of
    /// the receiver too.
    fn add(
        self: &Rc<Self>,
        topic: &str,
        receiver: Rc<dyn Receiver>,
        is_once: bool,
        begin: impl FnOnce(&Hub, WorkerKey, &Arc<str>) -> u64,
    ) -> Result<(u64, Subscription), Error> {
        check_topic(topic)?;
        let key = self.key();
        let number = self.next.get();
        self.next.set(number + 1);
        let mut receivers = self.receivers.0.borrow_mut();
        let topic = match receivers.get_key_value(topic) {
            Some((known, _)) => Arc::clone(known),
            None => topic.into(),
        };
        let since = begin(&self.hub, key, &topic);
        if is_once {
            self.hub.count_once(key, &topic, true);
        }
        receivers.entry(Arc::clone(&topic)).or_default().insert(
            number,
            Subscriber {
                receiver,
                since,
                is_once,
            },
        );
        let worker = Rc::downgrade(self);
        let subscription = Subscription::new(move || {
            if let Some(worker) = worker.upgrade() {
                worker.remove(key, &topic, number);
            }
        });
        Ok((number, subscription))
    }

    /// Puts a receiver in the place of the one with a number: it gets the messages that this one has not got yet.
    pub(crate) fn replace(&self, topic: &str, number: u64, receiver: Rc<dyn Receiver>) {
        let mut receivers = self.receivers.0.borrow_mut();
        let of_topic = receivers.get_mut(topic);
        if let Some(subscriber) = of_topic.and_then(|of_topic| of_topic.get_mut(number)) {
            subscriber.receiver = receiver;
        }
    }

    fn remove(&self, key: WorkerKey, topic: &str, number: u64) {
        let (removed, is_last) = {
            let mut receivers = self.receivers.0.borrow_mut();
            let Some(of_topic) = receivers.get_mut(topic) else {
                return;
            };
            let removed = of_topic.remove(number);
            let is_last = of_topic.is_empty();
            if is_last {
                receivers.remove(topic);
            }
            (removed, is_last)
        };
        if is_last {
            self.hub.remove_interest(key, topic);
        } else if removed.is_some_and(|one| one.is_once) {
            self.hub.count_once(key, topic, false);
        }
    }

    /// Subscribes a function: one that each worker runs, or with `is_once` one that one worker runs for all. Returns
    /// its number for [`WorkerTopics::replace`].
    pub(crate) fn subscribe_function(
        self: &Rc<Self>,
        topic: &str,
        receiver: Rc<dyn Receiver>,
        is_once: bool,
    ) -> Result<(u64, Subscription), Error> {
        self.add(topic, receiver, is_once, Hub::add_interest)
    }
}

/// Delivers what arrives in the inbox of a worker, as long as that is there.
async fn deliver_all(worker: Weak<WorkerTopics>, inbox: Arc<Inbox>) {
    let mut arrivals = Arrivals::new(inbox);
    loop {
        arrivals.wait().await;
        let mut in_turn = 0;
        loop {
            let run = arrivals.next_run(None);
            if run.is_empty() {
                break;
            }
            if in_turn + run.len() > MESSAGES_AT_ONCE {
                tokio::task::yield_now().await;
                in_turn = 0;
            }
            in_turn += run.len();
            let Some(worker) = worker.upgrade() else {
                return;
            };
            worker.receivers.deliver(run, &mut arrivals).await;
        }
        for topic in arrivals.missed() {
            let Some(worker) = worker.upgrade() else {
                return;
            };
            worker.receivers.miss(&topic).await;
        }
    }
}

impl Drop for WorkerTopics {
    fn drop(&mut self) {
        if let Some((key, _)) = self.inbox.get() {
            self.hub.remove_worker(*key);
        }
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// The topics of a worker as its isolates and other capabilities see them.
pub(crate) struct TopicsHandle(pub(crate) Rc<WorkerTopics>);

impl Topics for TopicsHandle {
    fn publish(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        topic: &str,
        payload: Payload,
    ) -> Result<(), Error> {
        check_topic(topic)?;
        self.0.hub.check(&payload)?;
        let topic = Arc::from(topic);
        let publication = Publication { topic, payload };
        match self.0.hub.carrier() {
            Some(carrier) => self.0.publish_by(carrier, request, publication),
            None => self.0.publish_here(request, publication),
        }
    }

    fn subscribe(&self, topic: &str, receiver: Rc<dyn Receiver>) -> Result<Subscription, Error> {
        let added = self.0.add(topic, receiver, false, Hub::add_interest);
        added.map(|(_, subscription)| subscription)
    }

    fn resume(
        &self,
        topic: &str,
        last: &str,
        receiver: Rc<dyn Receiver>,
    ) -> Result<(Subscription, Missed), Error> {
        let mut missed = Missed::TooMany;
        let (_, subscription) = self.0.add(topic, receiver, false, |hub, key, topic| {
            let (since, found) = hub.resume(key, topic, last);
            missed = found;
            since
        })?;
        Ok((subscription, missed))
    }

    fn join(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        topic: &str,
        joining: Joining,
    ) -> Result<Membership, Error> {
        check_topic(topic)?;
        let Joining {
            data,
            replaces,
            settled,
        } = joining;
        if data.len() > MEMBER_BYTES_MAX {
            return Err(Error::script(format!(
                "the data of a member has {} bytes of JSON; at most {MEMBER_BYTES_MAX} are kept",
                data.len()
            )));
        }
        if !replaces {
            self.0.hub.check_members(topic)?;
        }
        let key = self.0.key();
        /// The place of a member, which may leave before it has joined.
        #[derive(Default)]
        struct Place {
            member: RefCell<Option<Arc<Member>>>,
            has_left: Cell<bool>,
        }
        let place = Rc::new(Place::default());
        let (hub, topic) = (Arc::clone(&self.0.hub), Arc::<str>::from(topic));
        let leaves = {
            let (hub, topic, place) = (Arc::clone(&hub), Arc::clone(&topic), Rc::clone(&place));
            move || {
                place.has_left.set(true);
                if let Some(member) = place.member.take() {
                    hub.leave(&topic, &member);
                }
            }
        };
        self.0
            .around
            .effects
            .when_settled(request, move |verdict| {
                settled(verdict);
                // A topic that is full by now has no room for it.
                if verdict == Verdict::Committed
                    && !place.has_left.get()
                    && let Ok(member) = hub.join(key, &topic, &data)
                {
                    place.member.replace(Some(member));
                }
            })?;
        Ok(Membership(Subscription::new(leaves)))
    }

    fn members(&self, topic: &str) -> Result<Value, Error> {
        self.0.hub.members(topic)
    }

    fn has_receivers(&self) -> bool {
        !self.0.receivers.0.borrow().is_empty()
    }
}

#[cfg(test)]
mod tests;
