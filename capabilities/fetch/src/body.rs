//! The body of an answer, as a script reads it.

use crate::under_way::CallPlace;
use sampan_host::fetch::FetchFault;
use sampan_host::json::Tape;
use sampan_host::{
    Args, Chunk, Class, Context, Error, Function, FunctionKind, Lifetime, LocalFuture,
    ScriptLimits, StreamedBody, Type, Value, row,
};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{self, Poll, Waker, ready};

/// The rest of an answer's body in Lua. Each function that a request runs may read it, such as one that feeds another
/// request. It is given up with the request, by [`crate::under_way::end_with`].
pub(crate) static BODY: Class = Class {
    name: "AnswerBody",
    variable: "body",
    doc: "The body of an answer, as far as it was not there with the head.",
    methods: METHODS,
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

/// The rest of an answer's body in JavaScript. Streams are cycles, which the collector finds late or never, and a
/// script may keep the request as well. So the body goes with the tasks of the request, work after the answer included.
pub(crate) static RUN_BODY: Class = Class {
    name: "RunAnswerBody",
    variable: "body",
    doc: "The body of an answer that goes with the run that asked for it.",
    methods: METHODS,
    lifetime: Lifetime::Request,
    is_keyed: false,
};

const METHODS: &[Function] = &[
    row!("read"() -> Type::BytesOrNothing, FunctionKind::Async(read),
        "Waits for the next piece; nothing at the end."),
    row!("cancel"() -> Type::Nothing, FunctionKind::Sync(cancel), "Gives the rest up."),
];

/// The body of an answer on its way into a script.
pub(crate) struct AnswerBody {
    /// The pieces that were there with the head.
    first: RefCell<Vec<u8>>,
    /// `None` once it has ended or was given up.
    rest: RefCell<Option<Box<dyn StreamedBody>>>,
    is_cancelled: Cell<bool>,
    is_being_read: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    /// The run that still feeds the body of the request: it goes on while the script reads.
    feeding: RefCell<Option<Feeding>>,
    place: RefCell<Option<CallPlace>>,
}

/// A function of the script that feeds the body of a request.
pub(crate) type Feeding = LocalFuture<Result<(), Error>>;

impl AnswerBody {
    pub(crate) fn new(
        first: Vec<u8>,
        rest: Box<dyn StreamedBody>,
        feeding: Option<Feeding>,
        place: CallPlace,
    ) -> Self {
        Self {
            first: RefCell::new(first),
            rest: RefCell::new(Some(rest)),
            is_cancelled: Cell::default(),
            is_being_read: Cell::default(),
            reader: RefCell::default(),
            feeding: RefCell::new(feeding),
            place: RefCell::new(Some(place)),
        }
    }

    pub(crate) fn cancel(&self) {
        self.is_cancelled.set(true);
        self.end();
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn end(&self) {
        // What is dropped wakes others, so no borrow is held here.
        let (rest, place) = (self.rest.take(), self.place.take());
        drop((rest, place, self.feeding.take()));
    }

    fn poll(&self, cx: &mut task::Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
        if self.is_cancelled.get() {
            let text = "the body of the answer was given up";
            return Poll::Ready(Err(FetchFault::Closed.error(text)));
        }
        // Taken out, because it runs the script.
        if let Some(mut feeding) = self.feeding.take()
            && feeding.as_mut().poll(cx).is_pending()
            && !self.is_cancelled.get()
        {
            *self.feeding.borrow_mut() = Some(feeding);
        }
        let first = self.first.take();
        if !first.is_empty() {
            return Poll::Ready(Ok(Some(first)));
        }
        *self.reader.borrow_mut() = Some(cx.waker().clone());
        let polled = match &mut *self.rest.borrow_mut() {
            Some(rest) => ready!(rest.poll_chunk(cx)),
            None => None,
        };
        Poll::Ready(match polled {
            Some(Ok(chunk)) => Ok(Some(chunk.into_bytes())),
            Some(Err(error)) => {
                self.end();
                Err(error)
            }
            None => {
                self.end();
                Ok(None)
            }
        })
    }
}

/// One read, which no other may overlap.
struct Reading<'a>(&'a AnswerBody);

impl<'a> Reading<'a> {
    fn begin(body: &'a AnswerBody) -> Result<Self, Error> {
        match body.is_being_read.replace(true) {
            true => Err(Error::script("another read of this body has not ended yet")),
            false => Ok(Self(body)),
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        // A read that was given up leaves a wait behind, whose time does not count until the next one.
        if let Some(rest) = &mut *self.0.rest.borrow_mut() {
            rest.pause();
        }
        self.0.is_being_read.set(false);
    }
}

fn read(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let body = args.object::<AnswerBody>(context);
    let objects = context.objects().clone();
    Box::pin(async move {
        let (object, body) = body?;
        let _reading = Reading::begin(&body)?;
        let piece = poll_fn(|cx| body.poll(cx)).await;
        // A run that goes on for long may read many bodies.
        if !matches!(piece, Ok(Some(_))) {
            objects.remove(object);
        }
        Ok(piece?.map_or(Value::Null, Value::Bytes))
    })
}

fn cancel(context: &Context, args: Args) -> Result<Value, Error> {
    let (object, body) = args.object::<AnswerBody>(context)?;
    body.cancel();
    context.objects().remove(object);
    Ok(Value::Null)
}

/// Reads a whole body at once, as far as it is there: true at its end.
pub(crate) fn poll_some(
    body: &mut dyn StreamedBody,
    bytes: &mut Vec<u8>,
    bytes_max: usize,
    cx: &mut task::Context<'_>,
) -> Poll<Result<bool, Error>> {
    while bytes.len() < bytes_max {
        match ready!(body.poll_chunk(cx)) {
            Some(chunk) => match chunk? {
                Chunk::Bytes(piece) if bytes.is_empty() => *bytes = piece,
                chunk => bytes.extend_from_slice(&chunk.into_bytes()),
            },
            None => return Poll::Ready(Ok(true)),
        }
    }
    Poll::Ready(Ok(false))
}

/// `decode(text)`
pub(crate) fn decode(context: &Context, mut args: Args) -> Result<Value, Error> {
    let source = args.bytes(0);
    let depth_max = context.get::<ScriptLimits>().map_or_else(
        || ScriptLimits::default().json_depth_max,
        |limits| limits.json_depth_max,
    );
    let mut tape = Tape::default();
    tape.read(&source, depth_max).map_err(|error| {
        FetchFault::Answer.error(format!("the body of the answer is not JSON: {error}"))
    })?;
    Ok(tape.value(&source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::rc::Rc;

    /// Gives what is in it, and then waits, or ends. It counts how often its reader does something else.
    struct Pieces(VecDeque<&'static str>, bool, Rc<Cell<usize>>);

    impl StreamedBody for Pieces {
        fn pause(&mut self) {
            self.2.set(self.2.get() + 1);
        }

        fn poll_chunk(&mut self, _: &mut task::Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
            match self.0.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(piece.as_bytes().to_vec().into()))),
                None if self.1 => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    fn body(first: &str, rest: &[&'static str], ends: bool) -> AnswerBody {
        let place = CallPlace::take(&Context::default()).expect("a place");
        let rest = Pieces(rest.iter().copied().collect(), ends, Rc::default());
        AnswerBody::new(first.into(), Box::new(rest), None, place)
    }

    fn next(body: &AnswerBody) -> Poll<Result<Option<Vec<u8>>, String>> {
        let polled = body.poll(&mut task::Context::from_waker(Waker::noop()));
        polled.map(|piece| piece.map_err(|error| error.message().to_owned()))
    }

    #[test]
    fn what_came_with_the_head_is_read_first() {
        let body = body("a", &["b", "c"], true);
        for piece in ["a", "b", "c"] {
            assert_eq!(next(&body), Poll::Ready(Ok(Some(piece.into()))));
        }
        assert_eq!(next(&body), Poll::Ready(Ok(None)));
        assert!(body.place.borrow().is_none(), "its place is free again");
        assert_eq!(next(&body), Poll::Ready(Ok(None)));
    }

    #[test]
    fn a_body_that_is_given_up_wakes_its_reader() {
        let body = body("", &[], false);
        assert!(next(&body).is_pending());
        assert!(body.reader.borrow().is_some());
        body.cancel();
        assert!(body.reader.borrow().is_none());
        assert!(matches!(next(&body), Poll::Ready(Err(error)) if error.contains("given up")));
    }

    #[test]
    fn a_read_that_is_given_up_lets_the_body_pause() {
        let place = CallPlace::take(&Context::default()).expect("a place");
        let pauses = Rc::new(Cell::new(0));
        let rest = Pieces(VecDeque::new(), false, Rc::clone(&pauses));
        let body = AnswerBody::new(Vec::new(), Box::new(rest), None, place);
        let reading = Reading::begin(&body).expect("the only read");
        assert!(next(&body).is_pending());
        assert_eq!(pauses.get(), 0);
        drop(reading);
        assert_eq!(pauses.get(), 1);
    }

    #[test]
    fn what_is_there_is_taken_at_once() {
        let mut cx = task::Context::from_waker(Waker::noop());
        for (ends, expected) in [(true, Poll::Ready(true)), (false, Poll::Pending)] {
            let mut bytes = Vec::new();
            let mut pieces = Pieces(["ab", "c"].into(), ends, Rc::default());
            let polled = poll_some(&mut pieces, &mut bytes, 9, &mut cx);
            assert_eq!(polled.map(|ended| ended.expect("no fault")), expected);
            assert_eq!(bytes, b"abc");
        }
        let mut bytes = Vec::new();
        let polled = poll_some(
            &mut Pieces(["ab", "c"].into(), true, Rc::default()),
            &mut bytes,
            2,
            &mut cx,
        );
        assert!(matches!(polled, Poll::Ready(Ok(false))));
        assert_eq!(bytes, b"ab");
    }
}
