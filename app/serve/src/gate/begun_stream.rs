//! The answer with a stream whose function has a transaction open: where a script goes on with promises, the function
//! begins before its answer leaves, and only reading the stream lets it go on.

use crate::answer::errors;
use crate::gate::commit_gate::Visit;
use crate::gate::control::Control;
use crate::request::request_view::View;
use sampan_host::{LocalFuture, Outbox, Verdict};
use sampan_http::codec::Exceeded;
use sampan_http::{Answer, Body, BodyError, BodyStream, Chunk, Response, WorkerMoment};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A stream of which the first piece may have been made already.
struct BegunStream {
    first: Option<Option<Chunk>>,
    rest: Box<dyn BodyStream>,
}

impl BodyStream for BegunStream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(first.map(Ok)),
            None => self.rest.poll_chunk(cx),
        }
    }

    fn look(&mut self, worker: WorkerMoment) -> u64 {
        self.rest.look(worker)
    }

    fn cut(&mut self, limit: Exceeded) {
        self.rest.cut(limit);
    }
}

impl Visit {
    /// Answers with a stream when the transactions are settled on which its head may depend, and has its function go on
    /// until then.
    pub(super) fn release_begun(
        &self,
        transactions: &[Outbox],
        mut response: Response,
        view: &Rc<View>,
        control: &Rc<Control>,
    ) -> Answer {
        let visit = Visit {
            gate: Rc::clone(&self.gate),
            losses: self.losses,
            is_lost: self.is_lost,
            fates: self.fates.clone(),
            queued: None,
        };
        let (view, control) = (Rc::clone(view), Rc::clone(control));
        let settled: Vec<LocalFuture<Verdict>> = transactions
            .iter()
            .map(|outbox| Box::pin(outbox.settled()) as LocalFuture<Verdict>)
            .collect();
        Answer::Later(Box::pin(async move {
            let Body::Stream(mut rest) = std::mem::take(response.body_as_mut()) else {
                return visit.release(response, &view, &control);
            };
            let mut first = None;
            let mut all = pin!(async move {
                for verdict in settled {
                    verdict.await;
                }
            });
            poll_fn(|cx| {
                if first.is_none()
                    && let Poll::Ready(made) = rest.poll_chunk(cx)
                {
                    first = Some(made);
                }
                match &first {
                    // It has logged why.
                    Some(Some(Err(_))) => Poll::Ready(()),
                    _ => all.as_mut().poll(cx),
                }
            })
            .await;
            let first = match first.map(Option::transpose).transpose() {
                Ok(first) => first,
                Err(BodyError(_)) => {
                    let mut response = errors::refusal(500, None, Some(view.request()));
                    view.tell_id(&mut response);
                    return Answer::Now(response);
                }
            };
            response.set_body(Body::Stream(Box::new(BegunStream { first, rest })));
            visit.release(response, &view, &control)
        }))
    }
}
