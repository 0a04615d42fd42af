//! A request whose body was received by one rule, for a handler with another: its code has changed meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Request;
use crate::answer::Answer;
use crate::codec::fault::Fault;
use crate::future::LocalFuture;
use crate::request_body::ReadError;

/// A request and its copy, which a handler answers in its place.
pub struct CopiedRequest {
    original: Rc<Request>,
    copy: Rc<Request>,
}

impl Request {
    /// Returns the request with its body as a handler gets it that accepts `bytes_max` bytes. A body that is to be
    /// whole is received first. The limit of one that stays streamed, without an announced length, is the old one.
    ///
    /// # Errors
    /// The body is too large, or did not arrive. The request that comes with the fault is for
    /// [`Handler::refuse_body`](crate::Handler::refuse_body).
    pub async fn by_rule(
        self: Rc<Self>,
        is_streamed: bool,
        bytes_max: usize,
    ) -> Result<CopiedRequest, (CopiedRequest, Fault)> {
        if let Some(fault) = self.decoder.head().body_above(bytes_max) {
            return Err(self.refused(fault));
        }
        match &self.streamed {
            Some(_) if !is_streamed => match self.collect(bytes_max).await {
                Ok(body) => Ok(self.copied(|copy| copy.decoder.set_body(&body))),
                Err(fault) => Err(self.refused(fault)),
            },
            None if self.body().len() > bytes_max => Err(self.refused(above(bytes_max))),
            // A whole body is one piece for a handler that reads pieces.
            _ => Ok(CopiedRequest::same(self)),
        }
    }

    async fn collect(&self, bytes_max: usize) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| self.poll_body(cx)).await {
            match piece {
                Ok(piece) if piece.len() > bytes_max - body.len() => return Err(above(bytes_max)),
                Ok(piece) => body.extend_from_slice(&piece),
                Err(ReadError::Fault(fault)) => return Err(fault),
                Err(ReadError::Over) => return Err(Fault::bad("the body was not read to its end")),
            }
        }
        Ok(body)
    }

    fn refused(self: Rc<Self>, fault: Fault) -> (CopiedRequest, Fault) {
        let copied = self.copied(|copy| {
            copy.decoder.set_body(b"");
            copy.refuse_body(fault);
        });
        (copied, fault)
    }

    /// Returns a copy that is changed. The handler's findings go with it.
    fn copied(self: Rc<Self>, change: impl FnOnce(&mut Request)) -> CopiedRequest {
        let mut copy = Request::empty(self.client.clone());
        copy.decoder = self.decoder.whole();
        copy.kept = self.kept.take().into();
        change(&mut copy);
        CopiedRequest {
            original: self,
            copy: Rc::new(copy),
        }
    }
}

fn above(bytes_max: usize) -> Fault {
    Fault::above(413, "body too large", "body_bytes_max", bytes_max as u64)
}

impl CopiedRequest {
    fn same(request: Rc<Request>) -> Self {
        Self {
            copy: Rc::clone(&request),
            original: request,
        }
    }

    /// Returns the answer of `handle` to the copy, as one to the request itself.
    pub fn answered(self, handle: impl FnOnce(&Rc<Request>) -> Answer) -> Answer {
        let answer = handle(&self.copy);
        if Rc::ptr_eq(&self.original, &self.copy) {
            return answer;
        }
        self.waited_for(answer)
    }

    fn waited_for(self, answer: Answer) -> Answer {
        self.pass_on_hints();
        match answer {
            Answer::Later(future) => Answer::Later(Box::pin(WaitingHandler {
                future,
                request: Some(self),
            })),
            answer => answer,
        }
    }

    /// Has the connection send the hints of the copy.
    fn pass_on_hints(&self) {
        let hints = self.copy.take_early_hints();
        self.original.add_early_hints(&hints);
    }
}

/// A handler that waits with the copy of a request.
struct WaitingHandler {
    future: LocalFuture<Answer>,
    /// The copy of the request; `None` once the handler has answered.
    request: Option<CopiedRequest>,
}

impl Future for WaitingHandler {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let polled = self.future.as_mut().poll(cx);
        match polled {
            Poll::Ready(answer) => Poll::Ready(match self.request.take() {
                Some(request) => request.waited_for(answer),
                None => answer,
            }),
            Poll::Pending => {
                if let Some(request) = &self.request {
                    request.pass_on_hints();
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for WaitingHandler {
    fn drop(&mut self) {
        if let Some(request) = &self.request
            && request.original.is_overdue()
        {
            request.copy.set_overdue();
        }
    }
}
