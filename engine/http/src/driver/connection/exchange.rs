//! Answers: from what a handler returned to bytes in the output, in the order of the requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll};

use super::{Connection, PollStep};
use crate::answer::{Answer, Decision};
use crate::codec::encoder::{BodyRest, Exchange, encode_response};
use crate::driver::bodies::Streaming;
use crate::driver::deadlines::NEVER;
use crate::driver::observed::Observed;
use crate::driver::output::Tail;
use crate::driver::panic::panic_text;
use crate::driver::replies::{Queued, Reply, RunningHandler};
use crate::driver::runtime::Socket;
use crate::precomputed::PrecomputedRest;
use crate::request::Request;

/// Chunks taken from one stream in one turn, so that a stream that is always ready leaves the thread to others.
const TURN_CHUNKS_MAX: u32 = 256;

/// The progress of the output side.
enum Pumped {
    /// Every answer so far is in the output.
    All,
    /// A stream or a ticket keeps the rest.
    Waiting,
    Full,
}

impl<S: Socket> Connection<S> {
    /// One round: output, the running future, the next requests.
    pub(super) fn work(&mut self, cx: &mut Context<'_>, turn: &mut u32) -> PollStep {
        loop {
            let pumped = self.pump(cx);
            if self.running.is_some() {
                if self.run(cx) {
                    continue;
                }
                return if let Pumped::Full = pumped {
                    PollStep::OutputFull
                } else {
                    PollStep::Waiting
                };
            }
            match pumped {
                Pumped::Full => return PollStep::OutputFull,
                Pumped::All if self.last => return PollStep::Done,
                Pumped::Waiting if self.last || self.streaming.is_some() => {
                    return PollStep::Waiting;
                }
                Pumped::Waiting if self.queue.len() >= self.local.limits.held_max => {
                    return PollStep::Waiting;
                }
                // The bytes to come belong to a body, until that and its answer have ended.
                Pumped::All | Pumped::Waiting if self.receiving.is_some() => {
                    return PollStep::Waiting;
                }
                Pumped::All | Pumped::Waiting => {}
            }
            if *turn == 0 {
                return PollStep::Yield;
            }
            if let Some(step) = self.next_request(turn) {
                return step;
            }
        }
    }

    /// Takes what a handler answered.
    pub(super) fn answer(
        &mut self,
        answer: Answer,
        exchange: Exchange,
        request: Option<Rc<Request>>,
        observed: Observed,
    ) {
        let by = self.local.now_millis() + self.local.limits.handler_millis_max;
        let (reply, ticket) = match answer {
            Answer::Now(response) => (Reply::Response(response), None),
            Answer::Precomputed(response) => (Reply::Precomputed(response), None),
            Answer::Held(response, ticket) => (Reply::Response(response), Some(ticket)),
            Answer::Upgrade(upgrade) if exchange.version_minor == 1 => {
                // What the client sends from now on is not a request.
                self.last = true;
                (Reply::Upgrade(upgrade), None)
            }
            Answer::Upgrade(_) => (Reply::Response(self.local.handler().error(500, None)), None),
            Answer::Later(future) => {
                self.running = Some(RunningHandler {
                    future,
                    exchange,
                    request,
                    by,
                    observed,
                });
                return;
            }
        };
        if let Some(request) = request {
            self.local.pool.give_request(request);
        }
        if ticket.is_none() && self.queue.is_empty() && self.takes_output() {
            self.encode(reply, exchange, observed);
        } else {
            self.queue.push_back(Queued {
                reply,
                ticket,
                exchange,
                by,
                observed,
            });
        }
    }

    fn has_unread_input(&self) -> bool {
        self.input
            .as_ref()
            .is_some_and(|input| input.decoder.buffered() > 0)
    }

    fn takes_output(&self) -> bool {
        self.streaming.is_none() && self.output.has_room(self.local.limits.out_bytes_max)
    }

    /// Serialises a reply behind everything before it.
    #[inline]
    fn encode(&mut self, reply: Reply, mut exchange: Exchange, observed: Observed) {
        let client_goes_on = exchange.keep_alive;
        if self.local.leaving.get() && exchange.keep_alive {
            // The last answer of a worker that leaves says so; those behind this one are still given.
            let more = !self.queue.is_empty() || self.running.is_some() || self.has_unread_input();
            exchange.keep_alive = more;
        }
        let ends_body = self.receiving.is_some() && self.queue.is_empty() && self.running.is_none();
        if ends_body && self.reads_body() && !reply.is_streamed() {
            exchange.keep_alive = false;
        }
        let date = self.local.clock.date();
        let strict_transport = self.client.strict_transport().cloned();
        let strict_transport = strict_transport.map(|value| (value, self.output.total_bytes()));
        let started = observed.map(|pending| (pending, reply.status(), self.output.total_bytes()));
        let out = self.output.buffer(&self.local.pool);
        let goes_on = match reply {
            Reply::Upgrade(upgrade) => {
                upgrade.encode(out, &date);
                self.takeover = Some(upgrade.take);
                false
            }
            Reply::Precomputed(response) => {
                let (rest, goes_on) = response.encode(out, exchange, &date);
                match rest {
                    Some(PrecomputedRest::Bytes(bytes)) => {
                        self.output.set_tail(Tail::Shared(bytes), b"");
                    }
                    Some(PrecomputedRest::File(part)) => {
                        self.output.set_tail(Tail::File(part), b"");
                    }
                    None => {}
                }
                goes_on
            }
            Reply::Response(response) => {
                let (rest, goes_on) = encode_response(out, response, exchange, &date);
                match rest {
                    BodyRest::Nothing => {}
                    BodyRest::Bytes(bytes) => self.output.set_tail(Tail::Bytes(bytes), b""),
                    BodyRest::Shared(bytes) => self.output.set_tail(Tail::Shared(bytes), b""),
                    BodyRest::Lent(lender) => self.output.set_tail(Tail::Lent(lender), b""),
                    BodyRest::File(part) => self.output.set_tail(Tail::File(part), b""),
                    BodyRest::Stream { stream, length } => {
                        let by = self.local.now_millis() + self.local.limits.stream_idle_millis_max;
                        self.streaming = Some(Streaming {
                            stream,
                            length,
                            by,
                            poll_at: NEVER,
                        });
                    }
                }
                goes_on
            }
        };
        if let Some((value, start)) = strict_transport {
            let name = "Strict-Transport-Security";
            self.output.add_field(start, name, &value);
        }
        if let Some((pending, status, start)) = started {
            let body_from = pending.counts_bytes().then(|| self.output.head_end(start));
            let until = self.streaming.is_none().then(|| self.output.total_bytes());
            self.observed.begin(pending, status, body_from, until);
        }
        if !goes_on {
            self.last = true;
            // Where the client did not ask for the end it may be sending its next request.
            let is_upgraded = self.takeover.is_some();
            self.linger |= !is_upgraded && (client_goes_on || self.has_unread_input());
            // Nothing may follow a response that says it is the last.
            self.queue.clear();
            self.running = None;
        }
        if ends_body && self.streaming.is_none() {
            self.end_body();
        }
        self.restart_reading();
    }

    /// Moves what is decided into the output.
    fn pump(&mut self, cx: &mut Context<'_>) -> Pumped {
        let mut chunks = 0;
        loop {
            if !self.output.has_room(self.local.limits.out_bytes_max) {
                return Pumped::Full;
            }
            if let Some(streaming) = &mut self.streaming {
                if chunks == TURN_CHUNKS_MAX {
                    cx.waker().wake_by_ref();
                    return Pumped::Waiting;
                }
                chunks += 1;
                streaming.poll_at = streaming.stream.look(self.local.moment());
                let polled = catch_unwind(AssertUnwindSafe(|| streaming.stream.poll_chunk(cx)));
                if self.take_chunk(polled).is_pending() {
                    return Pumped::Waiting;
                }
                continue;
            }
            let Some(front) = self.queue.front_mut() else {
                return Pumped::All;
            };
            if let Some(ticket) = &front.ticket {
                match ticket.poll(cx) {
                    Poll::Pending => return Pumped::Waiting,
                    Poll::Ready(Decision::Replaced(status)) => {
                        let handler = self.local.handler();
                        front.reply = Reply::Response(ticket.replacement(status, &*handler));
                    }
                    Poll::Ready(_) => {}
                }
            }
            if let Some(queued) = self.queue.pop_front() {
                self.encode(queued.reply, queued.exchange, queued.observed);
            }
        }
    }

    /// Polls the handler's future. True if it has answered.
    fn run(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let answer = match catch_unwind(AssertUnwindSafe(|| running.future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {
                self.send_early_hints();
                return false;
            }
            Ok(Poll::Ready(answer)) => answer,
            Err(panic) => {
                let handler = self.local.handler();
                handler.panicked(panic_text(&*panic));
                Answer::Now(handler.error(500, None))
            }
        };
        if let Answer::Later(next) = answer {
            // Its time goes on from the call of the handler.
            running.future = next;
        } else {
            self.answer_running(answer);
        }
        true
    }

    /// Sends what the handler that waits has asked to be sent before its answer (RFC 8297).
    fn send_early_hints(&mut self) {
        let Some(running) = &self.running else {
            return;
        };
        let Some(request) = running.request.as_ref() else {
            return;
        };
        if request.early_links.borrow().is_empty() {
            return;
        }
        // Behind the answers before it, or not at all.
        if !self.queue.is_empty() || !self.takes_output() {
            return;
        }
        let lines = request.early_links.take();
        if running.exchange.version_minor == 1 {
            let out = self.output.buffer(&self.local.pool);
            for part in [b"HTTP/1.1 103 Early Hints\r\n".as_slice(), &lines, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
    }

    /// Ends the handler's future and takes its answer.
    fn answer_running(&mut self, answer: Answer) {
        if let Some(running) = self.running.take() {
            drop(running.future);
            self.answer(answer, running.exchange, running.request, running.observed);
        }
    }

    /// Tells who observes them that the worker ends before these requests were answered.
    pub(super) fn tell_unanswered(&mut self) {
        if let Some(http2) = &mut self.http2 {
            http2.tell_unanswered();
        }
        let running = self.running.iter_mut().map(|running| &mut running.observed);
        let queued = self.queue.iter_mut().map(|queued| &mut queued.observed);
        for pending in running.chain(queued).flatten() {
            pending.tell_cut();
        }
        let max = self.local.limits.shutdown_millis_max;
        self.tell_stream("shutdown_millis_max", max);
    }

    /// Returns the time at which what is being waited for here counts as too late.
    pub(super) fn work_by(&self) -> u64 {
        // A handler that waits for its client's bytes has the time that those have.
        let running = self.running.as_ref().filter(|_| !self.awaits_body());
        let running = running.map_or(NEVER, |running| running.by);
        let streaming = self
            .streaming
            .as_ref()
            .map_or(NEVER, |streaming| streaming.by);
        let held = self
            .queue
            .front()
            .filter(|front| front.ticket.is_some())
            .map_or(NEVER, |front| front.by);
        // A stream that waits for its client is the client's matter, see `write_by`.
        let streaming = if self.output.is_empty() {
            streaming
        } else {
            NEVER
        };
        running.min(streaming).min(held)
    }

    /// Ends what is too late: with 504 where nothing has been sent yet, else with the connection.
    pub(super) fn end_work(&mut self, now: u64) {
        let running = self.running.as_ref().filter(|_| !self.awaits_body());
        if let Some(running) = running.filter(|running| running.by <= now) {
            let request = running.request.clone();
            let response = self.local.handler().error(504, None);
            if let Some(request) = &request {
                request.is_overdue.set(true);
            }
            if let Some(running) = &mut self.running {
                running.future = Box::pin(std::future::pending());
            }
            if let Some(request) = request {
                request.is_overdue.set(false);
            }
            return self.answer_running(Answer::Now(response));
        }
        if let Some(front) = self.queue.front_mut()
            && front.ticket.is_some()
            && front.by <= now
        {
            front.reply = Reply::Response(self.local.handler().error(504, None));
            front.ticket = None;
            return;
        }
        let max = self.local.limits.stream_idle_millis_max;
        self.tell_stream("stream_idle_millis_max", max);
        self.abort_stream();
    }
}
