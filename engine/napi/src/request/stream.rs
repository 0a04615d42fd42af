//! A response body that a script produces while it is sent.
//!
//! The next chunk is asked for only when the connection wants one, so a slow client slows its stream down.

use crate::request::response::Answerer;
use crate::request::slots::{RequestKey, RequestSlot};
use crate::sys::{Failure, Js};
use crate::vm::core::{Core, Cx, kinds};
use crate::vm::error;
use sampan_host::engine::cancelled;
use sampan_host::{Chunk, Error, HandlerId, StreamedBody};
use std::rc::Rc;
use std::task::{Context, Poll};

/// The body of one response; the prelude has its reader under a number.
pub(crate) struct ScriptStream {
    core: Rc<Core>,
    key: u32,
    answerer: Answerer,
    slot: Option<Rc<RequestSlot>>,
    is_over: bool,
    is_cancelled: bool,
}

/// The result of asking for a chunk.
enum NextChunk {
    Here(Vec<u8>),
    End,
    Later,
}

impl ScriptStream {
    pub(crate) fn new(core: Rc<Core>, key: u32, handler: HandlerId, request: RequestKey) -> Self {
        let slot = core.requests.get(request);
        Self {
            core,
            key,
            answerer: Answerer::new(handler, 200, request),
            slot,
            is_over: false,
            is_cancelled: false,
        }
    }

    fn enter<R: 'static>(
        &self,
        body: impl FnOnce(Cx<'_>) -> Result<R, Failure>,
    ) -> Result<R, Error> {
        self.core
            .enter(self.answerer.handler, self.slot.clone(), |cx| {
                body(cx).map_err(|failure| error::described(cx, failure))
            })
    }

    fn next(&self) -> Result<NextChunk, Error> {
        self.enter(|cx| {
            let key = cx.number(f64::from(self.key))?;
            let chunk: Js<'_> = cx.call(cx.core().tables()?.next.get(cx.env()), &[key])?;
            Ok(match cx.core().meta()?.kind() {
                kinds::WAITS => NextChunk::Later,
                kinds::BYTES => {
                    let mut bytes = Vec::new();
                    cx.append_bytes(chunk, &mut bytes);
                    NextChunk::Here(bytes)
                }
                _ => NextChunk::End,
            })
        })
    }

    /// Tells the source, and the listeners of the request's signal, that the client has left.
    fn tell(&self) -> Result<(), Error> {
        self.enter(|cx| {
            let reason = error::to_exception(cx, &cancelled(), None)?;
            let request = cx.number(self.answerer.request)?;
            cx.call_own("abort", &[request, reason])?;
            let key = cx.number(f64::from(self.key))?;
            cx.call_own("cancelStream", &[key, reason])?;
            Ok(())
        })
    }

    fn end(&mut self) {
        self.is_over = true;
        self.core.forget_wait(self.key);
        self.answerer.forget(&self.core, self.key);
        self.answerer.end(&self.core);
    }
}

impl StreamedBody for ScriptStream {
    fn cancel(&mut self) {
        self.is_cancelled = true;
        if let Some(slot) = &self.slot {
            slot.tasks.cancel_all();
        }
        if let Err(error) = self.tell() {
            (self.core.contract.report)(error);
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.is_cancelled {
            self.end();
            return Poll::Ready(None);
        }
        loop {
            match self.next() {
                // It may have come at once.
                Ok(NextChunk::Later) if self.core.poll_wait(self.key, cx) => {}
                Ok(NextChunk::Later) => return Poll::Pending,
                // An empty chunk would end a chunked body.
                Ok(NextChunk::Here(bytes)) if bytes.is_empty() => {}
                Ok(NextChunk::Here(bytes)) => return Poll::Ready(Some(Ok(bytes.into()))),
                Ok(NextChunk::End) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Err(error) => {
                    self.end();
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl Drop for ScriptStream {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if !self.is_cancelled {
            if let Some(slot) = &self.slot {
                slot.tasks.cancel_all();
            }
            if let Err(error) = self.tell() {
                (self.core.contract.report)(error);
            }
        }
        self.end();
    }
}
