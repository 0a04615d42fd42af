//! Requests: what the decoder finds in the bytes received, and how it reaches the handler.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::{Connection, Phase, PollStep};
use crate::answer::{Answer, ConnectionFault};
use crate::codec::decoder::{AwaitedPart, DecoderEvent};
use crate::codec::encoder::{CONTINUE, Exchange};
use crate::codec::fault::{Exceeded, Fault};
use crate::driver::bodies::Receiving;
use crate::driver::deadlines::NEVER;
use crate::driver::observed::{Observed, PendingOutcome};
use crate::driver::panic::panic_text;
use crate::driver::runtime::Socket;
use crate::request::Request;
use crate::request_body::RequestBody;
use crate::response::Response;

/// The time that a connection without a request in hand is kept while its worker ends.
pub(in crate::driver) const DRAIN_MILLIS_MAX: u64 = 50;

/// The first bytes of a client that begins with TLS: a record of a handshake.
const TLS_BEGINS: &[u8] = &[22, 3];

impl<S: Socket> Connection<S> {
    /// Takes the next request out of the bytes in hand. `None` if there may be more to do at once.
    pub(super) fn next_request(&mut self, turn: &mut u32) -> Option<PollStep> {
        let Some(input) = &mut self.input else {
            return Some(self.wait_for(AwaitedPart::Nothing));
        };
        let request = Rc::get_mut(input).expect("shared requests are replaced when they are");
        match request.decoder.next(&self.local.limits) {
            DecoderEvent::Incomplete(wait) => return Some(self.wait_for(wait)),
            DecoderEvent::Fault(fault) => {
                if self.begins_http2() {
                    return Some(PollStep::Http2);
                }
                self.fail(fault.status, fault.limit);
            }
            DecoderEvent::Head => {
                let asks =
                    request.decoder.head().expects_continue && !request.decoder.has_body_bytes();
                let limits = &self.local.limits;
                let rule = self.local.handler().body_rule(request);
                let body_bytes_max = rule.bytes_max.unwrap_or(limits.body_bytes_max);
                if rule.is_streamed {
                    match request.decoder.stream_body(body_bytes_max) {
                        Err(fault) => self.fail(fault.status, fault.limit),
                        Ok((decoder, bytes)) => {
                            let body = Rc::new(RequestBody::default());
                            request.streamed = Some(Rc::clone(&body));
                            let idle = limits.body_idle_millis_max;
                            let receiving = Receiving::new(body, decoder, asks, idle);
                            self.receiving = Some(Box::new(receiving));
                            if let Err(fault) = self.take_body_bytes(bytes, None) {
                                self.receiving = None;
                                self.fail(fault.status, fault.limit);
                                return None;
                            }
                            *turn -= 1;
                            self.dispatch();
                        }
                    }
                    return None;
                }
                if asks && !self.queue.is_empty() {
                    // The 100 must not overtake answers that are held, so the body waits for them.
                    return Some(PollStep::Waiting);
                }
                match request.decoder.accept_body(body_bytes_max) {
                    Err(fault) => self.fail(fault.status, fault.limit),
                    Ok(()) if asks => self
                        .output
                        .buffer(&self.local.pool)
                        .extend_from_slice(CONTINUE),
                    Ok(()) => {}
                }
            }
            DecoderEvent::Request => {
                *turn -= 1;
                self.dispatch();
            }
        }
        None
    }

    /// Has the request in hand answered.
    fn dispatch(&mut self) {
        self.phase = Phase::Busy;
        self.read_by = NEVER;
        self.has_served = true;
        self.local.shared.count_request();
        let Some(request) = self.input.take() else {
            return;
        };
        let exchange = request.exchange();
        self.last |= !exchange.keep_alive;
        let handler = self.local.handler();
        let observed = handler
            .observe(self.client.peer, Some(&request))
            .map(PendingOutcome::new);
        let observer = observed.as_ref().and_then(|observed| observed.observer());
        let handle = || handler.handle(&request, observer);
        let answer = match catch_unwind(AssertUnwindSafe(handle)) {
            Ok(answer) => answer,
            Err(panic) => {
                handler.panicked(panic_text(&*panic));
                Answer::Now(handler.error(500, None))
            }
        };
        let request = self.leave(request, matches!(answer, Answer::Later(_)));
        self.pass_rest_on();
        self.answer(answer, exchange, request, observed);
    }

    /// Asks for an observer of a request; `None` is a request whose head could not be read.
    pub(super) fn observe(&self, request: Option<&Request>) -> Observed {
        let observer = self.local.handler().observe(self.client.peer, request)?;
        Some(PendingOutcome::new(observer))
    }

    /// Goes to the bytes behind an answered request: in the same buffer, or in another one where the request
    /// is still needed. Returns it in that case.
    fn leave(&mut self, mut request: Rc<Request>, needed: bool) -> Option<Rc<Request>> {
        if !needed && let Some(inner) = Rc::get_mut(&mut request) {
            inner.advance();
            self.input = Some(request);
            return None;
        }
        let rest = request.decoder.rest();
        if !rest.is_empty() {
            let mut input = self.local.pool.request(&self.client);
            if let Some(inner) = Rc::get_mut(&mut input) {
                inner.decoder.feed(rest);
            }
            self.input = Some(input);
        }
        Some(request)
    }

    /// Notes what is awaited from the client, and until when.
    fn wait_for(&mut self, wait: AwaitedPart) -> PollStep {
        let now = self.local.now_millis();
        let limits = &self.local.limits;
        match wait {
            AwaitedPart::Nothing => {
                if self.phase != Phase::Fresh && self.phase != Phase::Idle {
                    self.phase = Phase::Idle;
                    self.read_by = now + limits.idle_millis_max;
                    self.begin_idle();
                } else if self.phase == Phase::Fresh && self.parks_at == NEVER {
                    self.begin_idle();
                }
                self.release_input();
                if self.local.draining.get() {
                    // Only a request that is on its way already is still taken.
                    self.read_by = self.read_by.min(now + DRAIN_MILLIS_MAX);
                }
            }
            AwaitedPart::Head => {
                if self.phase != Phase::Head {
                    self.phase = Phase::Head;
                    self.read_by = now + limits.head_millis_max;
                }
            }
            AwaitedPart::Body => {
                if self.phase != Phase::Body {
                    self.phase = Phase::Body;
                    self.read_by = now + limits.body_idle_millis_max;
                    self.progress_bytes = 0;
                }
            }
        }
        PollStep::Input
    }

    /// A connection without a request in hand owns no buffer.
    pub(super) fn release_input(&mut self) {
        if self
            .input
            .as_ref()
            .is_some_and(|input| input.decoder.is_clear())
            && let Some(input) = self.input.take()
        {
            self.local.pool.give_request(input);
        }
    }

    /// The time for what is awaited begins again now.
    pub(super) fn restart_reading(&mut self) {
        let limits = &self.local.limits;
        let millis = match self.phase {
            Phase::Idle if self.local.draining.get() => return,
            Phase::Idle => limits.idle_millis_max,
            Phase::Head => limits.head_millis_max,
            Phase::Body => limits.body_idle_millis_max,
            Phase::Fresh | Phase::Busy => return,
        };
        self.read_by = self.local.now_millis() + millis;
    }

    pub(super) fn note_body_progress(&mut self, bytes: usize) {
        self.progress_bytes += bytes;
        if self.progress_bytes >= self.local.limits.progress_bytes_min {
            self.progress_bytes = 0;
            self.read_by = self.local.now_millis() + self.local.limits.body_idle_millis_max;
        }
    }

    /// Answers a request that cannot be read to its end, behind all answers that are due, and closes then.
    pub(super) fn fail(&mut self, status: u16, limit: Option<Exceeded>) {
        match self.input.take() {
            Some(request) if request.decoder.has_head() => self.refuse_body(request, status, limit),
            input => {
                // The method alone says that no body may follow (RFC 9110 section 9.3.2).
                let head_only = input.as_ref().is_some_and(|input| {
                    let unread = input.decoder.unread();
                    unread.trim_ascii_start().starts_with(b"HEAD ")
                });
                let exchange = Exchange {
                    head_only,
                    ..Exchange::UNKNOWN
                };
                let handler = self.local.handler();
                let begins_tls = input.as_ref().is_some_and(|input| {
                    let unread = input.decoder.unread();
                    unread.starts_with(TLS_BEGINS) && self.client.tls.is_none()
                });
                if begins_tls {
                    handler.connection_fault(self.client.peer, &ConnectionFault::TlsOnPlainPort);
                }
                let response = handler.error(status, limit);
                let observed = self.observe(None);
                self.input = input;
                self.end_with(response, exchange, observed);
            }
        }
    }

    /// Refuses a body when the head is there.
    fn refuse_body(&mut self, mut request: Rc<Request>, status: u16, limit: Option<Exceeded>) {
        let exchange = Exchange {
            keep_alive: false,
            ..request.exchange()
        };
        let observed = self.observe(Some(&request));
        let handler = self.local.handler();
        let answer = if status == 413 {
            let fault = Fault {
                status,
                reason: "body too large",
                limit,
            };
            if let Some(inner) = Rc::get_mut(&mut request) {
                inner.refuse_body(fault);
            }
            let observer = observed.as_ref().and_then(|observed| observed.observer());
            let refused = || handler.refuse_body(&request, fault, observer);
            catch_unwind(AssertUnwindSafe(refused)).unwrap_or_else(|panic| {
                handler.panicked(panic_text(&*panic));
                Answer::Now(handler.error(500, None))
            })
        } else {
            Answer::Now(self.local.refusal(status, limit))
        };
        self.end_after(answer, exchange, Some(request), observed);
    }

    /// Makes this the connection's last answer; what else the client sends is not looked at.
    pub(super) fn end_with(&mut self, response: Response, exchange: Exchange, observed: Observed) {
        let input = self.input.take();
        self.end_after(Answer::Now(response), exchange, input, observed);
    }

    fn end_after(
        &mut self,
        answer: Answer,
        exchange: Exchange,
        request: Option<Rc<Request>>,
        observed: Observed,
    ) {
        self.last = true;
        self.linger = true;
        self.phase = Phase::Busy;
        self.read_by = NEVER;
        self.answer(answer, exchange, request, observed);
    }
}
