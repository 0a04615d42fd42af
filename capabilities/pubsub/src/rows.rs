//! The functions of `app` for topics.

use crate::capability::IsolateTopics;
use crate::functions::Declared;
use crate::hub::rules::TopicRule;
use crate::limits::HISTORY_MESSAGES_MAX;
use crate::worker::{check_pattern, check_topic};
use sampan_host::topics::Payload;
use sampan_host::{
    Args, Context, CurrentRun, Error, ErrorKind, FunctionKind, Module, Param, Rerun, Type, Value,
    param, refusals, row,
};
use std::rc::Rc;

/// The functions of `app` for topics.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Messages between workers.",
    functions: &[
        row!("publish"(TOPIC, param!("message": Type::Message,
                "Text, bytes, or anything else that JSON has: it is sent as JSON.")) -> Type::Nothing,
            FunctionKind::Sync(publish),
            "Sends a message to all functions that `app.subscribe` gave for a topic, on all workers. It leaves \
             when the writes of the request so far are on disk, and not at all if they fail \
             or the `db.batch` around it is rolled back. Messages of one worker on one topic arrive in their order."),
        row!("subscribe"(TOPIC, param!("fn": Type::Function,
                "Called with the message, as it was published, and with its `topic`, `id` and `event`, which is \
                 `message`."),
                param!("options"? Type::Map, "`once = true`: called on one worker only. `presence = true`: called \
                    when members join and leave too, with `event` `join` or `leave` and the member.")) -> Type::Nothing,
            FunctionKind::Sync(subscribe),
            "Calls the function with each message of a topic, in each worker, one after the other. Each call is a run \
             of its own, with the limits of a handler; its errors are logged. Only while the project loads."),
        row!("topic"(param!("name": Type::Text, "The name of a topic; with `*` at its end of all that begin so."),
                param!("options": Type::Map, "`history`: the number of messages that the topic keeps, 1 to 10000.")
            ) -> Type::Nothing,
            FunctionKind::Sync(topic),
            "Has a topic keep its last messages, so that an event stream whose client connects again gets those that \
             it missed. The first declaration that names a topic counts. Only while the project loads."),
        row!("presence"(TOPIC) -> Type::List,
            FunctionKind::Sync(presence),
            "The members of a topic, in the order in which they joined: those of all workers. Each has `id` and the \
             `data` that it joined with."),
    ],
    ..Module::EMPTY
};

const TOPIC: Param = param!("topic": Type::Text, "The name of the topic: `room:7`.");

/// Returns the topics of an isolate.
pub(crate) fn of(context: &Context) -> Result<Rc<IsolateTopics>, Error> {
    let topics = context.get::<IsolateTopics>();
    topics.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no topics here"))
}

/// Returns the topics of an isolate that is loaded.
pub(crate) fn running(context: &Context, name: &str) -> Result<Rc<IsolateTopics>, Error> {
    let topics = of(context)?;
    if topics.is_loaded.get() {
        return Ok(topics);
    }
    Err(Error::script(format!(
        "{name} is for handlers and for app.on_start: the project is still being loaded"
    )))
}

fn publish(context: &Context, mut args: Args) -> Result<Value, Error> {
    let topics = running(context, "publish")?;
    let topic = args.text(0);
    let payload = Payload::of_argument(args.take(1));
    let payload = payload.ok_or_else(|| Error::script("publish: there is no message"))?;
    let request = context
        .get::<CurrentRun>()
        .and_then(|current| current.request());
    topics.topics.publish(request.as_ref(), &topic, payload)?;
    Ok(Value::Null)
}

/// Returns the topics of an isolate that is being loaded; `None` where its file runs once more for a request.
fn loading(context: &Context, what: &str) -> Result<Option<Rc<IsolateTopics>>, Error> {
    if Rerun::is_on(context) {
        return Ok(None);
    }
    let topics = of(context)?;
    if topics.is_loaded.get() {
        return Err(refusals::too_late(what));
    }
    Ok(Some(topics))
}

fn subscribe(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Some(topics) = loading(context, "functions that get the messages of a topic")? else {
        return Ok(Value::Null);
    };
    let topic = args.text(0);
    check_topic(&topic)?;
    let (mut is_once, mut sees_members) = (false, false);
    if let Value::Map(options) = args.take(2) {
        for (name, value) in options {
            match (name.as_str(), value) {
                ("once", Value::Bool(given)) => is_once = given,
                ("presence", Value::Bool(given)) => sees_members = given,
                ("once" | "presence", _) => {
                    return Err(Error::script(format!("{name} must be true or false")));
                }
                (name, _) => return Err(refusals::unknown_option(name, &["once", "presence"])),
            }
        }
    }
    let function = args.function(1);
    let function = function.ok_or_else(|| Error::new(ErrorKind::Internal, "no function"))?;
    topics.declared.borrow_mut().push(Declared {
        topic,
        function,
        is_once,
        sees_members,
    });
    Ok(Value::Null)
}

fn topic(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Some(topics) = loading(context, "topics that keep messages")? else {
        return Ok(Value::Null);
    };
    let pattern = args.text(0);
    check_pattern(&pattern)?;
    let mut history = None;
    if let Value::Map(options) = args.take(1) {
        for (name, value) in options {
            match (name.as_str(), value) {
                ("history", Value::Int(count)) if (1..=HISTORY_MESSAGES_MAX).contains(&count) => {
                    history = usize::try_from(count).ok();
                }
                ("history", _) => {
                    return Err(Error::script(format!(
                        "history must be a whole number from 1 to {HISTORY_MESSAGES_MAX}"
                    )));
                }
                (name, _) => return Err(refusals::unknown_option(name, &["history"])),
            }
        }
    }
    let history = history.ok_or_else(|| Error::script("topic: history is missing"))?;
    topics
        .rules
        .borrow_mut()
        .push(TopicRule { pattern, history });
    Ok(Value::Null)
}

fn presence(context: &Context, mut args: Args) -> Result<Value, Error> {
    let topics = running(context, "presence")?;
    let topic = args.text(0);
    check_topic(&topic)?;
    topics.topics.members(&topic)
}
