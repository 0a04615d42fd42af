//! A response body that a script produces while it is sent.
//!
//! The next chunk is asked for only when the connection wants one, so a slow client slows its stream down.

use crate::promises::suspend::{WatchedPromise, abort, ended};
use crate::promises::tasks::Tasks;
use crate::request::call::promise_result;
use crate::request::lent::LentBytes;
use crate::values::value::{append_bytes_of, is_uint8_array};
use crate::vm::error;
use crate::vm::isolate::Core;
use crate::vm::limits::ROUNDS_MAX;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, UNDEFINED, Val, is_nothing, is_promise};
use sampan_host::{Chunk, Error, HandlerId, StreamedBody};
use std::rc::Rc;
use std::task::{Context, Poll};

/// The body of one response.
pub(crate) struct JsStream {
    /// The chunk that has been asked for.
    asked: Option<WatchedPromise>,
    body: Val,
    /// The function that gives its chunks.
    next: Val,
    /// The request's, if the script has asked for it.
    signal: Option<Val>,
    tasks: Rc<Tasks>,
    handler: HandlerId,
    is_over: bool,
    is_cancelled: bool,
    // Last: it keeps the context of the values above.
    core: Rc<Core>,
}

/// The result of asking for a chunk.
enum NextChunk {
    /// The chunk; `None` at the end.
    Here(Option<Chunk>),
    /// A promise of it.
    Asked(WatchedPromise),
}

impl JsStream {
    /// Creates the body of a stream that has been opened: `next` is the function that gives its chunks.
    pub(crate) fn new(
        core: Rc<Core>,
        tasks: Rc<Tasks>,
        handler: HandlerId,
        (body, next): (Val, Val),
        signal: Option<Val>,
    ) -> Self {
        tasks.feeds_stream.set(true);
        Self {
            asked: None,
            body,
            next,
            signal,
            tasks,
            handler,
            is_over: false,
            is_cancelled: false,
            core,
        }
    }

    /// Runs something of the script as a part of the request.
    fn enter<R>(&self, body: impl FnOnce(Cx<'_>) -> Result<R, Error>) -> Result<R, Error> {
        self.core
            .enter(self.handler, Some(self.tasks.clone()), body)
            .value?
    }

    /// Asks for the next chunk.
    fn ask(&self) -> Result<NextChunk, Error> {
        let next = self.enter(|cx| {
            let given = cx.call(self.next.raw(), UNDEFINED, &[]);
            let given = given.map_err(|Thrown| error::take(cx))?;
            if !is_promise(given.raw()) {
                return chunk(cx, &self.core, &given).map(Ok);
            }
            cx.core().handled(cx, given.raw());
            Ok(Err(given))
        })?;
        Ok(match next {
            Ok(chunk) => NextChunk::Here(chunk),
            Err(promise) => NextChunk::Asked(WatchedPromise::new(self.core.clone(), promise)),
        })
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, Error>> {
        let (tasks, core) = (self.tasks.clone(), self.core.clone());
        // A stream that is always ready does not keep the rest of its request from going on. Not after a chunk is here:
        // the script might open a transaction, which that must not be held by.
        if self.asked.is_none() && !tasks.is_empty() {
            tasks.advance_all(&core, self.handler, cx, || false)?;
        }
        for _ in 0..ROUNDS_MAX {
            let asked = match self.asked.take() {
                Some(asked) => asked,
                None => match self.ask()? {
                    NextChunk::Asked(asked) => asked,
                    NextChunk::Here(Some(chunk)) if is_empty(&chunk) => continue,
                    NextChunk::Here(chunk) => return Poll::Ready(Ok(chunk)),
                },
            };
            asked.wake(cx);
            tasks.advance_all(&core, self.handler, cx, || asked.is_settled())?;
            if !asked.is_settled() {
                self.asked = Some(asked);
                return Poll::Pending;
            }
            match self.enter(|cx| chunk_of(cx, &self.core, asked.promise()))? {
                // An empty chunk would end a chunked body.
                Some(chunk) if is_empty(&chunk) => {}
                chunk => return Poll::Ready(Ok(chunk)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn end(&mut self, error: Option<&Error>) {
        self.is_over = true;
        self.tasks.feeds_stream.set(false);
        ended(&self.core, self.tasks.clone(), self.handler, error);
    }

    /// Polls the rest that the producer left, until nothing is left of it.
    fn poll_rest(&self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, Error>> {
        self.tasks.wake_on_change(cx);
        let (tasks, core) = (self.tasks.clone(), self.core.clone());
        tasks.advance_all(&core, self.handler, cx, || false)?;
        if tasks.is_empty() {
            return Poll::Ready(Ok(None));
        }
        Poll::Pending
    }

    /// Tells the source, and the listeners of the request's signal, that the client reads no more.
    fn tell(&self) -> Result<(), Error> {
        self.enter(|cx| {
            let tables = cx.core().tables()?;
            let call = |function: &Val, subject: &Val| {
                cx.call(function.raw(), UNDEFINED, &[subject.raw()])
                    .map_err(|Thrown| error::take(cx))
            };
            if let Some(signal) = &self.signal {
                abort(cx, signal).map_err(|failure| match failure {
                    Failure::Thrown => error::take(cx),
                    Failure::Error(error) => error,
                })?;
            }
            call(&tables.cancel_stream, &self.body)?;
            Ok(())
        })
    }
}

/// Converts the next chunk; nothing at the end.
fn chunk(cx: Cx<'_>, core: &Rc<Core>, value: &Val) -> Result<Option<Chunk>, Error> {
    if is_nothing(value.raw()) {
        return Ok(None);
    }
    if !is_uint8_array(value.raw()) {
        return Err(Error::script("a body stream must give Uint8Array chunks"));
    }
    // A job that runs before this is sent might change the bytes.
    if !cx.has_jobs()
        && let Some(lent) = LentBytes::of(core, value)
    {
        return Ok(Some(Chunk::LentBriefly(Box::new(lent))));
    }
    let mut bytes = Vec::new();
    Ok(append_bytes_of(cx, value.raw(), &mut bytes).then(|| bytes.into()))
}

fn chunk_of(cx: Cx<'_>, core: &Rc<Core>, promise: RawValue<'_>) -> Result<Option<Chunk>, Error> {
    match promise_result(cx, promise) {
        Some(Ok(value)) => chunk(cx, core, &value),
        Some(Err(reason)) => Err(error::describe(cx, reason.raw())),
        None => Ok(Some(Vec::new().into())),
    }
}

fn is_empty(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Bytes(bytes) if bytes.is_empty())
}

impl StreamedBody for JsStream {
    fn cancel(&mut self) {
        self.is_cancelled = true;
        self.asked = None;
        // First, so that what the source waits for when it is told is not meant.
        self.tasks.cancel_all();
        if let Err(error) = self.tell() {
            (self.core.contract.report)(error);
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = if self.is_cancelled {
            self.poll_rest(cx)
        } else {
            self.poll(cx)
        };
        match &polled {
            Poll::Ready(Ok(None)) => self.end(None),
            Poll::Ready(Err(error)) => self.end(Some(error)),
            _ => {}
        }
        polled.map(Result::transpose)
    }
}

impl Drop for JsStream {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if !self.is_cancelled
            && let Err(error) = self.tell()
        {
            (self.core.contract.report)(error);
        }
        self.tasks.abandon(&self.core);
    }
}
