//! `ws:subscribe`: sockets that get the messages of topics, without a run of the script for each.

use crate::limits::SUBSCRIPTIONS_MAX;
use crate::objects::this;
use sampan_host::sockets::{Payload, Socket, SocketMessage};
use sampan_host::topics::{Message, MessageKind, Receiver, Subscription, Topics, Wire};
use sampan_host::{Args, Context, Error, ErrorKind, Value};
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The code of a socket that cannot be given all messages: its client should connect again, and read what it missed.
const TRY_AGAIN_LATER: u16 = 1013;

/// A socket's interest in a topic, kept with the socket.
struct SocketSubscription {
    topic: String,
    _subscription: Subscription,
}

/// The side of a socket that takes messages. It does not keep the socket.
struct SocketReceiver(Weak<Socket>);

impl Receiver for SocketReceiver {
    fn deliver(&self, message: &Arc<Message>) {
        let Some(socket) = self.0.upgrade() else {
            return;
        };
        if message.kind != MessageKind::Published {
            return;
        }
        let bytes = message.wire(Wire::Frame, |message| message.payload.bytes().to_vec());
        let payload = Payload::Shared(bytes);
        // A socket whose client does not read is closed, or drops it, as its settings say.
        socket.send(match message.payload.text() {
            Some(_) => SocketMessage::Text(payload),
            None => SocketMessage::Bytes(payload),
        });
    }

    fn missed(&self, _: &str) {
        if let Some(socket) = self.0.upgrade() {
            socket.close(TRY_AGAIN_LATER, "messages were lost: connect again");
        }
    }
}

pub(crate) fn subscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let topic = args.text(0);
    let topics = context.get::<Rc<dyn Topics>>();
    let topics = topics.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no topics"))?;
    let is_known = socket.detach(|one: &SocketSubscription| one.topic == topic);
    if !is_known && socket.attached() >= SUBSCRIPTIONS_MAX {
        return Err(Error::script(format!(
            "a socket subscribes to at most {SUBSCRIPTIONS_MAX} topics"
        )));
    }
    let receiver = Rc::new(SocketReceiver(Rc::downgrade(&socket)));
    let subscription = topics.subscribe(&topic, receiver)?;
    socket.attach(Box::new(SocketSubscription {
        topic,
        _subscription: subscription,
    }));
    Ok(Value::Null)
}

pub(crate) fn unsubscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let topic = args.text(0);
    let was_there = socket.detach(|one: &SocketSubscription| one.topic == topic);
    Ok(Value::Bool(was_there))
}
