//! The functions of `app` for topics.

use crate::capability::IsolateTopics;
use crate::functions::Declared;
use crate::worker::check_topic;
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
                param!("options"? Type::Map, "`once = true`: called on one worker only.")) -> Type::Nothing,
            FunctionKind::Sync(subscribe),
            "Calls the function with each message of a topic, in each worker, one after the other. Each call is a run \
             of its own, with the limits of a handler; its errors are logged. Only while the project loads."),
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
    let mut is_once = false;
    if let Value::Map(options) = args.take(2) {
        for (name, value) in options {
            match (name.as_str(), value) {
                ("once", Value::Bool(given)) => is_once = given,
                ("once", _) => return Err(Error::script("once must be true or false")),
                (name, _) => return Err(refusals::unknown_option(name, &["once"])),
            }
        }
    }
    let function = args.function(1);
    let function = function.ok_or_else(|| Error::new(ErrorKind::Internal, "no function"))?;
    topics.declared.borrow_mut().push(Declared {
        topic,
        function,
        is_once,
    });
    Ok(Value::Null)
}
