//! Messages between the processes of an app: what carries them, and what takes those that arrive.
//!
//! A database that several processes share may carry the messages of topics. It gives each message a number, in one
//! order for all processes, and brings each process all of them, those of the process itself included. Beside that it
//! keeps the members of topics, so that each process knows those of all. Without a carrier messages and members stay in
//! their process.

use crate::error::Error;
use crate::offers::topics::{MessageKind, Payload};
use crate::request::RequestView;
use crate::run::outbox::Verdict;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A message that is to be published.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The topic.
    pub topic: Arc<str>,
    /// The content.
    pub payload: Payload,
}

impl Publication {
    /// The memory that it takes, about, in bytes.
    pub fn size(&self) -> usize {
        self.topic.len() + self.payload.bytes().len() + size_of::<Self>()
    }
}

/// Called with the outcome of a publication, from any thread.
pub type Published = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// A member of a topic in this process.
#[derive(Clone, Debug)]
pub struct OwnMember {
    /// The number, unique in the process.
    pub number: u64,
    /// The topic.
    pub topic: Arc<str>,
    /// The member as JSON, as in the messages that tell of it.
    pub json: String,
}

/// Carries messages to all processes of an app.
pub trait Carrier: Send + Sync {
    /// Begins to bring messages to `arrivals`, at the first call. Waits until they come, for some seconds at most.
    fn begin(self: Arc<Self>, arrivals: Arc<dyn Arrivals>);

    /// Publishes a message. `done` is called when every process will get it, or with the reason for which it is not
    /// known that they do.
    fn publish(&self, publication: Publication, done: Published);

    /// Tells all processes of a member of this one.
    fn join(&self, member: OwnMember);

    /// Tells all processes that a member of this one has left.
    fn leave(&self, number: u64);
}

/// The carrier as a worker of the database has it.
pub trait WorkerCarrier {
    /// Returns the carrier of the process.
    fn carrier(&self) -> Arc<dyn Carrier>;

    /// Puts a message into the batch or the transaction that the run or its request has open: it is published with the
    /// commit, and not at all without. Returns false where none is open.
    ///
    /// # Errors
    /// The batch has no room for it.
    fn enclose(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        publication: &Publication,
    ) -> Result<bool, Error>;

    /// Has the answer of the run that goes on wait until the returned function is called.
    fn hold(&self) -> Box<dyn FnOnce(Verdict)>;
}

/// The settings of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarrierSettings {
    /// The time for which messages are kept.
    pub keep: Duration,
    /// The time after which a process that was not heard of counts as dead.
    pub presence: Duration,
}

/// A member of a topic in any process.
#[derive(Clone, Debug)]
pub struct ProcessMember {
    /// The name of the process.
    pub process: Arc<str>,
    /// The member.
    pub member: OwnMember,
    /// The number of the message that told of it.
    pub joined: u64,
}

/// The place in the order of messages from which messages arrive.
#[derive(Debug)]
pub struct Beginning {
    /// The name of the order.
    pub epoch: Arc<str>,
    /// The number of the last message before.
    pub last: u64,
    /// The number of the last message that `members` knows of.
    pub members_at: u64,
    /// The members of all processes.
    pub members: Vec<ProcessMember>,
}

/// A message that has arrived.
#[derive(Debug)]
pub struct Arrival {
    /// The number, greater than that of the message before.
    pub number: u64,
    /// The topic.
    pub topic: Arc<str>,
    /// The cause.
    pub kind: MessageKind,
    /// The content.
    pub payload: Payload,
}

/// Takes the messages that a [`Carrier`] brings.
pub trait Arrivals: Send + Sync {
    /// Returns the name of this process.
    fn process(&self) -> Arc<str>;

    /// Returns the settings as they are now.
    fn settings(&self) -> CarrierSettings;

    /// Reports whether messages are kept for clients that were away, so that older ones are wanted at the beginning.
    fn keeps_messages(&self) -> bool;

    /// Returns the members of this process.
    fn own_members(&self) -> Vec<OwnMember>;

    /// Begins at another place in the order: at first, and where what was missed is not known. All receivers are told
    /// that they have missed something.
    fn begin(&self, beginning: Beginning);

    /// Gives a message to the receivers in this process.
    fn arrived(&self, arrival: Arrival);
}
