//! A stream of a script as the body of an answer: its chunks leave when the writes that they depend on are committed.

use crate::gate::commit_gate::Visit;
use crate::gate::control::{Control, log, warn_cut};
use crate::gate::given_up::{Rest, WaitingRequest, end_in_order};
use crate::gate::release::Settling;
use crate::gate::run_use::{RunKind, RunUse};
use crate::request::request_view::View;
use sampan_host::events::EventStream;
use sampan_host::{Chunk, Error, ErrorKind, Fate, StreamedBody, Verdict};
use sampan_http::codec::Exceeded;
use sampan_http::{Body, BodyError, LengthCheck, Response};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// The time for which one stream makes chunks, one after another, before others have their turn.
const TURN_TIME: Duration = Duration::from_millis(1);

/// A script's stream as the HTTP engine reads it.
pub(crate) struct ScriptStream {
    /// `None` once it has ended.
    body: Option<Box<dyn StreamedBody>>,
    visit: Visit,
    /// The use of the database by its function, where that cannot wait in the middle of a call.
    used: Option<RunUse>,
    /// A chunk that depends on writes that are not committed.
    held: Option<(Chunk, Fate)>,
    /// Waits until what the stream has written is committed: only then may the client see an end.
    settling: Option<Settling>,
    /// The beginning of its turn, while chunks follow each other without a wait.
    turn: Option<Instant>,
    /// The count of its bytes, where the head of the answer has told their number.
    length: Option<LengthCheck>,
    /// The chunk with which the body has that many bytes.
    last: LastChunk,
    /// The control whose log receives the errors of the stream, which come too late for any answer.
    control: Rc<Control>,
    /// The request that is answered.
    view: Option<Rc<View>>,
}

/// The chunk that completes a body of a declared length. A client that has it waits for no end.
enum LastChunk {
    /// Not made yet.
    Awaited,
    /// Kept until its function ends or waits.
    Made(Chunk),
    /// Its function has gone on.
    Passed,
}

impl ScriptStream {
    /// Creates the stream of an answer to `view`, which is `None` while a project loads.
    pub(super) fn new(
        body: Box<dyn StreamedBody>,
        control: &Rc<Control>,
        view: Option<&Rc<View>>,
    ) -> Self {
        if let Some(view) = view {
            view.additions.begin_part();
        }
        Self {
            body: Some(body),
            visit: control.gate.visit(),
            used: control.gate.use_beside(RunKind::Stream),
            held: None,
            settling: None,
            turn: None,
            length: None,
            last: LastChunk::Awaited,
            control: Rc::clone(control),
            view: view.cloned(),
        }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, Error>> {
        let held = match self.held.take() {
            Some(held) => held,
            None if self.body.is_none() => return self.poll_settled(cx).map_ok(|()| None),
            None => {
                let (body, visit) = (&mut self.body, &mut self.visit);
                let turn = |cx: &mut Context<'_>| {
                    let polled = match body {
                        Some(body) => body.poll_chunk(cx).map(Option::transpose),
                        None => Poll::Ready(Ok(None)),
                    };
                    if let Poll::Ready(Ok(None) | Err(_)) = polled {
                        *body = None;
                    }
                    polled
                };
                let used = self.used.as_ref().map(RunUse::turn);
                let watch = &self.control.gate.watch;
                let epoch = watch.epoch();
                let run = || visit.turn(cx, used.as_ref(), turn);
                let polled = self.control.during(self.view.as_ref(), run);
                if let Some(own) = &mut self.used {
                    let used = used.filter(|_| watch.epoch() != epoch);
                    own.left(used.as_ref(), self.body.is_none());
                }
                let Some(chunk) = ready!(polled)? else {
                    self.settling = None;
                    return self.poll_settled(cx).map_ok(|()| None);
                };
                let view = self.view.as_ref();
                if view.is_some_and(|view| self.visit.gate.may_be_rolled_back(view)) {
                    // Holding it would keep the script from going on, and the transaction from its end.
                    return Poll::Ready(Err(Error::script(
                        "a chunk cannot leave while the request has a transaction open: write it before or after \
                         db.transaction",
                    )));
                }
                match self.visit.depends_on() {
                    Some(fate) => (chunk.keep(), fate),
                    None => return Poll::Ready(Ok(Some(chunk))),
                }
            }
        };
        match held.1.verdict() {
            None => {
                self.held = Some(held);
                self.visit.wake_when_settled(cx);
                Poll::Pending
            }
            Some(Verdict::Committed) => Poll::Ready(Ok(Some(held.0))),
            Some(Verdict::Failed) => Poll::Ready(Err(self.visit.gate.lost())),
        }
    }

    /// Returns the next chunk, but the one that completes a declared length only when its function has ended, or waits
    /// for something: what it has written to the database by then is committed.
    fn next_or_last(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, Error>> {
        if !matches!(self.last, LastChunk::Made(_)) {
            let made = ready!(self.next(cx))?;
            let is_awaited = matches!(self.last, LastChunk::Awaited);
            match made {
                Some(chunk) if is_awaited && self.is_complete_with(&chunk) => {
                    self.last = LastChunk::Made(chunk.keep());
                }
                made => return Poll::Ready(Ok(made)),
            }
        }
        let next = self.next(cx);
        let goes_on = self.body.is_none() || self.held.is_some() || self.visit.is_kept_waiting();
        if next.is_pending() && goes_on {
            if self.visit.gate.outbox.is_sealed() {
                self.visit.wake_when_settled(cx);
            }
            return Poll::Pending;
        }
        let LastChunk::Made(last) = std::mem::replace(&mut self.last, LastChunk::Passed) else {
            return next;
        };
        match (next, self.visit.depends_on()) {
            (Poll::Ready(Err(error)), _) => Poll::Ready(Err(error)),
            (Poll::Ready(Ok(Some(more))), _) => {
                let mut bytes = last.into_bytes();
                bytes.extend(more.into_bytes());
                Poll::Ready(Ok(Some(bytes.into())))
            }
            (Poll::Pending, Some(fate)) => {
                self.held = Some((last, fate));
                self.visit.wake_when_settled(cx);
                Poll::Pending
            }
            (Poll::Pending, None) | (Poll::Ready(Ok(None)), _) => Poll::Ready(Ok(Some(last))),
        }
    }

    fn is_complete_with(&self, chunk: &Chunk) -> bool {
        let bytes = match chunk {
            Chunk::Bytes(bytes) => bytes.len(),
            Chunk::Lent(lender) | Chunk::LentBriefly(lender) => (**lender).as_ref().len(),
        };
        let length = self.length.as_ref();
        length.is_some_and(|length| length.is_complete_with(bytes))
    }

    /// Waits until what the stream has written up to the first call is committed.
    fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.settling.is_none() {
            match self.visit.settling(self.view.as_ref()) {
                Ok(None) => return Poll::Ready(Ok(())),
                Ok(settling) => self.settling = settling,
                Err(lost) => return Poll::Ready(Err(lost)),
            }
        }
        let settled = match &mut self.settling {
            Some(settling) => ready!(settling.as_mut().poll(cx)),
            None => Ok(()),
        };
        self.settling = None;
        Poll::Ready(settled)
    }
}

impl ScriptStream {
    /// Makes it the body of an answer, whose `Content-Length` holds if the script has set one.
    pub(crate) fn into_body(mut self: Box<Self>, response: &Response) -> Body {
        self.length = response.declared_length().map(LengthCheck::new);
        Body::Stream(self)
    }

    /// Waits until what the stream has written up to the first call is committed, for an end that its function does not
    /// make by returning.
    pub(crate) fn poll_committed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        let settled = ready!(self.poll_settled(cx));
        Poll::Ready(settled.map_err(|error| self.failed(error)))
    }

    /// Logs the error that cuts the stream.
    fn failed(&self, error: Error) -> BodyError {
        // The status is sent, so the client learns nothing of the error but the cut.
        let error = match error.kind() {
            ErrorKind::Stopped => error,
            _ => error.with_kind(ErrorKind::Internal),
        };
        if let Some(view) = &self.view {
            view.failed(&error);
        }
        log(&self.control, self.view.as_ref(), " (stream)", &error);
        BodyError(error.message().to_owned())
    }

    /// Counts what was made, where the head has told how much comes.
    fn count(
        &mut self,
        made: Option<sampan_http::Chunk>,
    ) -> Result<Option<sampan_http::Chunk>, Error> {
        if let Some(length) = &mut self.length {
            let counted = match &made {
                Some(chunk) => length.count(chunk.as_ref().len()),
                None => length.end(),
            };
            counted.map_err(|fault| Error::script(fault.0))?;
        }
        Ok(made)
    }

    /// Puts another body in the place of the script's, around it.
    pub(crate) fn wrap(
        &mut self,
        wrap: impl FnOnce(Box<dyn StreamedBody>) -> Box<dyn StreamedBody>,
    ) {
        self.body = self.body.take().map(wrap);
    }

    /// Has a stream of events polled when its project's streams are cut off.
    pub(crate) fn watch(&self, stream: &Rc<EventStream>) {
        self.control.streams.watch(stream);
    }

    /// Ends a turn that was long enough: the stream is polled again when others have had theirs.
    fn gives_way(&mut self, cx: &Context<'_>) -> bool {
        let now = Instant::now();
        let begun = *self.turn.get_or_insert(now);
        let is_over = now.saturating_duration_since(begun) > TURN_TIME;
        if is_over {
            self.turn = None;
            cx.waker().wake_by_ref();
        }
        is_over
    }

    /// Reports whether another project has taken the place of its own, and its time is up.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.control.streams.is_here() && self.body.is_some()
    }

    /// A reload gives streams of the old project some time, and no more.
    #[cold]
    fn cut_off(&self) -> BodyError {
        let millis = self.control.shutdown_time_max.as_millis();
        let reason = format!("cut after a reload (shutdown_millis_max, {millis} ms)");
        if let Some(view) = &self.view {
            let text = format!("{} (stream): {reason}", view.title());
            warn_cut(&self.control, view, text);
        }
        BodyError(reason)
    }
}

impl Drop for ScriptStream {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            let request = WaitingRequest {
                control: Rc::clone(&self.control),
                view: self.view.clone(),
                route: None,
            };
            end_in_order(request, Rest::Body(body));
        }
        if let Some(view) = &self.view {
            view.additions.end_part();
        }
    }
}

impl sampan_http::BodyStream for ScriptStream {
    fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<sampan_http::Chunk, BodyError>>> {
        if self.is_cut_off() {
            return Poll::Ready(Some(Err(self.cut_off())));
        }
        if self.gives_way(cx) {
            return Poll::Pending;
        }
        let polled = match self.length {
            None => self.next(cx),
            Some(_) => self.next_or_last(cx),
        };
        if polled.is_pending() {
            self.turn = None;
        }
        polled.map(|made| {
            let made = made.map(|chunk| {
                chunk.map(|chunk| match chunk {
                    Chunk::Bytes(bytes) => sampan_http::Chunk::Bytes(bytes),
                    Chunk::Lent(lender) => sampan_http::Chunk::Lent(lender),
                    Chunk::LentBriefly(lender) => sampan_http::Chunk::LentBriefly(lender),
                })
            });
            let made = made.and_then(|made| self.count(made));
            let made = made.map_err(|error| self.failed(error));
            made.transpose()
        })
    }

    fn cut(&mut self, limit: Exceeded) {
        let limit_text = format!("({}, {} ms)", limit.name, limit.max);
        match &self.view {
            Some(view) if limit.name == "shutdown_millis_max" => {
                let text = format!(
                    "{} (stream): cut by the shutdown {limit_text}",
                    view.title()
                );
                warn_cut(&self.control, view, text);
            }
            view => {
                let text = format!("cut, as it sent nothing for too long {limit_text}");
                let error = Error::new(ErrorKind::Timeout, text);
                log(&self.control, view.as_ref(), " (stream)", &error);
            }
        }
    }
}
