//! The object by which a function of the script feeds a stream.

use crate::limits::{DEPTH_MAX, RETRY_MILLIS_MAX};
use crate::topics;
use sampan_host::events::{Event, EventBytes, EventStream, stream_ended};
use sampan_host::json::{Tape, write_value};
use sampan_host::limits::CANCELLED;
use sampan_host::names::snake_case;
use sampan_host::topics::Payload;
use sampan_host::{
    Args, Class, Context, CurrentRun, Effects, Error, ErrorKind, FunctionKind, Lifetime,
    LocalFuture, Param, RequestView, Type, Value, Verdict, param, refusals, row,
};
use std::future::{poll_fn, ready};
use std::rc::Rc;

const TOPIC: Param = param!("topic": Type::Text, "The topic, such as `room:7`.");

/// A stream of events.
pub(crate) static EVENTS: Class = Class {
    name: "EventStream",
    variable: "events",
    doc: "A stream of server-sent events. Beside its methods it has `events.last_id`: the id of the last \
          event that the client saw before it connected again, or nothing.",
    methods: &[
        row!("send"(
                param!("event": Type::Message, "A text, which is the data of the event; or a table or object with \
                    `data` (a text, or anything else that JSON has), `event` (the name: `message` where there is \
                    none), `id` and `retry` (milliseconds until the client connects again)."),
            ) -> Type::Nothing, FunctionKind::Async(send),
            "Sends an event, and waits while the client is behind. What is sent while writes are not committed leaves \
             when they are, and not at all if that fails. Once the client has left it fails with `cancelled`."),
        row!("comment"(
                param!("text": Type::Text, "The text."),
            ) -> Type::Nothing, FunctionKind::Async(comment),
            "Sends a comment, which pages do not see. The server sends its own, see `[sse]`."),
        row!("subscribe"(
                TOPIC,
                param!("options"? Type::Map, "`event`: the name of its events. `presence = true`: events `join` and \
                    `leave` too, with the member."),
            ) -> Type::Nothing, FunctionKind::Sync(topics::subscribe),
            "Sends the client each message that `app.publish` gives the topic from now on, on any worker, without a \
             run of the script. The stream stays open when its function has ended. Bytes are sent in base64. A client \
             that connects again first gets what it missed of a topic that keeps messages, or else an event `resync`."),
        row!("unsubscribe"(TOPIC) -> Type::Bool, FunctionKind::Sync(topics::unsubscribe),
            "Ends that. Returns whether the stream was subscribed."),
        row!("join"(
                TOPIC,
                param!("data"? Type::Json, "What JSON has: the data of the member."),
            ) -> Type::Nothing, FunctionKind::Sync(topics::join),
            "Makes the client a member of a topic, until its stream ends: see `app.presence`. A second call replaces \
             the data. The stream stays open when its function has ended."),
        row!("leave"(TOPIC) -> Type::Bool, FunctionKind::Sync(topics::leave),
            "Ends that, as an event is sent: when writes are committed. Returns whether the client was a member."),
        row!("wait"() -> Type::Nothing, FunctionKind::Async(wait),
            "Waits until the client has left, or the server ends the stream."),
        row!("close"() -> Type::Nothing, FunctionKind::Sync(close),
            "Ends the stream behind what was sent before. The client connects again unless it closes too. While writes \
             are not committed it ends when they are, and not at all if that fails."),
        row!("get"(
                param!("key": Type::Text, "The name."),
            ) -> Type::Any, FunctionKind::Sync(get),
            "A field: the same as `events.last_id`."),
        row!("set"(
                param!("key": Type::Text, "The name."),
                param!("value"? Type::Any, "The value."),
            ) -> Type::Nothing, FunctionKind::Sync(set),
            "Fails: the fields cannot be set."),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys),
            "The names of the fields."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: true,
};

pub(crate) fn this(context: &Context, args: &Args) -> Result<Rc<EventStream>, Error> {
    Ok(args.object::<EventStream>(context)?.1)
}

/// Returns the request whose script runs.
pub(crate) fn current(context: &Context) -> Option<Rc<dyn RequestView>> {
    context.get::<CurrentRun>()?.request()
}

/// Returns what holds effects.
pub(crate) fn effects_of(context: &Context) -> Result<Rc<Effects>, Error> {
    let effects = context.get::<Effects>();
    effects.ok_or_else(|| Error::new(ErrorKind::Internal, "no outbox"))
}

/// Sends bytes, or holds them while writes are not committed that they may depend on. Returns whether the sender waits
/// for room: a transaction would not end meanwhile.
fn send_or_hold(
    context: &Context,
    stream: &Rc<EventStream>,
    event: Vec<u8>,
) -> Result<bool, Error> {
    let effects = effects_of(context)?;
    let request = current(context);
    let event = EventBytes::Own(event);
    let was_open = stream.is_open();
    let ended = || match was_open {
        false => stream_ended(),
        true => {
            let text =
                "more waits for the client than may, so its event stream ends: await each send";
            Error::new(ErrorKind::Unavailable, text).with_code(CANCELLED)
        }
    };
    if !effects.are_held(request.as_ref())? {
        return stream.send(event).then_some(true).ok_or_else(ended);
    }
    let is_in_transaction = effects.are_in_transaction(request.as_ref())?;
    if !stream.begin_hold(event.bytes().len()) {
        let text = "more would wait for a commit than may (waiting_bytes_max in [sse])";
        return Err(match was_open {
            true => Error::script(text),
            false => stream_ended(),
        });
    }
    let stream = Rc::clone(stream);
    effects.when_settled(request.as_ref(), move |verdict| {
        stream.end_hold(event, verdict == Verdict::Failed);
    })?;
    Ok(!is_in_transaction)
}

/// Sends what `make` makes, and waits until there is room for more.
fn send_made(
    context: &Context,
    args: &mut Args,
    make: impl FnOnce(&mut Args) -> Result<Vec<u8>, Error>,
) -> LocalFuture<Result<Value, Error>> {
    let stream = match this(context, args) {
        Ok(stream) => stream,
        Err(error) => return Box::pin(ready(Err(error))),
    };
    let waits = make(args).and_then(|event| send_or_hold(context, &stream, event));
    Box::pin(async move {
        let sent = match waits {
            Ok(true) if !poll_fn(|cx| stream.poll_room(cx)).await => Err(stream_ended()),
            waits => waits.map(|_| Value::Null),
        };
        if !stream.is_open() && sent.is_err() {
            stream.tell_end().await;
        }
        sent
    })
}

fn send(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    send_made(context, &mut args, |args| {
        match Payload::of_argument(args.take(0)) {
            Some(Payload::Text(text)) => Event::of(&text).bytes(),
            Some(Payload::Json(json)) => event_of(&json),
            _ => Err(Error::script(
                "an event must be a text, or have data, event, id or retry; bytes are none",
            )),
        }
    })
}

fn comment(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    send_made(context, &mut args, |args| Ok(Event::comment(&args.text(0))))
}

/// Makes an event of its fields as JSON.
fn event_of(json: &str) -> Result<Vec<u8>, Error> {
    let mut tape = Tape::default();
    let read = tape.read(json.as_bytes(), DEPTH_MAX);
    let Ok(Value::Map(fields)) = read.map(|()| tape.value(json.as_bytes())) else {
        return Err(Error::script(
            "an event must be a text, or have data, event, id or retry",
        ));
    };
    let (mut event, mut data, mut id, mut retry) = (None, None, None, None);
    for (name, value) in fields {
        match (&*name, value) {
            (_, Value::Null) if name != "data" => {}
            ("data", Value::Text(text)) => data = Some(text),
            ("data", value) => data = Some(json_of(&value)?),
            ("event", Value::Text(text)) => event = Some(text),
            ("id", Value::Text(text)) => id = Some(text),
            ("id", Value::Int(number)) => id = Some(number.to_string()),
            ("retry", Value::Int(millis)) if (0..=RETRY_MILLIS_MAX).contains(&millis) => {
                retry = Some(millis as u64);
            }
            ("event" | "id", _) => return Err(Error::script(format!("{name} must be a text"))),
            ("retry", _) => {
                return Err(Error::script(format!(
                    "retry must be a whole number of milliseconds, at most {RETRY_MILLIS_MAX}"
                )));
            }
            _ => {
                return Err(refusals::unknown_option(
                    &name,
                    &["data", "event", "id", "retry"],
                ));
            }
        }
    }
    if event.is_some() && data.is_none() {
        // Clients drop an event without data.
        data = Some(String::new());
    }
    let event = Event {
        event: event.as_deref(),
        data: data.as_deref(),
        id: id.as_deref(),
        retry,
    };
    event.bytes()
}

fn json_of(value: &Value) -> Result<String, Error> {
    let mut out = Vec::new();
    write_value(&mut out, value, DEPTH_MAX)?;
    String::from_utf8(out).map_err(|_| Error::script("data is no text"))
}

fn wait(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let stream = this(context, &args);
    Box::pin(async move {
        let stream = stream?;
        Rc::clone(&stream).ended().await;
        stream.tell_end().await;
        Ok(Value::Null)
    })
}

fn close(context: &Context, args: Args) -> Result<Value, Error> {
    let stream = this(context, &args)?;
    effects_of(context)?.when_settled(current(context).as_ref(), move |verdict| {
        if verdict == Verdict::Committed {
            stream.close();
        }
    })?;
    Ok(Value::Null)
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let stream = this(context, &args)?;
    Ok(match &*snake_case(&args.text(0)) {
        "last_id" => stream
            .last_id()
            .filter(|id| !id.is_empty())
            .map_or(Value::Null, Value::from),
        _ => Value::Null,
    })
}

fn set(_: &Context, mut args: Args) -> Result<Value, Error> {
    let key = args.text(0);
    Err(Error::script(format!(
        "an EventStream has no field {key:?} that can be set"
    )))
}

fn keys(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::List(vec!["last_id".into()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Result<String, String> {
        let bytes = event_of(json).map_err(|error| error.message().to_owned())?;
        Ok(String::from_utf8(bytes).expect("UTF-8"))
    }

    #[test]
    fn data_is_a_text_or_becomes_json() {
        let sent = text(r#"{"event":"e","data":{"a":[1,{},[]],"b":"x\ny"},"id":7,"retry":0}"#);
        let expected = "event: e\nid: 7\nretry: 0\ndata: {\"a\":[1,{},[]],\"b\":\"x\\ny\"}\n\n";
        assert_eq!(sent.as_deref(), Ok(expected));
        assert_eq!(
            text(r#"{"data":"x\ny"}"#).as_deref(),
            Ok("data: x\ndata: y\n\n")
        );
        assert_eq!(text(r#"{"data":null}"#).as_deref(), Ok("data: null\n\n"));
        assert_eq!(
            text(r#"{"data":"","event":null}"#).as_deref(),
            Ok("data: \n\n")
        );
    }

    #[test]
    fn a_named_event_without_data_has_an_empty_line_of_data() {
        let done = text(r#"{"event":"done"}"#);
        assert_eq!(done.as_deref(), Ok("event: done\ndata: \n\n"));
        assert_eq!(text(r#"{"retry":5}"#).as_deref(), Ok("retry: 5\n\n"));
    }

    #[test]
    fn other_fields_and_values_are_errors() {
        for (json, part) in [
            ("[1]", "must be a text, or have data"),
            (r#"{"evnt":"e"}"#, "event"),
            (r#"{"event":1}"#, "event must be a text"),
            (r#"{"id":{}}"#, "id must be a text"),
            (r#"{"id":"a\nb"}"#, "line ends"),
            (r#"{"retry":-1}"#, "milliseconds"),
            (r#"{"retry":1.5}"#, "milliseconds"),
        ] {
            let error = text(json).expect_err(json);
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
