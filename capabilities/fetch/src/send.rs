//! Sending a request, and its answer as a script gets it.

use crate::body::{AnswerBody, BODY, Feeding, RUN_BODY, poll_some};
use crate::call::{CALL, Call, aborted};
use crate::limits::WHOLE_BYTES_MAX;
use crate::request::ScriptRequest;
use crate::under_way::{CallPlace, WholePart, end_with};
use sampan_host::fetch::{self, FetchAnswer, FieldLines};
use sampan_host::{
    Args, Callback, Chunk, Context, CurrentRun, Error, LocalFuture, Objects, RunOwner,
    StreamedBody, Value,
};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{self, Poll};

/// A request on its way, with what feeds and aborts it.
struct Sending {
    answer: LocalFuture<Result<FetchAnswer, Error>>,
    call: Option<Rc<Call>>,
    /// The function of the script that feeds the body, while it runs.
    feeding: Option<Feeding>,
    place: CallPlace,
    objects: Objects,
    /// True if the other runs of the request may read the body of the answer.
    is_bound: bool,
    /// The owner that such a body ends with.
    owner: Option<RunOwner>,
    /// Present if the script wants all of the body with the head.
    whole: Option<WholePart>,
    /// True if the bytes of header values are characters to the script.
    is_latin1: bool,
}

/// `send(request, call, feed, json)`
pub(crate) fn send(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let sending = begin(context, args);
    Box::pin(async move {
        let mut sending = sending?;
        let answer = poll_fn(|cx| sending.poll_answer(cx)).await?;
        sending.receive(answer).await
    })
}

/// Reads the request and has it sent. The writes that it may depend on are noted now.
fn begin(context: &Context, mut args: Args) -> Result<Sending, Error> {
    let place = CallPlace::take(context)?;
    let request = ScriptRequest::read(args.take(0), args.take(3))?;
    let (is_whole, is_latin1, is_bound) = (request.is_whole, request.is_latin1, request.is_bound);
    let current = context.get::<CurrentRun>().filter(|_| is_bound);
    let owner = current.and_then(|current| current.owner());
    let feed = args.function(2);
    let call = match (args.take(1), &feed) {
        (Value::Object(object), _) => context.objects().get::<Call>(object),
        (_, Some(_)) => Some(Rc::new(Call::fed(None))),
        _ => None,
    };
    let fed = call.as_ref().and_then(|call| call.take_body());
    let answer = fetch::start(context, request.with_body(fed)?);
    let feeding = match (feed, &call) {
        (Some(feed), Some(call)) => Some(feeding(context, feed, call)),
        _ => None,
    };
    Ok(Sending {
        answer,
        call,
        feeding,
        place,
        objects: context.objects().clone(),
        is_bound,
        owner,
        whole: is_whole.then(|| WholePart::new(context)),
        is_latin1,
    })
}

/// Runs the function that feeds the body of `call`.
fn feeding(context: &Context, feed: Callback, call: &Rc<Call>) -> Feeding {
    let (objects, call) = (context.objects().clone(), Rc::clone(call));
    let object = objects.add_shared(&CALL, Rc::clone(&call));
    let run = feed.start(vec![Value::Object(object)]);
    Box::pin(async move {
        let ran = run.await;
        objects.remove(object);
        let upload = call.upload()?;
        match &ran {
            Ok(()) => upload.end(),
            Err(error) => upload.fail(error.clone()),
        }
        ran
    })
}

impl Sending {
    fn is_aborted(&self, cx: &task::Context<'_>) -> bool {
        self.call.as_ref().is_some_and(|call| call.poll_aborted(cx))
    }

    fn poll_answer(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<FetchAnswer, Error>> {
        if self.is_aborted(cx) {
            return Poll::Ready(Err(aborted()));
        }
        if let Some(feeding) = &mut self.feeding
            && let Poll::Ready(fed) = feeding.as_mut().poll(cx)
        {
            self.feeding = None;
            // A server that answers before it has read all ends the body too: then the answer counts.
            if let Err(error) = fed {
                let answered = self.answer.as_mut().poll(cx);
                return match answered {
                    Poll::Ready(Ok(answer)) => Poll::Ready(Ok(answer)),
                    _ => Poll::Ready(Err(error)),
                };
            }
        }
        self.answer.as_mut().poll(cx)
    }

    /// Polls what feeds the body. After the head its errors are the function's own.
    fn poll_fed(&mut self, cx: &mut task::Context<'_>) {
        if let Some(feeding) = &mut self.feeding
            && feeding.as_mut().poll(cx).is_ready()
        {
            self.feeding = None;
        }
    }

    /// Gives the answer to the script, with its body as far as it is there, or as the script wants it.
    async fn receive(mut self, answer: FetchAnswer) -> Result<Value, Error> {
        let mut members = vec![
            ("status".to_owned(), Value::Int(answer.status.into())),
            ("reason".to_owned(), Value::Text(answer.status_text)),
            ("url".to_owned(), Value::Text(answer.url)),
            ("redirected".to_owned(), Value::Bool(answer.is_redirected)),
            ("headers".to_owned(), list_of(answer.fields, self.is_latin1)),
        ];
        let Some(mut body) = answer.body else {
            return Ok(Value::Map(members));
        };
        let mut bytes = Vec::new();
        let mut fault = None;
        let has_ended = poll_fn(|cx| {
            if self.is_aborted(cx) {
                return Poll::Ready(Err(aborted()));
            }
            self.poll_fed(cx);
            let Some(whole) = &mut self.whole else {
                return match poll_some(&mut *body, &mut bytes, WHOLE_BYTES_MAX, cx) {
                    Poll::Pending => Poll::Ready(Ok(false)),
                    // The head, and what came before the fault, are there all the same.
                    Poll::Ready(Err(error)) => {
                        fault = Some(error);
                        Poll::Ready(Ok(false))
                    }
                    polled => polled,
                };
            };
            let room = whole.room();
            let polled = poll_some(&mut *body, &mut bytes, room.saturating_add(1), cx);
            whole.set(bytes.len());
            match bytes.len() > room {
                true => Poll::Ready(Err(whole.too_large())),
                false => polled,
            }
        })
        .await?;
        if fault.is_some() {
            body = Box::new(Broken(fault));
        }
        members.push(match has_ended {
            true => ("body".to_owned(), Value::Bytes(bytes)),
            false => {
                // The script reads on when it wants to.
                body.pause();
                let rest = AnswerBody::new(bytes, body, self.feeding, self.place);
                let rest = Rc::new(rest);
                if let Some(owner) = &self.owner {
                    end_with(owner, &rest);
                }
                let class = if self.is_bound { &BODY } else { &RUN_BODY };
                let rest = self.objects.add_shared(class, rest);
                ("rest".to_owned(), Value::Object(rest))
            }
        });
        Ok(Value::Map(members))
    }
}

/// The rest of a body that has failed.
struct Broken(Option<Error>);

impl StreamedBody for Broken {
    fn poll_chunk(&mut self, _: &mut task::Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        Poll::Ready(self.0.take().map(Err))
    }
}

/// Returns the field lines as a flat list. With `is_latin1` each byte of a value is a character.
fn list_of(fields: FieldLines, is_latin1: bool) -> Value {
    let text = |bytes: Box<[u8]>| match String::from_utf8(bytes.into()) {
        Ok(text) if text.is_ascii() || !is_latin1 => Value::Text(text),
        Ok(text) => Value::Text(text.bytes().map(char::from).collect()),
        Err(other) if is_latin1 => {
            let bytes = other.into_bytes();
            Value::Text(bytes.into_iter().map(char::from).collect())
        }
        Err(other) => Value::Bytes(other.into_bytes()),
    };
    let mut list = Vec::with_capacity(2 * fields.len());
    for (name, value) in fields {
        list.extend([text(name), text(value)]);
    }
    Value::List(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::Waker;

    /// A body of which nothing is there, and how often its reader does something else.
    struct Unread(Rc<Cell<usize>>);

    impl StreamedBody for Unread {
        fn pause(&mut self) {
            self.0.set(self.0.get() + 1);
        }

        fn poll_chunk(&mut self, _: &mut task::Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
            Poll::Pending
        }
    }

    #[test]
    fn a_body_pauses_until_the_script_reads_it() {
        let context = Context::default();
        let sending = Sending {
            answer: Box::pin(std::future::pending()),
            call: None,
            feeding: None,
            place: CallPlace::take(&context).expect("a place"),
            objects: context.objects().clone(),
            is_bound: false,
            owner: None,
            whole: None,
            is_latin1: false,
        };
        let pauses = Rc::new(Cell::new(0));
        let answer = FetchAnswer {
            status: 200,
            status_text: String::new(),
            fields: Vec::new(),
            url: String::new(),
            is_redirected: false,
            body: Some(Box::new(Unread(Rc::clone(&pauses)))),
        };
        let received = pin!(sending.receive(answer));
        let polled = received.poll(&mut task::Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(_))));
        assert_eq!(pauses.get(), 1);
    }

    #[test]
    fn values_are_bytes_or_their_characters() {
        let fields = || vec![(b"x".as_slice().into(), "é".as_bytes().into())];
        let list = |is_latin1| list_of(fields(), is_latin1);
        assert_eq!(list(false), Value::List(vec!["x".into(), "é".into()]));
        assert_eq!(
            list(true),
            Value::List(vec!["x".into(), "\u{c3}\u{a9}".into()])
        );
        let raw = vec![(b"x".as_slice().into(), b"\xe9".as_slice().into())];
        assert_eq!(
            list_of(raw, true),
            Value::List(vec!["x".into(), "é".into()])
        );
    }
}
