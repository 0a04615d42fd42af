//! The messages of several topics that a client missed, in one order.

use super::outgoing::Outgoing;
use crate::topics::{Message, Receiver};
use std::cell::{Cell, RefCell};
use std::rc::Weak;
use std::sync::Arc;

/// The messages that a client missed, of all topics to which one run of its function subscribes.
///
/// They are sent when the run ends, in the order of their numbers. So the id that the client had last stands for all
/// topics of its stream.
#[derive(Default)]
pub struct Replay {
    missed: RefCell<Missed>,
    /// The greatest number of a message that was sent.
    reached: Cell<u64>,
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

    /// Takes note of the number of a message that is sent.
    pub fn set_reached(&self, number: u64) {
        self.reached.set(self.reached.get().max(number));
    }

    /// Returns the greatest number of a message that was sent.
    pub fn reached(&self) -> u64 {
        self.reached.get()
    }
}
