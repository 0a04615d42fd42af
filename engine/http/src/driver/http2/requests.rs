//! Requests: from their heads to their handlers, or to the answer that refuses them.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll};

use h2::RecvStream;
use slab::Slab;

use super::budget::BodyShare;
use super::context::StreamContext;
use super::exchange::{Exchange, ExchangeState, Outgoing, Step};
use super::incoming::{Collected, Incoming};
use super::replies::AHEAD_BYTES;
use crate::answer::Answer;
use crate::codec::fault::{Exceeded, Fault};
use crate::driver::observed::PendingOutcome;
use crate::driver::panic::panic_text;
use crate::driver::replies::Reply;
use crate::request::Request;
use crate::request_body::RequestBody;

impl Exchange {
    pub(super) fn take_head(
        &mut self,
        request: http::Request<RecvStream>,
        context: &StreamContext,
    ) {
        let local = &context.local;
        let limits = &local.limits;
        let (parts, stream) = request.into_parts();
        let is_whole = stream.is_end_stream();
        let mut request = local.pool.request(&context.client);
        let inner = Rc::get_mut(&mut request).expect("the pool gives requests without owners");
        if let Err(fault) = inner.decoder.compose(&parts, is_whole, limits) {
            local.pool.give_request(request);
            return self.refuse(None, fault, context);
        }
        if request.is_extended_connect() {
            self.connect = Some(stream);
            return self.dispatch(request, context);
        }
        if is_whole {
            return self.dispatch(request, context);
        }
        let rule = local.handler().body_rule(&request);
        let bytes_max = rule.bytes_max.unwrap_or(limits.body_bytes_max);
        let head = request.decoder.head();
        let asks = head.expects_continue;
        if let Some(fault) = head.body_above(bytes_max) {
            return self.refuse(Some(request), fault, context);
        }
        let mut incoming = Incoming::new(stream, bytes_max, local);
        incoming.owes_continue = asks;
        if rule.is_streamed {
            let reader = Rc::new(RequestBody::default());
            if let Some(inner) = Rc::get_mut(&mut request) {
                inner.streamed = Some(Rc::clone(&reader));
            }
            incoming.read_by(reader);
            self.incoming = Some(incoming);
            self.dispatch(request, context);
        } else {
            self.incoming = Some(incoming);
            self.share = Some(BodyShare::new(&context.bodies, self.key));
            self.say_continue();
            self.state = ExchangeState::Collecting(request);
        }
    }

    /// Receives the body.
    pub(super) fn collect(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> Step {
        let ExchangeState::Collecting(request) = &mut self.state else {
            return Step::Again;
        };
        let parts = (&mut self.incoming, &mut self.share, Rc::get_mut(request));
        let (Some(incoming), Some(share), Some(inner)) = parts else {
            return Step::Over;
        };
        let Poll::Ready(collected) = incoming.collect(cx, inner, share, &context.local) else {
            return Step::Waiting;
        };
        let request = mem::replace(&mut self.state, ExchangeState::Sending);
        let ExchangeState::Collecting(request) = request else {
            return Step::Over;
        };
        match collected {
            Collected::Gone => return Step::Over,
            Collected::Refused(fault) => self.refuse(Some(request), fault, context),
            Collected::Whole => {
                self.incoming = None;
                self.state = ExchangeState::Collected(request);
            }
        }
        Step::Again
    }

    /// Has a request answered whose body is there, once there is room for the answer.
    pub(super) fn dispatch_collected(&mut self, context: &StreamContext) -> Step {
        if context.is_full.get() {
            let mut waiting = context.waiting.borrow_mut();
            if !waiting.contains(&self.key) {
                waiting.push(self.key);
            }
            return Step::Waiting;
        }
        let state = mem::replace(&mut self.state, ExchangeState::Sending);
        if let ExchangeState::Collected(request) = state {
            self.dispatch(request, context);
        }
        Step::Again
    }

    /// Has a request answered.
    pub(super) fn dispatch(&mut self, request: Rc<Request>, context: &StreamContext) {
        let local = &context.local;
        local.shared.count_request();
        let handler = local.handler();
        let observed = handler.observe(context.client.peer, Some(&request));
        self.observed = observed.map(PendingOutcome::new);
        let observer = self
            .observed
            .as_ref()
            .and_then(|observed| observed.observer());
        let handle = || handler.handle(&request, observer);
        let answer = catch_unwind(AssertUnwindSafe(handle)).unwrap_or_else(|panic| {
            handler.panicked(panic_text(&*panic));
            Answer::Now(handler.error(500, None))
        });
        self.by = local.now_millis() + local.limits.handler_millis_max;
        self.answer(answer, Some(request), context);
    }

    pub(super) fn say_overloaded(&mut self, context: &StreamContext) {
        let local = &context.local;
        let limit = Exceeded {
            name: "connections_max",
            max: local.limits.connections_max as u64,
        };
        let handler = local.handler();
        let observed = handler.observe(context.client.peer, None);
        self.observed = observed.map(PendingOutcome::new);
        let mut response = local.refusal(503, Some(limit));
        response.close();
        self.reply(Reply::Response(response), context);
    }

    /// Answers a request that is not taken. Without a request its head was at fault.
    pub(super) fn refuse(
        &mut self,
        request: Option<Rc<Request>>,
        fault: Fault,
        context: &StreamContext,
    ) {
        let handler = context.local.handler();
        let observed = handler.observe(context.client.peer, request.as_deref());
        self.observed = observed.map(PendingOutcome::new);
        let observer = self
            .observed
            .as_ref()
            .and_then(|observed| observed.observer());
        let answer = match request {
            Some(mut request) if fault.status == 413 => {
                if let Some(inner) = Rc::get_mut(&mut request) {
                    inner.refuse_body(fault);
                }
                let refused = || handler.refuse_body(&request, fault, observer);
                catch_unwind(AssertUnwindSafe(refused)).unwrap_or_else(|panic| {
                    handler.panicked(panic_text(&*panic));
                    Answer::Now(handler.error(500, None))
                })
            }
            _ => Answer::Now(context.local.refusal(fault.status, fault.limit)),
        };
        self.incoming = None;
        self.by = context.local.now_millis() + context.local.limits.handler_millis_max;
        self.answer(answer, None, context);
    }

    /// Tells a client that waits for it that it may send its body.
    pub(super) fn say_continue(&mut self) {
        let Some(incoming) = &mut self.incoming else {
            return;
        };
        if mem::take(&mut incoming.owes_continue)
            && let Outgoing::Unanswered(respond) = &mut self.outgoing
        {
            let mut interim = http::Response::new(());
            *interim.status_mut() = http::StatusCode::CONTINUE;
            // Fails only where the client has gone, which shows elsewhere.
            let _ = respond.send_informational(interim);
        }
    }
}

impl Exchange {
    /// Returns the memory of an answer that was made faster than the client takes it, in bytes. Of a file the
    /// connection reads only a little ahead, and of a stream as much is not counted.
    fn unread_bytes(&self) -> usize {
        match &self.state {
            ExchangeState::Sending => self.sent.held_bytes(),
            ExchangeState::Streaming(_) | ExchangeState::Failing => {
                self.sent.held_bytes().saturating_sub(2 * AHEAD_BYTES)
            }
            _ => 0,
        }
    }
}

/// Looks at the answers that wait for the client, and lets requests go on if there is room for theirs. The largest
/// answer does not count, so that small ones can overtake it on its way.
pub(super) fn measure_room(exchanges: &Slab<Exchange>, context: &StreamContext) {
    let bytes_max = context.local.limits.out_bytes_max;
    let is_full = context.outflow.held_bytes() >= bytes_max && {
        let unread = || exchanges.iter().map(|(_, one)| one.unread_bytes());
        unread().sum::<usize>() - unread().max().unwrap_or(0) >= bytes_max
    };
    context.is_full.set(is_full);
    if !is_full {
        for key in context.waiting.take() {
            context.ready.add(key);
        }
    }
}
