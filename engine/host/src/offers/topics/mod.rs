//! Topics: messages that reach everyone who is interested, on all workers.
//!
//! A capability keeps the topics of a worker and puts them into the [`Context`](crate::Context) of each isolate as
//! `Rc<dyn Topics>`. Sockets and event streams subscribe as [`Receiver`]s. A message is serialised once: all receivers
//! share it, and what goes over the wire of each kind of receiver ([`Wire`]).

pub mod carrier;

use crate::error::Error;
use crate::request::RequestView;
use crate::run::outbox::Verdict;
use crate::value::Value;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Text.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// A value of the script as JSON.
    Json(String),
}

impl Payload {
    /// Returns the payload of an argument of [`Type::Message`](crate::Type::Message).
    pub fn of_argument(value: Value) -> Option<Self> {
        Some(match value {
            Value::Text(text) => Self::Text(text),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::Map(members) => match members.into_iter().next() {
                Some((_, Value::Text(json))) => Self::Json(json),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The bytes as they are sent: text, and JSON as its text.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) | Self::Json(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The text, unless these are bytes.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Json(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }
}

/// The cause of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A published message.
    Published,
    /// A member has joined the topic: the payload is JSON of the member.
    Joined,
    /// A member has left the topic: the payload is JSON of the member.
    Left,
}

impl MessageKind {
    /// The name that scripts and browsers see: `message`, `join`, `leave`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "message",
            Self::Joined => "join",
            Self::Left => "leave",
        }
    }
}

/// The place of a message in the order of all messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageId {
    /// The name of the order: another one after each start, unless a database counts for all processes.
    pub epoch: Arc<str>,
    /// The number, from 1. It grows from message to message over all topics.
    pub number: u64,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

/// A form in which messages are sent. Each is made once for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// An event of `text/event-stream`.
    Event,
    /// A frame of a WebSocket.
    Frame,
}

/// A message, shared by all its receivers.
#[derive(Debug)]
pub struct Message {
    /// The topic.
    pub topic: Arc<str>,
    /// The place in the order of messages.
    pub id: MessageId,
    /// The cause.
    pub kind: MessageKind,
    /// The content.
    pub payload: Payload,
    /// True if the topic keeps its messages for a while, so that a receiver may ask for what it missed.
    pub is_kept: bool,
    wires: [OnceLock<Arc<[u8]>>; 2],
}

impl Message {
    /// Creates a message.
    pub fn new(
        topic: Arc<str>,
        id: MessageId,
        kind: MessageKind,
        payload: Payload,
        is_kept: bool,
    ) -> Self {
        Self {
            topic,
            id,
            kind,
            payload,
            is_kept,
            wires: Default::default(),
        }
    }

    /// Returns the bytes of a form, which `make` makes for the first receiver that asks.
    pub fn wire(&self, wire: Wire, make: impl FnOnce(&Self) -> Vec<u8>) -> Arc<[u8]> {
        let slot = match wire {
            Wire::Event => &self.wires[0],
            Wire::Frame => &self.wires[1],
        };
        Arc::clone(slot.get_or_init(|| make(self).into()))
    }

    /// The memory that it takes, about, in bytes.
    pub fn size(&self) -> usize {
        2 * self.payload.bytes().len() + size_of::<Self>()
    }
}

/// Receives the messages of topics: a socket, an event stream, a function of the script.
///
/// All methods return at once: they put the message into a bounded queue and wake a task. They run no script, and
/// neither publish, subscribe nor unsubscribe.
pub trait Receiver {
    /// Takes a message. Those of a topic come in their order.
    fn deliver(&self, message: &Arc<Message>);

    /// Takes note that messages of this topic were lost, because more were published than this worker could take.
    fn missed(&self, topic: &str);

    /// Reports whether messages wait for a client that does not read. Other receivers get the next ones before.
    fn is_blocked(&self) -> bool {
        false
    }
}

/// A receiver's interest in a topic. It ends when this is dropped.
pub struct Subscription(Option<Box<dyn FnOnce()>>);

impl Subscription {
    /// Creates a subscription that `end` ends.
    pub fn new(end: impl FnOnce() + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// The messages that a receiver has missed.
#[derive(Clone, Debug)]
pub enum Missed {
    /// These, in their order; the receiver gets all later ones.
    These(Vec<Arc<Message>>),
    /// More than is known any more: the receiver should read anew what the messages are about.
    TooMany,
}

/// A member of a topic: it leaves when this is dropped.
#[derive(Debug)]
pub struct Membership(pub Subscription);

/// A client on its way to become a member of a topic.
pub struct Joining {
    /// The data of the member, as JSON.
    pub data: String,
    /// True if it takes the place of a member, so that the topic has room for it.
    pub replaces: bool,
    /// Called with the verdict on the writes that the join may depend on, before the client becomes a member.
    pub settled: Box<dyn FnOnce(Verdict)>,
}

/// The topics of one worker, which all workers of the process share.
pub trait Topics {
    /// Publishes a message for all receivers of a topic, on all workers. It leaves when the writes that it may depend
    /// on are committed, and not at all if they fail or are rolled back. `request` is the one whose script publishes.
    ///
    /// # Errors
    /// The name of the topic or the size of the message is not allowed, or what the request wrote is lost.
    fn publish(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        topic: &str,
        payload: Payload,
    ) -> Result<(), Error>;

    /// Gives all messages of a topic to a receiver, from now on.
    ///
    /// # Errors
    /// The name of the topic is not allowed.
    fn subscribe(&self, topic: &str, receiver: Rc<dyn Receiver>) -> Result<Subscription, Error>;

    /// Gives a receiver all messages of a topic that came after the one with the id `last`, which a client has sent:
    /// those that are there already are returned, later ones are delivered.
    ///
    /// # Errors
    /// The name of the topic is not allowed.
    fn resume(
        &self,
        topic: &str,
        last: &str,
        receiver: Rc<dyn Receiver>,
    ) -> Result<(Subscription, Missed), Error>;

    /// Adds a member to a topic when the writes are committed that it may depend on. The topic's receivers get a
    /// message of the kind [`MessageKind::Joined`] then, and one of the kind [`MessageKind::Left`] when it leaves.
    ///
    /// # Errors
    /// As for [`Topics::publish`], or the topic has as many members as are allowed.
    fn join(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        topic: &str,
        joining: Joining,
    ) -> Result<Membership, Error>;

    /// Returns the members of a topic as a list of maps with `id` and `data`, in the order in which they joined.
    ///
    /// # Errors
    /// The data of a member is not JSON.
    fn members(&self, topic: &str) -> Result<Value, Error>;

    /// Reports whether functions or clients of the worker get messages now.
    fn has_receivers(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_made_once() {
        let id = MessageId {
            epoch: "e".into(),
            number: 7,
        };
        let message = Message::new(
            "t".into(),
            id,
            MessageKind::Published,
            Payload::Text("hi".into()),
            false,
        );
        let first = message.wire(Wire::Event, |it| it.payload.bytes().to_vec());
        let again = message.wire(Wire::Event, |_| unreachable!("made before"));
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(&*message.wire(Wire::Frame, |_| vec![1]), [1]);
        assert_eq!(message.id.to_string(), "e-7");
    }
}
