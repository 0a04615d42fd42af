//! `events:subscribe`: streams that get the messages of topics, without a run of the script for each.

use crate::limits::SUBSCRIPTIONS_MAX;
use crate::objects::{current, effects_of, this};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sampan_host::attached::ConnectedClient;
use sampan_host::events::{Event, EventBytes, EventStream, stream_ended};
use sampan_host::json::write_string;
use sampan_host::memberships;
use sampan_host::topics::{
    Message, MessageKind, Missed, Payload, Receiver, Subscription, Topics, Wire,
};
use sampan_host::{Args, Context, Error, ErrorKind, Value, refusals};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// A stream's interest in a topic, kept with the stream.
struct StreamSubscription {
    topic: String,
    receiver: Rc<StreamReceiver>,
    _subscription: Subscription,
}

/// The side of a stream that takes messages. It does not keep the stream.
struct StreamReceiver {
    stream: Weak<EventStream>,
    options: RefCell<SubscribeOptions>,
}

impl Receiver for StreamReceiver {
    fn deliver(&self, message: &Arc<Message>) {
        let Some(stream) = self.stream.upgrade() else {
            return;
        };
        let options = self.options.borrow();
        let name: &[u8] = match message.kind {
            MessageKind::Published => &options.name,
            _ if !options.presence => return,
            MessageKind::Joined => b"event: join\n",
            MessageKind::Left => b"event: leave\n",
        };
        // A stream whose client does not read is ended; the client connects again, and asks for what it missed.
        let event = EventBytes::Shared(message.wire(Wire::Event, wire_of));
        stream.send_named(name, event);
    }

    fn missed(&self, topic: &str) {
        if let Some(stream) = self.stream.upgrade() {
            tell_resync(&stream, topic);
        }
    }
}

/// Makes the event of a message, without its name.
fn wire_of(message: &Message) -> Vec<u8> {
    let id = message.id.to_string();
    let encoded;
    let data = match &message.payload {
        Payload::Text(text) | Payload::Json(text) => text,
        Payload::Bytes(bytes) => {
            encoded = STANDARD.encode(bytes);
            &encoded
        }
    };
    let event = Event {
        data: Some(data),
        id: Some(&id),
        ..Event::default()
    };
    // An id of ours has no line ends.
    event.bytes().unwrap_or_default()
}

/// Tells a client that messages of a topic are missing: it should read anew what they are about.
fn tell_resync(stream: &EventStream, topic: &str) {
    let mut data = b"{\"topic\":".to_vec();
    write_string(&mut data, topic.as_bytes());
    data.push(b'}');
    let event = Event {
        event: Some("resync"),
        data: std::str::from_utf8(&data).ok(),
        ..Event::default()
    };
    if let Ok(bytes) = event.bytes() {
        stream.send(EventBytes::Own(bytes));
    }
}

/// The options of `subscribe`.
#[derive(Default)]
struct SubscribeOptions {
    /// The line that names the events; empty for `message`.
    name: Vec<u8>,
    /// True if the client hears of members too.
    presence: bool,
}

impl SubscribeOptions {
    fn read(options: Value) -> Result<Self, Error> {
        let mut read = Self::default();
        let Value::Map(options) = options else {
            return Ok(read);
        };
        for (name, value) in options {
            match (&*name, value) {
                ("event", Value::Text(event)) => {
                    let event = Event {
                        event: Some(&event),
                        ..Event::default()
                    };
                    read.name = event.bytes()?;
                    // The rest of the event follows.
                    read.name.pop();
                }
                ("event", _) => return Err(Error::script("event must be a text")),
                ("presence", Value::Bool(presence)) => read.presence = presence,
                ("presence", _) => return Err(Error::script("presence must be true or false")),
                _ => return Err(refusals::unknown_option(&name, &["event", "presence"])),
            }
        }
        Ok(read)
    }
}

pub(crate) fn topics_of(context: &Context) -> Result<Rc<dyn Topics>, Error> {
    let topics = context.get::<Rc<dyn Topics>>();
    let topics = topics.map(|topics| Rc::clone(&*topics));
    topics.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no topics"))
}

pub(crate) fn subscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let stream = this(context, &args)?;
    let topic = args.text(0);
    let options = SubscribeOptions::read(args.take(1))?;
    let topics = topics_of(context)?;
    let known = stream.find_attached(|one: &StreamSubscription| {
        (one.topic == topic).then(|| Rc::clone(&one.receiver))
    });
    if let Some(receiver) = known {
        receiver.options.replace(options);
        return Ok(Value::Null);
    }
    if stream.attached::<StreamSubscription>() >= SUBSCRIPTIONS_MAX {
        return Err(Error::script(format!(
            "a stream subscribes to at most {SUBSCRIPTIONS_MAX} topics"
        )));
    }
    let receiver = Rc::new(StreamReceiver {
        stream: Rc::downgrade(&stream),
        options: RefCell::new(options),
    });
    let subscription = match stream.last_id() {
        None => topics.subscribe(&topic, Rc::clone(&receiver) as Rc<dyn Receiver>)?,
        Some(last) => {
            let (subscription, missed) =
                topics.resume(&topic, last, Rc::clone(&receiver) as Rc<dyn Receiver>)?;
            let is_in_time = stream.replay().begin();
            match missed {
                Missed::These(messages) if is_in_time => {
                    let receiver: Weak<StreamReceiver> = Rc::downgrade(&receiver);
                    stream.add_missed(messages, &(receiver as Weak<dyn Receiver>));
                }
                // The client's last id does not stand for a later subscription, or is too old.
                Missed::These(_) | Missed::TooMany => receiver.missed(&topic),
            }
            subscription
        }
    };
    stream.attach(StreamSubscription {
        topic,
        receiver,
        _subscription: subscription,
    });
    Ok(Value::Null)
}

pub(crate) fn unsubscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let stream = this(context, &args)?;
    let topic = args.text(0);
    let was_there = stream.detach(|one: &StreamSubscription| one.topic == topic);
    Ok(Value::Bool(was_there))
}

pub(crate) fn join(context: &Context, mut args: Args) -> Result<Value, Error> {
    let stream = this(context, &args)?;
    let (topic, data) = (args.text(0), args.text(1));
    let data = if data.is_empty() {
        "null".to_owned()
    } else {
        data
    };
    if !stream.is_open() {
        return Err(stream_ended());
    }
    memberships::check_count(&*stream, &topic, ("stream", SUBSCRIPTIONS_MAX))?;
    let topics = topics_of(context)?;
    let request = current(context);
    memberships::join(&stream, &*topics, request.as_ref(), &topic, data)?;
    Ok(Value::Null)
}

pub(crate) fn leave(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (stream, topic) = (this(context, &args)?, args.text(0));
    let (effects, request) = (effects_of(context)?, current(context));
    let was_there = memberships::leave(&stream, &effects, request.as_ref(), &topic)?;
    Ok(Value::Bool(was_there))
}
