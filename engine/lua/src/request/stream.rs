//! Bodies that a script produces while they are sent.
//!
//! The producer runs in a coroutine of its own. `write(chunk)` suspends it until the client has room for more, so a
//! slow reader slows the script down instead of filling the memory.

use crate::request::call::{CallOutcome, HandlerEntry, run_on};
use crate::request::object::RequestSlot;
use crate::vm::isolate::{Core, Thread, Wait};
use sampan_host::engine::cancelled;
use sampan_host::{Chunk, Error, LocalFuture, StreamedBody, Value};
use std::rc::Rc;
use std::task::{Context, Poll};

/// A body that a coroutine produces.
pub(crate) struct LuaStream {
    core: Rc<Core>,
    /// The request stays known to the script until the stream has ended.
    slot: Option<RequestSlot>,
    name: u32,
    thread: Option<Thread>,
    operation: Option<LocalFuture<Result<Value, Error>>>,
    /// True if the producer has run.
    has_begun: bool,
    is_cancelled: bool,
}

impl LuaStream {
    pub(crate) fn new(core: Rc<Core>, thread: Thread, slot: RequestSlot, name: u32) -> Self {
        Self {
            core,
            slot: Some(slot),
            name,
            thread: Some(thread),
            operation: None,
            has_begun: false,
            is_cancelled: false,
        }
    }
}

impl StreamedBody for LuaStream {
    fn cancel(&mut self) {
        self.is_cancelled = true;
        if let Some(slot) = &self.slot {
            slot.drop_objects(&self.core);
        }
        if self.has_begun {
            self.fail_wait();
        } else {
            // The coroutine never ran, so it has nothing to end.
            self.thread
                .take()
                .into_iter()
                .for_each(|thread| self.core.drop_thread(thread));
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        loop {
            let mut has_result = false;
            if let Some(operation) = &mut self.operation {
                let polled = match &self.slot {
                    Some(slot) => slot.poll(&self.core, operation, cx),
                    None => operation.as_mut().poll(cx),
                };
                let Poll::Ready(result) = polled else {
                    return Poll::Pending;
                };
                self.operation = None;
                has_result = true;
                // SAFETY: nothing of Lua runs now, so nothing else uses the cell.
                unsafe { *self.core.result.get() = Some(result) };
            }
            let Some(thread) = self.thread.take() else {
                return Poll::Ready(None);
            };
            if let Some(slot) = &self.slot {
                self.core.request.set(slot.number());
            }
            self.has_begun = true;
            self.core.enter_world();
            let mut entry = HandlerEntry {
                core: &self.core,
                sink: None,
                outcome: CallOutcome::Nothing,
                thread: Some(thread),
                has_result,
            };
            let result = self
                .core
                .protected(self.name, run_on, &mut entry)
                .map_err(|fault| fault.0);
            let outcome = entry.outcome;
            self.core.after_run();
            if let Err(error) = result {
                if let CallOutcome::Waiting(thread, wait) = outcome {
                    if let Wait::Lent(text) = wait {
                        text.release(&self.core);
                    }
                    self.core.drop_thread(thread);
                }
                self.slot = None;
                return Poll::Ready(Some(Err(error)));
            }
            match outcome {
                CallOutcome::Waiting(thread, Wait::Operation(operation)) => {
                    self.thread = Some(thread);
                    self.operation = Some(operation);
                }
                CallOutcome::Waiting(thread, Wait::Chunk(chunk)) => {
                    self.thread = Some(thread);
                    if self.is_cancelled {
                        self.fail_wait();
                    }
                    return Poll::Ready(Some(Ok(Chunk::Bytes(chunk))));
                }
                CallOutcome::Waiting(thread, Wait::Lent(text)) => {
                    self.thread = Some(thread);
                    if self.is_cancelled {
                        self.fail_wait();
                    }
                    return Poll::Ready(Some(Ok(Chunk::Lent(text.lend(&self.core)))));
                }
                CallOutcome::Failed(error) => {
                    self.slot = None;
                    return Poll::Ready(Some(Err(error)));
                }
                CallOutcome::Done(_) | CallOutcome::False | CallOutcome::Nothing => {
                    self.slot = None;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl LuaStream {
    /// Fails the producer's wait: an operation, or the next read.
    fn fail_wait(&mut self) {
        self.operation = Some(Box::pin(std::future::ready(Err(cancelled()))));
    }
}

impl Drop for LuaStream {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.core.drop_thread(thread);
        }
    }
}
