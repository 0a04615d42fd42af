//! `ws:subscribe`: sockets that get the messages of topics, without a run of the script for each.

use crate::limits::SUBSCRIPTIONS_MAX;
use crate::objects::{effects_of, this};
use sampan_host::attached::ConnectedClient;
use sampan_host::json::write_string;
use sampan_host::memberships;
use sampan_host::sockets::{Payload, Socket, SocketMessage};
use sampan_host::topics::{Message, MessageKind, Receiver, Subscription, Topics, Wire};
use sampan_host::{Args, Context, Error, ErrorKind, Value, refusals};
use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The code of a socket that cannot be given all messages: its client should connect again, and read what it missed.
const TRY_AGAIN_LATER: u16 = 1013;

/// A socket's interest in a topic, kept with the socket.
struct SocketSubscription {
    topic: String,
    receiver: Rc<SocketReceiver>,
    _subscription: Subscription,
}

/// The side of a socket that takes messages. It does not keep the socket.
struct SocketReceiver {
    socket: Weak<Socket>,
    /// True if its client hears of members too.
    presence: Cell<bool>,
}

/// Makes the text that tells of a member.
fn about_member(message: &Message) -> Vec<u8> {
    let mut out = b"{\"event\":".to_vec();
    write_string(&mut out, message.kind.name().as_bytes());
    out.extend_from_slice(b",\"topic\":");
    write_string(&mut out, message.topic.as_bytes());
    out.extend_from_slice(b",\"member\":");
    out.extend_from_slice(message.payload.bytes());
    out.push(b'}');
    out
}

impl Receiver for SocketReceiver {
    fn deliver(&self, message: &Arc<Message>) {
        let Some(socket) = self.socket.upgrade() else {
            return;
        };
        let is_published = message.kind == MessageKind::Published;
        if !is_published && !self.presence.get() {
            return;
        }
        let bytes = message.wire(Wire::Frame, |message| match is_published {
            true => message.payload.bytes().to_vec(),
            false => about_member(message),
        });
        let payload = Payload::Shared(bytes);
        // A socket whose client does not read is closed, or drops it, as its settings say.
        socket.send(match message.payload.text() {
            Some(_) => SocketMessage::Text(payload),
            None => SocketMessage::Bytes(payload),
        });
    }

    fn missed(&self, _: &str) {
        if let Some(socket) = self.socket.upgrade() {
            socket.close(TRY_AGAIN_LATER, "messages were lost: connect again");
        }
    }

    fn is_blocked(&self) -> bool {
        let socket = self.socket.upgrade();
        socket.is_some_and(|socket| socket.is_blocked())
    }
}

fn topics_of(context: &Context) -> Result<Rc<dyn Topics>, Error> {
    let topics = context.get::<Rc<dyn Topics>>();
    let topics = topics.map(|topics| Rc::clone(&*topics));
    topics.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no topics"))
}

/// Reads the options of `subscribe`.
fn presence_of(options: Value) -> Result<bool, Error> {
    let mut presence = false;
    if let Value::Map(options) = options {
        for (name, value) in options {
            match (&*name, value) {
                ("presence", Value::Bool(given)) => presence = given,
                ("presence", _) => return Err(Error::script("presence must be true or false")),
                _ => return Err(refusals::unknown_option(&name, &["presence"])),
            }
        }
    }
    Ok(presence)
}

pub(crate) fn subscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let topic = args.text(0);
    let presence = presence_of(args.take(1))?;
    let topics = topics_of(context)?;
    // A receiver that is there already stays: messages may be on their way to it.
    let known = socket.find_attached(|one: &SocketSubscription| {
        let receiver = || Rc::clone(&one.receiver);
        (one.topic == topic).then(receiver)
    });
    if let Some(receiver) = known {
        receiver.presence.set(presence);
        return Ok(Value::Null);
    }
    if socket.attached::<SocketSubscription>() >= SUBSCRIPTIONS_MAX {
        return Err(Error::script(format!(
            "a socket subscribes to at most {SUBSCRIPTIONS_MAX} topics"
        )));
    }
    let receiver = Rc::new(SocketReceiver {
        socket: Rc::downgrade(&socket),
        presence: Cell::new(presence),
    });
    let subscription = topics.subscribe(&topic, Rc::clone(&receiver) as _)?;
    socket.attach(SocketSubscription {
        topic,
        receiver,
        _subscription: subscription,
    });
    Ok(Value::Null)
}

pub(crate) fn unsubscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let topic = args.text(0);
    let was_there = socket.detach(|one: &SocketSubscription| one.topic == topic);
    Ok(Value::Bool(was_there))
}

pub(crate) fn join(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let (topic, data) = (args.text(0), args.text(1));
    let data = if data.is_empty() {
        "null".to_owned()
    } else {
        data
    };
    if socket.is_over() {
        return Err(Error::script("join: the socket has ended"));
    }
    memberships::check_count(&*socket, &topic, ("socket", SUBSCRIPTIONS_MAX))?;
    let topics = topics_of(context)?;
    let request = effects_of(context)?.1;
    memberships::join(&socket, &*topics, request.as_ref(), &topic, data)?;
    Ok(Value::Null)
}

pub(crate) fn leave(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (socket, topic) = (this(context, &args)?, args.text(0));
    let (effects, request) = effects_of(context)?;
    let was_there = memberships::leave(&socket, &effects, request.as_ref(), &topic)?;
    Ok(Value::Bool(was_there))
}
