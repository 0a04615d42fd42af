//! The answer with a stream whose function has a transaction open: where a script goes on with promises, the function
//! begins before its answer leaves, and only reading the stream lets it go on.

use crate::answer::errors;
use crate::gate::commit_gate::Visit;
use crate::gate::control::Control;
use crate::request::request_view::View;
use sampan_host::{Error, ErrorKind, Fate, LocalFuture, Outbox, Verdict};
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

/// Dropped because the handler's time is up, it logs that.
struct HeadWait {
    view: Rc<View>,
    control: Rc<Control>,
}

impl Drop for HeadWait {
    fn drop(&mut self) {
        if self.view.request().is_overdue() {
            let millis = self.control.handler_time_max.as_millis();
            let text = format!("no answer after {millis} ms: given up (handler_millis_max)");
            self.view.log(&Error::new(ErrorKind::Timeout, text));
        }
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
        let wait = HeadWait {
            view: Rc::clone(view),
            control: Rc::clone(control),
        };
        let behind: Vec<Fate> = transactions.iter().filter_map(Outbox::fate).collect();
        let settled: Vec<LocalFuture<Verdict>> = transactions
            .iter()
            .map(|outbox| Box::pin(outbox.settled()) as LocalFuture<Verdict>)
            .collect();
        Answer::Later(Box::pin(async move {
            let (view, control) = (&wait.view, &wait.control);
            let mut first = None;
            if let Body::Stream(mut rest) = std::mem::take(response.body_as_mut()) {
                let verdict = settle(settled, &mut *rest, &mut first).await;
                if verdict == Verdict::Failed || visit.gate.losses() != visit.losses {
                    return visit.answer_lost(&visit.gate.lost_answer(&behind), view, control);
                }
                let first = match first.map(Option::transpose).transpose() {
                    Ok(first) => first,
                    // It has logged why.
                    Err(BodyError(_)) => {
                        let mut response = errors::refusal(500, None, Some(view.request()));
                        view.tell_id(&mut response);
                        return Answer::Now(response);
                    }
                };
                response.set_body(Body::Stream(Box::new(BegunStream { first, rest })));
            }
            // What its function has opened since then is no matter of the head.
            visit.release_behind(Vec::new(), response, view, control)
        }))
    }
}

/// Waits for the transactions while the stream goes on, up to its first piece. Ends at once with the stream's error.
async fn settle(
    settled: Vec<LocalFuture<Verdict>>,
    stream: &mut dyn BodyStream,
    first: &mut Option<Option<Result<Chunk, BodyError>>>,
) -> Verdict {
    let mut all = pin!(async move {
        let mut all = Verdict::Committed;
        for verdict in settled {
            if verdict.await == Verdict::Failed {
                all = Verdict::Failed;
            }
        }
        all
    });
    poll_fn(|cx| {
        if first.is_none()
            && let Poll::Ready(made) = stream.poll_chunk(cx)
        {
            *first = Some(made.map(|made| made.map(kept)));
        }
        match first {
            Some(Some(Err(_))) => Poll::Ready(Verdict::Committed),
            _ => all.as_mut().poll(cx),
        }
    })
    .await
}

/// Copies bytes that are the script's again as soon as it goes on.
fn kept(chunk: Chunk) -> Chunk {
    match chunk {
        Chunk::LentBriefly(lender) => Chunk::Bytes((*lender).as_ref().to_vec()),
        chunk => chunk,
    }
}
