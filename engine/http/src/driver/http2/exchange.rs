//! One stream: a request, its handler, and the answer on its way to the client.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};

use super::budget::BodyShare;
use super::context::{HeldMark, StreamContext};
use super::incoming::Incoming;
use super::piece::{Piece, Sent};
use super::tunnel::{Tunnel, TunnelEnd};
use crate::answer::{Answer, Decision, Ticket};
use crate::codec::fault::Exceeded;
use crate::codec::http2::fields_of;
use crate::driver::deadlines::NEVER;
use crate::driver::observed::Observed;
use crate::driver::panic::panic_text;
use crate::driver::replies::Reply;
use crate::future::LocalFuture;
use crate::request::Request;
use crate::response::{BodyStream, FilePart};

/// Steps of one stream in one turn; then others get theirs.
const TURN_STEPS_MAX: u32 = 64;

/// The state of an exchange.
pub(super) enum ExchangeState {
    /// The body is received before the handler is called.
    Collecting(Rc<Request>),
    /// The body is there, and the handler is called once the client has taken earlier answers.
    Collected(Rc<Request>),
    Running {
        future: LocalFuture<Answer>,
        /// Kept so that its buffer can be used again if the future has not kept it.
        request: Option<Rc<Request>>,
    },
    Held {
        reply: Reply,
        ticket: Ticket,
        _mark: HeldMark,
    },
    Streaming(Box<dyn BodyStream>),
    File {
        part: FilePart,
        at: u64,
    },
    /// The stream is its handler's.
    Tunnel(Tunnel),
    /// The answer has failed: the stream is reset once the frames that were made of it have gone.
    Failing,
    /// The end of the answer is among the frames, or never comes.
    Sending,
}

/// The sending direction of a stream.
pub(super) enum Outgoing {
    Unanswered(SendResponse<Piece>),
    Answered(SendStream<Piece>),
    /// The stream of a tunnel, or of one that has ended.
    Tunnel(Rc<TunnelEnd>),
    /// A stream that has been reset.
    Over,
}

/// The next thing to do for an exchange.
pub(super) enum Step {
    Again,
    Waiting,
    Over,
}

pub(super) struct Exchange {
    pub(super) key: usize,
    waker: Option<Waker>,
    pub(super) state: ExchangeState,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Option<Incoming>,
    /// The receiving direction of an extended CONNECT that is not answered yet.
    pub(super) connect: Option<RecvStream>,
    /// The body that was collected, until the answer.
    pub(super) share: Option<BodyShare>,
    pub(super) head_only: bool,
    pub(super) observed: Observed,
    /// The status of the answer, once that has begun.
    pub(super) status: u16,
    pub(super) sent: Rc<Sent>,
    /// The time at which the handler, the ticket or the next chunk is too late.
    pub(super) by: u64,
    /// The time at which the stream of the answer wants to be polled though nothing has woken it.
    pub(super) poll_at: u64,
    /// The time by which the client must have taken something, and how much it had taken when that was set.
    pub(super) write_by: u64,
    pub(super) taken_before: u64,
}

impl Exchange {
    /// Takes a request. `None` if its client has taken it back.
    pub(super) fn begin(
        key: usize,
        request: http::Request<RecvStream>,
        mut respond: SendResponse<Piece>,
        context: &StreamContext,
    ) -> Option<Self> {
        let mut cx = Context::from_waker(Waker::noop());
        if respond.poll_reset(&mut cx).is_ready() {
            context.note_taken_back();
            return None;
        }
        let mut exchange = Self {
            key,
            waker: None,
            state: ExchangeState::Sending,
            outgoing: Outgoing::Unanswered(respond),
            incoming: None,
            connect: None,
            share: None,
            head_only: request.method() == http::Method::HEAD,
            observed: None,
            status: 0,
            sent: Sent::new(key, Rc::clone(&context.outflow)),
            by: NEVER,
            poll_at: NEVER,
            write_by: NEVER,
            taken_before: 0,
        };
        if context.is_refused {
            exchange.say_overloaded(context);
        } else {
            exchange.take_head(request, context);
        }
        Some(exchange)
    }

    /// Takes what a handler answered.
    pub(super) fn answer(
        &mut self,
        answer: Answer,
        request: Option<Rc<Request>>,
        context: &StreamContext,
    ) {
        let reply = match answer {
            Answer::Later(future) => {
                self.state = ExchangeState::Running { future, request };
                return;
            }
            Answer::Now(response) => Reply::Response(response),
            Answer::Precomputed(response) => Reply::Precomputed(response),
            Answer::Held(response, ticket) => {
                self.give_back(request, context);
                let limits = &context.local.limits;
                self.by = context.local.now_millis() + limits.handler_millis_max;
                self.state = ExchangeState::Held {
                    reply: Reply::Response(response),
                    ticket,
                    _mark: HeldMark::new(&context.held),
                };
                return;
            }
            Answer::Upgrade(upgrade) if self.connect.is_some() => {
                self.give_back(request, context);
                return self.open_tunnel(*upgrade, context);
            }
            // HTTP/2 has no 101 (RFC 9113 section 8.6).
            Answer::Upgrade(_) => Reply::Response(context.local.handler().error(500, None)),
        };
        self.give_back(request, context);
        self.reply(reply, context);
    }

    fn give_back(&mut self, request: Option<Rc<Request>>, context: &StreamContext) {
        self.share = None;
        if let Some(request) = request {
            context.local.pool.give_request(request);
        }
    }

    /// Reports whether the stream is its handler's.
    pub(super) fn is_tunnel(&self) -> bool {
        matches!(self.state, ExchangeState::Tunnel(_))
    }

    /// Goes as far as it can. Ready if the exchange is over.
    pub(super) fn poll(&mut self, context: &StreamContext) -> Poll<()> {
        self.sent.unlist();
        if matches!(self.state, ExchangeState::Sending) {
            return self.poll_sent(context);
        }
        let waker = self
            .waker
            .get_or_insert_with(|| context.ready.waker(self.key));
        let waker = waker.clone();
        let mut cx = Context::from_waker(&waker);
        if let Some(incoming) = &self.incoming {
            incoming.unpark();
        }
        for _ in 0..TURN_STEPS_MAX {
            if self.is_taken_back(&mut cx, context) {
                return Poll::Ready(());
            }
            match self.step(&mut cx, context) {
                Step::Again => {}
                Step::Waiting => {
                    if let Some(incoming) = &self.incoming {
                        incoming.park(&cx);
                    }
                    return Poll::Pending;
                }
                Step::Over => return Poll::Ready(()),
            }
        }
        waker.wake();
        Poll::Pending
    }

    /// Reports whether the client has reset the stream.
    fn is_taken_back(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> bool {
        match &mut self.outgoing {
            Outgoing::Unanswered(respond) => {
                let is_reset = respond.poll_reset(cx).is_ready();
                if is_reset {
                    context.note_taken_back();
                }
                is_reset
            }
            Outgoing::Answered(stream) => stream.poll_reset(cx).is_ready(),
            // A tunnel sees it when it reads or writes.
            Outgoing::Tunnel(_) | Outgoing::Over => false,
        }
    }

    fn step(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> Step {
        match &mut self.state {
            ExchangeState::Collecting(_) => self.collect(cx, context),
            ExchangeState::Collected(_) => self.dispatch_collected(context),
            ExchangeState::Running { .. } => {
                if self.run(cx, context) || self.pass_body_on(cx, context) {
                    Step::Again
                } else {
                    Step::Waiting
                }
            }
            ExchangeState::Held { ticket, .. } => match ticket.poll(cx) {
                Poll::Pending => Step::Waiting,
                Poll::Ready(decision) => {
                    self.release(decision, context);
                    Step::Again
                }
            },
            ExchangeState::Streaming(_) => match self.next_chunk(cx, context) {
                Step::Waiting if self.pass_body_on(cx, context) => Step::Again,
                step => step,
            },
            ExchangeState::File { .. } => self.next_part(),
            ExchangeState::Tunnel(_) => self.run_tunnel(cx, context),
            ExchangeState::Failing => self.reset_failed(),
            ExchangeState::Sending => match self.poll_sent(context) {
                Poll::Ready(()) => Step::Over,
                Poll::Pending => Step::Waiting,
            },
        }
    }

    /// Polls the handler's future. True if it has answered.
    fn run(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> bool {
        let ExchangeState::Running { future, .. } = &mut self.state else {
            return false;
        };
        let answer = match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {
                self.send_early_hints();
                return false;
            }
            Ok(Poll::Ready(answer)) => answer,
            Err(panic) => {
                let handler = context.local.handler();
                handler.panicked(panic_text(&*panic));
                Answer::Now(handler.error(500, None))
            }
        };
        self.answer_running(answer, context);
        true
    }

    /// Sends what the handler that waits has asked to be sent before its answer (RFC 8297).
    fn send_early_hints(&mut self) {
        let ExchangeState::Running { request, .. } = &self.state else {
            return;
        };
        let Some(request) = request.as_ref() else {
            return;
        };
        if request.early_links.borrow().is_empty() {
            return;
        }
        let lines = request.early_links.take();
        if let Outgoing::Unanswered(respond) = &mut self.outgoing {
            let mut interim = http::Response::new(());
            *interim.status_mut() = http::StatusCode::EARLY_HINTS;
            fields_of(&lines, interim.headers_mut());
            // Fails only where the client has gone, which shows elsewhere.
            let _ = respond.send_informational(interim);
        }
    }

    /// Ends the handler's future and takes its answer.
    pub(super) fn answer_running(&mut self, answer: Answer, context: &StreamContext) {
        let state = mem::replace(&mut self.state, ExchangeState::Sending);
        if let ExchangeState::Running { future, request } = state {
            drop(future);
            self.answer(answer, request, context);
        }
    }

    /// Lets a held answer go.
    fn release(&mut self, decision: Decision, context: &StreamContext) {
        let state = mem::replace(&mut self.state, ExchangeState::Sending);
        if let ExchangeState::Held { reply, ticket, .. } = state {
            let reply = match decision {
                Decision::Replaced(status) => {
                    Reply::Response(ticket.replacement(status, &*context.local.handler()))
                }
                Decision::Undecided | Decision::Released => reply,
            };
            self.reply(reply, context);
        }
    }

    fn pass_body_on(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> bool {
        if self.incoming.as_ref().is_some_and(Incoming::is_awaited) {
            self.say_continue();
        }
        let incoming = self.incoming.as_mut();
        let passed = incoming.is_some_and(|incoming| incoming.pass_on(cx, &context.local));
        if passed {
            self.by = context.local.now_millis() + context.local.limits.handler_millis_max;
        }
        passed
    }

    /// Resets the stream: the client sees that the answer is not whole, or never comes.
    pub(super) fn reset(&mut self, reason: Reason) {
        match &mut self.outgoing {
            Outgoing::Unanswered(respond) => respond.send_reset(reason),
            Outgoing::Answered(stream) => stream.send_reset(reason),
            Outgoing::Tunnel(end) => end.stream.borrow_mut().send_reset(reason),
            Outgoing::Over => {}
        }
        self.outgoing = Outgoing::Over;
    }

    /// Tells who observes it that the worker ends before the request was answered.
    pub(super) fn tell_unanswered(&mut self, shutdown_millis_max: u64) {
        if self.status == 0
            && let Some(pending) = &mut self.observed
        {
            pending.tell_cut();
        }
        if let ExchangeState::Streaming(stream) = &mut self.state {
            stream.cut(Exceeded {
                name: "shutdown_millis_max",
                max: shutdown_millis_max,
            });
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Without a status its drop tells that the client has left.
        if self.status != 0
            && let Some(pending) = &mut self.observed
        {
            pending.tell(self.status, self.sent.taken(), false);
        }
    }
}
