//! Handlers whose promise is pending.

use crate::request::response::Answerer;
use crate::request::slots::RequestSlot;
use crate::vm::core::Core;
use crate::vm::error;
use sampan_host::engine::cancelled;
use sampan_host::{Error, ErrorKind, ResponseSink, Suspended};
use std::rc::Rc;
use std::task::{Context, Poll};

/// A handler whose promise the prelude watches under a number.
pub(crate) struct Waiting {
    core: Rc<Core>,
    key: u32,
    answerer: Answerer,
    slot: Rc<RequestSlot>,
    is_over: bool,
}

impl Waiting {
    pub(crate) fn new(core: Rc<Core>, key: u32, answerer: Answerer, slot: Rc<RequestSlot>) -> Self {
        Self {
            core,
            key,
            answerer,
            slot,
            is_over: false,
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.core.forget_wait(self.key);
        if !self.answerer.feeds_stream.get() {
            self.answerer.end(&self.core);
        }
    }
}

impl Suspended for Waiting {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn ResponseSink,
    ) -> Poll<Result<(), Error>> {
        if self.is_over {
            let text = "the handler has ended";
            return Poll::Ready(Err(Error::new(ErrorKind::Internal, text)));
        }
        if !self.core.poll_wait(self.key, cx) {
            return Poll::Pending;
        }
        let (handler, slot) = (self.answerer.handler, Some(Rc::clone(&self.slot)));
        let taken = self
            .core
            .enter(handler, slot, |cx| self.answerer.take(cx, self.key, sink));
        match taken {
            Ok(None) => {
                self.end();
                Poll::Ready(Ok(()))
            }
            // What was promised has to be waited for in turn: the bytes of a `Blob`.
            Ok(Some(key)) => {
                self.key = key;
                self.poll(cx, sink)
            }
            Err(error) => {
                self.end();
                Poll::Ready(Err(error))
            }
        }
    }

    fn cancel(&mut self) {
        // First, so that what listeners of the signal wait for is not meant.
        self.slot.tasks.cancel_all();
        let slot = Some(Rc::clone(&self.slot));
        self.core.enter(self.answerer.handler, slot, |cx| {
            let aborted = error::to_exception(cx, &cancelled(), None).and_then(|reason| {
                let request = cx.number(self.answerer.request)?;
                cx.call_own("abort", &[request, reason])
            });
            if let Err(failure) = aborted {
                (cx.core().contract.report)(error::described(cx, failure));
            }
        });
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_over {
            self.slot.tasks.cancel_all();
            self.answerer.forget(&self.core, self.key);
            self.end();
        }
    }
}
