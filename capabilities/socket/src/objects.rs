//! The objects that scripts hold: a socket, and the values that stay with it.

use crate::limits::{DATA_KEYS_MAX, PING_BYTES_MAX, REASON_BYTES_MAX};
use crate::{routes, topics};
use sampan_host::sockets::{Payload, Sent, Socket, SocketMessage};
use sampan_host::{
    Args, Class, Context, CurrentRun, Effects, Error, ErrorKind, FunctionKind, Lifetime, Param,
    RequestView, Type, Value, Verdict, param, row,
};
use std::rc::Rc;

/// A route as `app.ws` gives it to the engine.
pub(crate) static ROUTE: Class = Class {
    name: "SocketRoute",
    variable: "route",
    doc: "An address for WebSockets that `app.ws` has declared.",
    methods: &[row!("on"(
            param!("event": Type::Text, "`open`, `message`, `drain` or `close`."),
            param!("fn": Type::Function, "The function."),
        ) -> Type::Nothing, FunctionKind::Sync(routes::on),
        "Runs the function for an event of the route's sockets.")],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

const KEY: Param = param!("key": Type::Text, "The name.");

/// A socket.
pub(crate) static SOCKET: Class = Class {
    name: "WebSocket",
    variable: "ws",
    doc: "A WebSocket. Beside its methods it has `ws.id` (a number, unique on its worker), `ws.data` (values that stay \
          with the socket, also through a reload), `ws.req` (fields of the request that opened it: `method`, \
          `path`, `url`, `params`, `query`, `cookies`, `headers`, `ip`, `id`, `session`, `auth`, `state` and those \
          that middleware has set), `ws.buffered` (the bytes that wait for the client) and `ws.protocol` (the \
          subprotocol).",
    methods: &[
        row!("send"(
                param!("message": Type::Bytes, "A text, or bytes."),
            ) -> Type::Text, FunctionKind::Sync(send),
            "Sends a message. Returns what becomes of it: `sent`, `queued` (it waits for a commit, or for a client \
             that does not read) or `dropped` (the socket is closed, or too much waits). What is sent while writes \
             are not committed leaves when they are, and not at all if that fails."),
        row!("send_bytes"(
                param!("message": Type::Bytes, "Text or bytes."),
            ) -> Type::Text, FunctionKind::Sync(send_bytes),
            "Sends a message of bytes, also if they are text."),
        row!("send_json"(
                param!("value": Type::Json, "What JSON has."),
            ) -> Type::Text, FunctionKind::Sync(send_json),
            "Sends a value as a text of JSON."),
        row!("subscribe"(
                param!("topic": Type::Text, "The topic, such as `room:7`."),
                param!("options"? Type::Map, "`presence = true`: a text of JSON with `event` (`join` or `leave`), \
                    `topic` and `member` when members join and leave."),
            ) -> Type::Nothing, FunctionKind::Sync(topics::subscribe),
            "Sends the socket each message that `app.publish` gives the topic from now on, on any worker, without a \
             run of the script. It ends with the socket."),
        row!("unsubscribe"(
                param!("topic": Type::Text, "The topic."),
            ) -> Type::Bool, FunctionKind::Sync(topics::unsubscribe),
            "Ends that. Returns whether the socket was subscribed."),
        row!("join"(
                param!("topic": Type::Text, "The topic."),
                param!("data"? Type::Json, "What JSON has: the data of the member."),
            ) -> Type::Nothing, FunctionKind::Sync(topics::join),
            "Makes the client a member of a topic, until its socket ends: see `app.presence`. A second call replaces \
             the data."),
        row!("leave"(
                param!("topic": Type::Text, "The topic."),
            ) -> Type::Bool, FunctionKind::Sync(topics::leave),
            "Ends that, as a message is sent: when writes are committed. Returns whether the client was a member."),
        row!("ping"(
                param!("payload"? Type::Bytes, "At most 125 bytes."),
            ) -> Type::Nothing, FunctionKind::Sync(ping),
            "Sends a ping. The server sends its own, see `[sockets]`."),
        row!("close"(
                param!("code"? Type::Int, "1000 unless given; 3000 to 4999 are the app's own."),
                param!("reason"? Type::Text, "At most 123 bytes."),
            ) -> Type::Nothing, FunctionKind::Sync(close),
            "Closes the socket, behind what was sent before. While writes are not committed it closes when they are, \
             and not at all if that fails."),
        row!("get"(KEY) -> Type::Any, FunctionKind::Sync(get),
            "A field: the same as `ws.req`."),
        row!("set"(
                KEY,
                param!("value"? Type::Any, "A table or object."),
            ) -> Type::Nothing, FunctionKind::Sync(set),
            "Replaces all values of `data`: the same as `ws.data = value`."),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys),
            "The names of the fields."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

/// The values that stay with a socket.
pub(crate) static DATA: Class = Class {
    name: "SocketData",
    variable: "data",
    doc: "Values that stay with a socket, by keys. Values are what JSON has; what is read is a copy, so assign it \
          again after a change inside.",
    methods: &[
        row!("get"(KEY) -> Type::Any, FunctionKind::Sync(data_get),
            "The value under a key, or nothing: the same as `data.key`."),
        row!("set"(
                KEY,
                param!("value"? Type::Any, "What JSON has; nothing removes the key."),
            ) -> Type::Nothing, FunctionKind::Sync(data_set),
            "Puts a value under a key: the same as `data.key = value`."),
        row!("keys"() -> Type::List, FunctionKind::Sync(data_keys),
            "The keys that have a value."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

pub(crate) fn this(context: &Context, args: &Args) -> Result<Rc<Socket>, Error> {
    Ok(args.object::<Socket>(context)?.1)
}

/// Everything that holds effects of a worker, and the request whose script runs.
type HoldingEffects = (Rc<Effects>, Option<Rc<dyn RequestView>>);

/// Returns what holds effects, and the request whose script runs.
pub(crate) fn effects_of(context: &Context) -> Result<HoldingEffects, Error> {
    let effects = Effects::kept(context);
    let effects = effects.ok_or_else(|| Error::new(ErrorKind::Internal, "no outbox"))?;
    let current = context.get::<CurrentRun>();
    Ok((effects, current.and_then(|current| current.request())))
}

/// Sends a message, or holds it while writes are not committed that it may depend on.
fn send_or_hold(
    context: &Context,
    socket: &Rc<Socket>,
    message: SocketMessage,
) -> Result<Value, Error> {
    let (effects, request) = effects_of(context)?;
    let sent = if socket.is_closing() || !effects.are_held(request.as_ref())? {
        socket.send(message)
    } else {
        let socket = Rc::clone(socket);
        effects.when_settled(request.as_ref(), move |verdict| {
            if verdict == Verdict::Committed {
                socket.send_held(message);
            }
        })?;
        Sent::Queued
    };
    Ok(sent.word().into())
}

fn send(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let message = match args.take(0) {
        Value::Text(text) => SocketMessage::Text(Payload::Own(text.into_bytes().into())),
        Value::Bytes(bytes) => SocketMessage::Bytes(Payload::Own(bytes.into())),
        _ => return Ok(Value::Null),
    };
    send_or_hold(context, &socket, message)
}

fn send_bytes(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let message = SocketMessage::Bytes(Payload::Own(args.bytes(0).into()));
    send_or_hold(context, &socket, message)
}

fn send_json(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let message = SocketMessage::Text(Payload::Own(args.bytes(0).into()));
    send_or_hold(context, &socket, message)
}

fn ping(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let payload = args.bytes(0);
    if payload.len() > PING_BYTES_MAX {
        let text = format!("a ping has at most {PING_BYTES_MAX} bytes");
        return Err(Error::script(text));
    }
    send_or_hold(
        context,
        &socket,
        SocketMessage::Ping(Payload::Own(payload.into())),
    )?;
    Ok(Value::Null)
}

fn close(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let code = args.number(0).unwrap_or(1000.0);
    let reason = args.text(1);
    let may_send = |code: u16| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    let code = (code as u16 as f64 == code)
        .then_some(code as u16)
        .filter(|code| may_send(*code));
    let code = code.ok_or_else(|| {
        Error::script(
            "the code for closing must be one that is sent, such as 1000, or 3000 to 4999 for the app's own",
        )
    })?;
    if reason.len() > REASON_BYTES_MAX {
        let text = format!("the reason for closing has at most {REASON_BYTES_MAX} bytes");
        return Err(Error::script(text));
    }
    let (effects, request) = effects_of(context)?;
    effects.when_settled(request.as_ref(), move |verdict| {
        if verdict == Verdict::Committed {
            socket.close(code, &reason);
        }
    })?;
    Ok(Value::Null)
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    Ok(match &*args.text(0) {
        "id" => Value::Int(socket.id() as i64),
        "buffered" => Value::Int(socket.buffered() as i64),
        "protocol" => socket.protocol().map_or(Value::Null, Value::from),
        "req" => socket.opening().value(context),
        "data" => Value::Object(context.objects().add_shared(&DATA, socket)),
        _ => Value::Null,
    })
}

fn set(context: &Context, mut args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let key = args.text(0);
    if key != "data" {
        return Err(Error::script(format!(
            "a WebSocket has no field {key:?} of the app's own: keep it in ws.data"
        )));
    }
    *socket.data().borrow_mut() = match args.take(1) {
        Value::Map(members) if members.len() <= DATA_KEYS_MAX => members,
        Value::Null => Vec::new(),
        Value::List(items) if items.is_empty() => Vec::new(),
        _ => return Err(Error::script("ws.data must have keys, at most 1000")),
    };
    Ok(Value::Null)
}

fn keys(_: &Context, _: Args) -> Result<Value, Error> {
    let names = ["id", "data", "req", "buffered", "protocol"];
    Ok(Value::List(names.map(Value::from).to_vec()))
}

fn data_get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (socket, key) = (this(context, &args)?, args.text(0));
    let data = socket.data().borrow();
    let found = data.iter().find(|(name, _)| *name == key);
    Ok(found.map_or(Value::Null, |(_, value)| value.clone()))
}

fn data_set(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (socket, key, value) = (this(context, &args)?, args.text(0), args.take(1));
    DATA.check_key(&key)?;
    let mut data = socket.data().borrow_mut();
    let at = data.iter().position(|(name, _)| *name == key);
    match (at, value) {
        (Some(at), Value::Null) => drop(data.remove(at)),
        (None, Value::Null) => {}
        (Some(at), value) => data[at].1 = value,
        (None, _) if data.len() >= DATA_KEYS_MAX => {
            return Err(Error::script("ws.data has at most 1000 keys"));
        }
        (None, value) => data.push((key, value)),
    }
    Ok(Value::Null)
}

fn data_keys(context: &Context, args: Args) -> Result<Value, Error> {
    let socket = this(context, &args)?;
    let data = socket.data().borrow();
    let names = data.iter().map(|(name, _)| Value::from(name.as_str()));
    Ok(Value::List(names.collect()))
}
