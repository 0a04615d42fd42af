//! The receivers of the topics on one worker: those whose clients read come before those that are blocked.

use crate::hub::inbox::{Arrivals, Delivery};
use crate::limits::{
    AHEAD_RUNS_MAX, MESSAGES_AT_ONCE, PUSHES_AT_ONCE, RECEIVERS_AT_ONCE, RUN_BYTES_MAX,
};
use sampan_host::topics::Receiver;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::yield_now;

/// A receiver and its place in the order of messages.
#[derive(Clone)]
pub(crate) struct Subscriber {
    pub(crate) receiver: Rc<dyn Receiver>,
    /// The number of the last message before its subscription.
    pub(crate) since: u64,
    /// True for functions that one worker runs for all.
    pub(crate) is_once: bool,
}

impl Subscriber {
    /// Gives it the messages that are for it.
    fn deliver(&self, run: &[Delivery]) {
        for delivery in run {
            let message = &delivery.message;
            if self.since < message.id.number && (delivery.runs_once || !self.is_once) {
                self.receiver.deliver(message);
            }
        }
    }
}

/// The receivers of one kind, by their numbers: in the order in which they came.
type Group = BTreeMap<u64, Subscriber>;

/// The receivers of a topic.
#[derive(Default)]
pub(crate) struct TopicReceivers {
    /// The receivers that get a message first.
    reading: Group,
    /// The receivers that were blocked when they got the last message.
    blocked: Group,
}

impl TopicReceivers {
    fn group(&self, is_blocked: bool) -> &Group {
        match is_blocked {
            true => &self.blocked,
            false => &self.reading,
        }
    }

    pub(crate) fn insert(&mut self, number: u64, subscriber: Subscriber) {
        self.reading.insert(number, subscriber);
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Subscriber> {
        let reading = self.reading.get_mut(&number);
        reading.or_else(|| self.blocked.get_mut(&number))
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Subscriber> {
        let reading = self.reading.remove(&number);
        reading.or_else(|| self.blocked.remove(&number))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reading.is_empty() && self.blocked.is_empty()
    }

    /// Returns the next receivers of a walk.
    fn some(&self, walk: &Walk<'_>) -> Vec<(u64, Subscriber)> {
        let start = walk.last.map_or(Bound::Unbounded, Bound::Excluded);
        let group = self.group(walk.is_blocked);
        let some = group.range((start, Bound::Unbounded)).take(walk.at_once);
        some.map(|(number, one)| (*number, one.clone())).collect()
    }

    /// Moves a receiver to the group in which it belongs now.
    fn regroup(&mut self, number: u64) {
        if let Some(subscriber) = self.remove(number) {
            let group = match subscriber.receiver.is_blocked() {
                true => &mut self.blocked,
                false => &mut self.reading,
            };
            group.insert(number, subscriber);
        }
    }
}

/// The receivers of all topics.
#[derive(Default)]
pub(crate) struct Receivers(pub(crate) RefCell<HashMap<Arc<str>, TopicReceivers>>);

/// A way through one group of receivers, some at a time.
struct Walk<'a> {
    topic: &'a str,
    is_blocked: bool,
    /// The number of the last receiver that was met.
    last: Option<u64>,
    /// The number of receivers that are met before other tasks have their turn.
    at_once: usize,
}

impl<'a> Walk<'a> {
    fn new(topic: &'a str, is_blocked: bool) -> Self {
        Self {
            topic,
            is_blocked,
            last: None,
            at_once: RECEIVERS_AT_ONCE,
        }
    }

    /// Returns a way through the blocked receivers, each of which gets some messages: a push, without a write.
    fn blocked(topic: &'a str, messages: usize) -> Self {
        let at_once = PUSHES_AT_ONCE / messages.max(1);
        Self {
            at_once: at_once.max(RECEIVERS_AT_ONCE),
            ..Self::new(topic, true)
        }
    }
}

/// Adds a run to those that blocked receivers get later: to the last of them, where both are one run.
fn add_run(later: &mut VecDeque<Vec<Delivery>>, mut next: Vec<Delivery>) {
    let size = |run: &[Delivery]| run.iter().map(|one| one.message.size()).sum::<usize>();
    match later.back_mut() {
        Some(last)
            if last.len() + next.len() <= MESSAGES_AT_ONCE
                && size(last) + size(&next) <= RUN_BYTES_MAX =>
        {
            last.append(&mut next);
        }
        _ => later.push_back(next),
    }
}

impl Receivers {
    /// Shows the next receivers of a walk. False if there may be others behind them, or blocked ones that are met once
    /// these have written: the worker's other tasks have their turn first.
    fn see_some(&self, walk: &mut Walk<'_>, mut see: impl FnMut(u64, &Subscriber)) -> bool {
        let (some, is_end) = {
            let receivers = self.0.borrow();
            let Some(of_topic) = receivers.get(walk.topic) else {
                return true;
            };
            let some = of_topic.some(walk);
            let is_last = walk.is_blocked || of_topic.blocked.is_empty();
            let is_end = some.is_empty() || (is_last && some.len() < walk.at_once);
            (some, is_end)
        };
        for (number, one) in &some {
            see(*number, one);
            walk.last = Some(*number);
        }
        is_end
    }

    /// Gives a run of messages of one topic to its receivers, all of them to one after the other, so that a client gets
    /// them in one write. Receivers that are blocked come last. Meanwhile others get the next messages of the topic,
    /// where those are next among all that have arrived.
    pub(crate) async fn deliver(&self, run: Vec<Delivery>, arrivals: &mut Arrivals) {
        let Some(first) = run.first() else {
            return;
        };
        let topic = Arc::clone(&first.message.topic);
        let mut changed = BTreeSet::new();
        self.deliver_to_reading(&topic, &run, &mut changed).await;
        let mut ahead = 0;
        let mut runs = VecDeque::from([run]);
        while let Some(run) = runs.pop_front() {
            let mut walk = Walk::blocked(&topic, run.len());
            loop {
                let is_end = self.see_some(&mut walk, |number, one| {
                    one.deliver(&run);
                    if !one.receiver.is_blocked() {
                        changed.insert(number);
                    }
                });
                if is_end {
                    break;
                }
                yield_now().await;
                if ahead < AHEAD_RUNS_MAX {
                    let next = arrivals.next_run(Some(&topic));
                    if !next.is_empty() {
                        ahead += 1;
                        self.deliver_to_reading(&topic, &next, &mut changed).await;
                        add_run(&mut runs, next);
                    }
                }
            }
            if !runs.is_empty() {
                yield_now().await;
            }
        }
        self.regroup(&topic, changed).await;
    }

    /// Moves receivers to the groups in which they belong now. Not before all have got the same messages: one that
    /// moves would miss what the other group has got.
    async fn regroup(&self, topic: &str, changed: BTreeSet<u64>) {
        for (at, number) in changed.into_iter().enumerate() {
            if at % RECEIVERS_AT_ONCE == RECEIVERS_AT_ONCE - 1 {
                yield_now().await;
            }
            if let Some(of_topic) = self.0.borrow_mut().get_mut(topic) {
                of_topic.regroup(number);
            }
        }
    }

    async fn deliver_to_reading(&self, topic: &str, run: &[Delivery], changed: &mut BTreeSet<u64>) {
        if run.is_empty() {
            return;
        }
        let mut walk = Walk::new(topic, false);
        loop {
            let is_end = self.see_some(&mut walk, |number, one| {
                one.deliver(run);
                if one.receiver.is_blocked() {
                    changed.insert(number);
                }
            });
            if is_end {
                return;
            }
            yield_now().await;
        }
    }

    /// Tells all receivers of a topic that they have missed messages.
    pub(crate) async fn miss(&self, topic: &str) {
        for is_blocked in [false, true] {
            let mut walk = Walk::new(topic, is_blocked);
            while !self.see_some(&mut walk, |_, one| one.receiver.missed(topic)) {
                yield_now().await;
            }
        }
    }
}
