//! The messages of several topics that a client missed, in one order.

use super::outgoing::Outgoing;
use crate::topics::{Message, Receiver};
use std::cell::{Cell, RefCell};
use std::rc::Weak;
use std::sync::Arc;

/// The messages that a client missed, of all topics to which its function subscribes before anything is sent between.
///
/// They are sent when that run ends, in the order of their numbers. So the id that the client had last stands for all
/// these topics. It does not stand for one to which a function subscribes later: the connection before may have ended
/// in between, with an id of the topics that came first.
#[derive(Default)]
pub struct Replay {
    missed: RefCell<Missed>,
    /// Counts the times at which the client could have been sent something.
    turn: Cell<u64>,
    /// The turn of the first subscription.
    first: Cell<Option<u64>>,
}

#[derive(Default)]
struct Missed {
    /// The place in the queue: behind what was sent before the first subscription.
    at: usize,
    messages: Vec<(Arc<Message>, Weak<dyn Receiver>)>,
}

impl Replay {
    /// Adds messages for a receiver, behind the first `at` events that wait.
    pub(super) fn add(
        &self,
        at: usize,
        messages: Vec<Arc<Message>>,
        receiver: &Weak<dyn Receiver>,
    ) {
        let mut missed = self.missed.borrow_mut();
        if missed.messages.is_empty() {
            missed.at = at;
        }
        let messages = messages.into_iter();
        let for_receiver = messages.map(|message| (message, Weak::clone(receiver)));
        missed.messages.extend(for_receiver);
    }

    /// Gives the messages to their receivers, which put them into the queue. A receiver that is gone gets none.
    pub(super) fn deliver(&self, out: &RefCell<Outgoing>) {
        self.turn.set(self.turn.get() + 1);
        let mut missed = self.missed.take();
        if missed.messages.is_empty() {
            return;
        }
        let behind = out.borrow_mut().split_off(missed.at);
        missed
            .messages
            .sort_by_key(|(message, _)| message.id.number);
        for (message, receiver) in missed.messages {
            if let Some(receiver) = receiver.upgrade() {
                receiver.deliver(&message);
            }
        }
        out.borrow_mut().append(behind);
    }

    /// Takes note of a subscription. True if the client's last id stands for its topic too: nothing was sent since the
    /// first subscription.
    pub fn begin(&self) -> bool {
        let turn = self.turn.get();
        let first = self.first.get().unwrap_or(turn);
        self.first.set(Some(first));
        first == turn
    }
}
