//! A response body that a script produces while it is sent.
//!
//! The next chunk is asked for only when the connection wants one, so a slow client slows its stream down.

use crate::call::promise_result;
use crate::error;
use crate::isolate::Core;
use crate::suspend::{Watched, leave_behind};
use crate::sys::{Cx, Raw, Thrown, UNDEFINED, Val, is_nothing};
use crate::tasks::Tasks;
use crate::value::bytes_of;
use sampan_host::{BodyStream, Error, HandlerId};
use std::rc::Rc;
use std::task::{Context, Poll};

/// The body of one response.
pub(crate) struct Stream {
    /// The chunk that has been asked for.
    asked: Option<Watched>,
    body: Val,
    tasks: Rc<Tasks>,
    handler: HandlerId,
    is_over: bool,
    // Last: it keeps the context of the values above.
    core: Rc<Core>,
}

impl Stream {
    pub(crate) fn new(core: Rc<Core>, tasks: Rc<Tasks>, handler: HandlerId, body: Val) -> Self {
        tasks.feeds_stream.set(true);
        Self {
            asked: None,
            body,
            tasks,
            handler,
            is_over: false,
            core,
        }
    }

    /// Asks for the next chunk; the promise of it.
    fn ask(&mut self) -> Result<Watched, Error> {
        let ran = self
            .core
            .enter(self.handler, Some(self.tasks.clone()), |cx| {
                let next = cx.core().tables()?.next_chunk.raw();
                let promise = cx
                    .call(next, UNDEFINED, &[self.body.raw()])
                    .map_err(|Thrown| error::take(cx))?;
                cx.core().handled(cx, promise.raw());
                Ok(promise)
            });
        Ok(Watched::new(self.core.clone(), ran.value??))
    }

    fn chunk(&self, asked: &Watched) -> Result<Option<Vec<u8>>, Error> {
        let ran = self
            .core
            .enter(self.handler, Some(self.tasks.clone()), |cx| {
                chunk_of(cx, asked.promise())
            });
        ran.value?
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
        loop {
            let asked = match self.asked.take() {
                Some(asked) => asked,
                None => self.ask()?,
            };
            asked.wake(cx);
            let (tasks, core) = (self.tasks.clone(), self.core.clone());
            tasks.advance_all(&core, self.handler, cx, || asked.is_settled())?;
            if !asked.is_settled() {
                self.asked = Some(asked);
                return Poll::Pending;
            }
            match self.chunk(&asked)? {
                // An empty chunk would end a chunked body.
                Some(chunk) if chunk.is_empty() => {}
                chunk => return Poll::Ready(Ok(chunk)),
            }
        }
    }
}

fn chunk_of(cx: Cx<'_>, promise: Raw) -> Result<Option<Vec<u8>>, Error> {
    match promise_result(cx, promise) {
        Some(Ok(value)) if is_nothing(value.raw()) => Ok(None),
        Some(Ok(value)) => bytes_of(cx, value.raw())
            .map(Some)
            .ok_or_else(|| Error::script("a body stream gave something that is no Uint8Array")),
        Some(Err(reason)) => Err(error::describe(cx, reason.raw())),
        None => Ok(Some(Vec::new())),
    }
}

impl BodyStream for Stream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = self.poll(cx);
        if let Poll::Ready(Ok(None) | Err(_)) = polled {
            self.is_over = true;
            self.tasks.feeds_stream.set(false);
            leave_behind(&self.core, self.tasks.clone(), self.handler);
        }
        polled.map(Result::transpose)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // Nobody reads it any more: its source is told, then what it waits for is dropped.
        let ran = self
            .core
            .enter(self.handler, Some(self.tasks.clone()), |cx| {
                let tables = cx.core().tables()?;
                let cancelled = cx.call(tables.cancel_stream.raw(), UNDEFINED, &[self.body.raw()]);
                cancelled.map(drop).map_err(|Thrown| error::take(cx))
            });
        if let Err(error) | Ok(Err(error)) = ran.value {
            (self.core.report)(error);
        }
        self.tasks.abandon(&self.core);
    }
}
