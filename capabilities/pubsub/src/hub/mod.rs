//! The hub: what all workers of a process share of their topics.
//!
//! One lock orders all messages: under it a message gets its number, is kept, and is put into the inbox of each worker
//! that has receivers. So every worker sees the messages of all topics in the order of their numbers, and a receiver
//! that knows the last number that it got knows what it missed.
//!
//! Where a database carries messages between processes, it gives them their numbers. Then the hub gets all messages,
//! its own too, from one thread in their order.

mod carried;
pub(crate) mod history;
pub(crate) mod inbox;
pub(crate) mod members;
pub(crate) mod rules;

use crate::config::TopicsConfig;
use crate::limits::HISTORY_BYTES_MAX;
use history::Histories;
use inbox::{Delivery, Inbox};
use members::{JoinPlace, Member, MemberOwner, Members};
use rules::TopicRules;
use sampan_host::carrier::{Carrier, OwnMember};
use sampan_host::topics::{Message, MessageId, MessageKind, Missed, Payload};
use sampan_host::{Error, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The topics of a process. It outlives reloads.
pub struct Hub {
    /// The name of the process, and of the order of its messages where nothing carries them.
    epoch: Arc<str>,
    state: Mutex<HubState>,
    /// Brings messages from all processes, from the moment on at which the first worker serves.
    carrier: OnceLock<Arc<dyn Carrier>>,
}

#[derive(Default)]
struct HubState {
    config: Option<TopicsConfig>,
    rules: TopicRules,
    /// The number of the last message.
    last: u64,
    /// The number of the last worker, or member.
    counted: u64,
    /// The order of messages where they are carried.
    carried: Option<CarriedOrder>,
    topics: HashMap<Arc<str>, Vec<Interest>>,
    histories: Histories,
    members: Members,
    workers: Vec<(WorkerKey, Arc<Inbox>)>,
}

/// The order in which messages are carried.
struct CarriedOrder {
    epoch: Arc<str>,
    /// The number of the last message that the list of members knew of at the beginning.
    members_at: u64,
}

/// The most messages by which a client may be ahead of this process, because it was connected to another before.
const AHEAD_MAX: u64 = 100_000;

/// Names a worker: its place among the workers, and its number among those that had the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerKey {
    place: usize,
    turn: u64,
}

/// The interest of a worker in a topic.
struct Interest {
    worker: WorkerKey,
    inbox: Arc<Inbox>,
    /// The number of functions that one worker runs for all.
    once: usize,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// Creates the hub of a process.
    pub(crate) fn new() -> Result<Self, String> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| format!("no random numbers: {error}"))?;
        Ok(Self {
            epoch: format!("{:x}", u64::from_le_bytes(random) >> 8).into(),
            state: Mutex::default(),
            carrier: OnceLock::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what the project says of topics. A topic that keeps fewer messages than before drops the oldest when the
    /// next one comes.
    pub(crate) fn configure(&self, config: TopicsConfig, rules: TopicRules) {
        let mut state = self.state();
        state.config = Some(config);
        // Each worker says the same.
        if state.rules != rules {
            let last = state.last;
            let before = std::mem::replace(&mut state.rules, rules);
            state
                .histories
                .forget_unless(last, |topic| before.history(topic) > 0);
        }
    }

    /// Adds a worker, in place of one before.
    pub(crate) fn add_worker(&self, place: usize) -> (WorkerKey, Arc<Inbox>) {
        self.remove_workers(|key| key.place == place);
        let mut state = self.state();
        state.counted += 1;
        let key = WorkerKey {
            place,
            turn: state.counted,
        };
        let inbox = Arc::<Inbox>::default();
        state.workers.push((key, Arc::clone(&inbox)));
        (key, inbox)
    }

    /// Removes a worker.
    pub(crate) fn remove_worker(&self, key: WorkerKey) {
        self.remove_workers(|other| other == key);
    }

    /// Removes workers. The members leave whose connections they had.
    fn remove_workers(&self, is_it: impl Fn(WorkerKey) -> bool) {
        let gone = {
            let mut state = self.state();
            state.workers.retain(|(key, _)| !is_it(*key));
            state.topics.retain(|_, interested| {
                interested.retain(|interest| !is_it(interest.worker));
                !interested.is_empty()
            });
            let is_gone = |owner| matches!(owner, MemberOwner::Worker(key) if is_it(key));
            state.members.remove_of(is_gone)
        };
        for (topic, member) in gone {
            self.tell_of_leaving(topic, &member);
        }
    }

    /// Gives a worker the messages of a topic from now on. Returns the number of the last message.
    pub(crate) fn add_interest(&self, key: WorkerKey, topic: &Arc<str>) -> u64 {
        let mut state = self.state();
        state.add_interest(key, topic);
        state.last
    }

    /// Does the same, and returns the messages behind the one with the id `last`.
    pub(crate) fn resume(&self, key: WorkerKey, topic: &Arc<str>, last: &str) -> (u64, Missed) {
        let mut state = self.state();
        state.add_interest(key, topic);
        self.after(&state, topic, last)
    }

    fn after(&self, state: &HubState, topic: &str, last: &str) -> (u64, Missed) {
        let (order, ahead_max) = match &state.carried {
            Some(carried) => (&carried.epoch, AHEAD_MAX),
            None => (&self.epoch, 0),
        };
        let number = last
            .rsplit_once('-')
            .filter(|(epoch, _)| *epoch == &**order)
            .and_then(|(_, number)| number.parse().ok())
            .filter(|number| *number <= state.last.saturating_add(ahead_max));
        match number {
            // There was no message since, or this process has not got it yet.
            Some(number) if number >= state.last => (number, Missed::These(Vec::new())),
            _ if state.rules.history(topic) == 0 => (state.last, Missed::TooMany),
            Some(number) => (state.last, state.histories.after(topic, number)),
            None => (state.last, Missed::TooMany),
        }
    }

    /// Ends the interest of a worker in a topic.
    pub(crate) fn remove_interest(&self, key: WorkerKey, topic: &str) {
        let mut state = self.state();
        if let Some(interested) = state.topics.get_mut(topic) {
            interested.retain(|interest| interest.worker != key);
            if interested.is_empty() {
                state.topics.remove(topic);
            }
        }
    }

    /// Takes note of a function that one worker runs for all, or of the end of one.
    pub(crate) fn count_once(&self, key: WorkerKey, topic: &str, is_added: bool) {
        let mut state = self.state();
        let interested = state.topics.get_mut(topic).into_iter().flatten();
        for interest in interested.filter(|interest| interest.worker == key) {
            interest.once = match is_added {
                true => interest.once + 1,
                false => interest.once.saturating_sub(1),
            };
        }
    }

    /// Checks the size of a message.
    pub(crate) fn check(&self, payload: &Payload) -> Result<(), Error> {
        let config = self.state().config;
        let bytes_max = config.map_or(usize::MAX, |config| config.message_bytes_max);
        let bytes = payload.bytes().len();
        if bytes <= bytes_max {
            return Ok(());
        }
        Err(Error::script(format!(
            "the message has {bytes} bytes; at most {bytes_max} are published ([topics] message_bytes_max): publish \
             the id of what is large"
        )))
    }

    /// Sends a message to all receivers in this process.
    pub(crate) fn publish(&self, topic: Arc<str>, kind: MessageKind, payload: Payload) {
        let mut state = self.state();
        let reaches_any = state.reaches_any(&topic, kind);
        // One that no one gets has a number too: a client that was away has missed it.
        if reaches_any || kind == MessageKind::Published {
            state.last += 1;
        }
        if reaches_any {
            let epoch = Arc::clone(&self.epoch);
            state.deliver(epoch, topic, kind, payload);
        }
    }

    /// Checks that a topic has room for one more member.
    pub(crate) fn check_members(&self, topic: &str) -> Result<(), Error> {
        self.state().members.check(topic)
    }

    /// Adds a member, and tells of it.
    pub(crate) fn join(
        &self,
        key: WorkerKey,
        topic: &Arc<str>,
        data: &str,
    ) -> Result<Arc<Member>, Error> {
        let member = {
            let mut state = self.state();
            state.counted += 1;
            let place = JoinPlace {
                message: state.last,
                number: state.counted,
            };
            let member = Arc::new(Member::own(&self.epoch, place, key, data));
            state.members.add(topic, &member)?;
            member
        };
        match self.carrier.get() {
            Some(carrier) => carrier.join(OwnMember {
                number: member.number(),
                topic: Arc::clone(topic),
                json: member.json().to_owned(),
            }),
            None => {
                let payload = Payload::Json(member.json().to_owned());
                self.publish(Arc::clone(topic), MessageKind::Joined, payload);
            }
        }
        Ok(member)
    }

    /// Removes a member, and tells of it.
    pub(crate) fn leave(&self, topic: &Arc<str>, member: &Member) {
        if self.state().members.remove(topic, member.id()) {
            self.tell_of_leaving(Arc::clone(topic), member);
        }
    }

    fn tell_of_leaving(&self, topic: Arc<str>, member: &Member) {
        match self.carrier.get() {
            Some(carrier) => carrier.leave(member.number()),
            None => {
                let payload = Payload::Json(member.json().to_owned());
                self.publish(topic, MessageKind::Left, payload);
            }
        }
    }

    /// Returns the members of a topic.
    ///
    /// # Errors
    /// The data of a member is not JSON.
    pub(crate) fn members(&self, topic: &str) -> Result<Value, Error> {
        self.state().members.list(topic)
    }

    /// Forgets the messages that topics keep.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        let forgotten = match state.carried {
            Some(_) => state.last,
            None => 0,
        };
        state.histories.clear(forgotten);
    }
}

impl HubState {
    /// Returns the number of messages that a topic keeps of a kind. Joins and leaves are not kept: the list of members
    /// has what they come to.
    fn kept(&self, topic: &str, kind: MessageKind) -> usize {
        match kind {
            MessageKind::Published => self.rules.history(topic),
            MessageKind::Joined | MessageKind::Left => 0,
        }
    }

    /// Reports whether a message is kept, or a worker has receivers for it.
    fn reaches_any(&self, topic: &str, kind: MessageKind) -> bool {
        self.topics.contains_key(topic) || self.kept(topic, kind) > 0
    }

    /// Gives the workers the message that has the last number, and keeps it.
    fn deliver(&mut self, epoch: Arc<str>, topic: Arc<str>, kind: MessageKind, payload: Payload) {
        let count = self.kept(&topic, kind);
        let id = MessageId {
            epoch,
            number: self.last,
        };
        let message = Arc::new(Message::new(topic, id, kind, payload, count > 0));
        if count > 0 {
            self.histories.add(&message, count, HISTORY_BYTES_MAX);
        }
        let interested = self.topics.get(&message.topic);
        let interested = interested.map_or(&[][..], Vec::as_slice);
        let once = interested
            .iter()
            .filter(|interest| interest.once > 0)
            .map(|interest| interest.worker)
            .min();
        for interest in interested {
            interest.inbox.push(Delivery {
                message: Arc::clone(&message),
                runs_once: once == Some(interest.worker),
            });
        }
    }

    fn add_interest(&mut self, key: WorkerKey, topic: &Arc<str>) {
        let Some((_, inbox)) = self.workers.iter().find(|(other, _)| *other == key) else {
            return;
        };
        let interested = self.topics.entry(Arc::clone(topic)).or_default();
        if interested.iter().all(|interest| interest.worker != key) {
            interested.push(Interest {
                worker: key,
                inbox: Arc::clone(inbox),
                once: 0,
            });
        }
    }
}

#[cfg(test)]
mod tests;
