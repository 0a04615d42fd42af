//! The answer: its header fields when it is made, and its stream when it is sent.

use crate::config::SseConfig;
use crate::limits::LAST_ID_BYTES_MAX;
use crate::objects::{EVENTS, current};
use sampan_host::events::{BegunEvents, COMPRESS, EVENT_STREAM, EventStream, STREAMS_FULL};
use sampan_host::{
    Args, Context, Error, ErrorKind, RequestView, Value, names::snake_case, refusals,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts the streams of a process.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams(AtomicUsize);

/// The place of one stream among those.
struct StreamPlace(Arc<OpenStreams>);

impl StreamPlace {
    fn take(open: &Arc<OpenStreams>) -> Self {
        open.0.fetch_add(1, Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// The state of an isolate from which streams are opened.
pub(crate) struct Opening {
    config: SseConfig,
    open: Arc<OpenStreams>,
    next_number: Rc<Cell<u64>>,
}

impl Opening {
    pub(crate) fn new(
        config: SseConfig,
        open: Arc<OpenStreams>,
        next_number: Rc<Cell<u64>>,
    ) -> Self {
        Self {
            config,
            open,
            next_number,
        }
    }

    fn of(context: &Context) -> Result<Rc<Self>, Error> {
        let opening = context.get::<Self>();
        opening.ok_or_else(|| Error::new(ErrorKind::Internal, "no event streams"))
    }
}

/// `sse(options)`: the header fields of the answer.
pub(crate) fn open(context: &Context, mut args: Args) -> Result<Value, Error> {
    let opening = Opening::of(context)?;
    let mut compress = false;
    if let Value::Map(options) = args.take(0) {
        for (name, value) in options {
            match (&*snake_case(&name), value) {
                ("compress", Value::Bool(given)) => compress = given,
                ("compress", _) => {
                    return Err(Error::script("sse: compress must be true or false"));
                }
                _ => return Err(refusals::unknown_option(&name, &["compress", "headers"])),
            }
        }
    }
    // A declaration only has its options checked.
    let is_answer = current(context).is_some();
    if is_answer && opening.open.0.load(Relaxed) >= opening.config.streams_max {
        let text = format!(
            "{} event streams are open already ([sse] streams_max)",
            opening.config.streams_max
        );
        return Err(Error::new(ErrorKind::Status(503), text).with_code(STREAMS_FULL));
    }
    let mut fields = vec![
        ("content-type", EVENT_STREAM),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
    ];
    if compress {
        fields.push(("content-encoding", COMPRESS));
    }
    let fields = fields.into_iter();
    let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value)));
    Ok(Value::Map(fields.collect()))
}

/// `begin_sse()`: the stream of the request whose answer is being sent.
pub(crate) fn begin(context: &Context, _: Args) -> Result<Value, Error> {
    let opening = Opening::of(context)?;
    let request = current(context);
    let request = request.ok_or_else(|| Error::script("sse: there is no request here"))?;
    let number = opening.next_number.get() + 1;
    opening.next_number.set(number);
    let stream = Rc::new(EventStream::new(
        number,
        last_id(&*request),
        opening.config.stream,
        Box::new(StreamPlace::take(&opening.open)),
    ));
    request.store().put(BegunEvents(Rc::clone(&stream)));
    let object = context.objects().add_shared(&EVENTS, stream);
    Ok(Value::Object(object))
}

/// Returns the id of the last event that the client has seen. One that is no text, or too long, is none of ours: it
/// becomes an empty one, which stands for messages that are not known any more.
fn last_id(request: &dyn RequestView) -> Option<String> {
    let id = request
        .header("last-event-id")
        .filter(|id| !id.is_empty())?;
    let ours = std::str::from_utf8(id).ok();
    let ours = ours.filter(|id| id.len() <= LAST_ID_BYTES_MAX);
    Some(ours.unwrap_or_default().to_owned())
}
