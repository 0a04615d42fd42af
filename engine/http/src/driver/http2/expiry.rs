//! The deadlines of exchanges and of their connection, and what becomes of them when one has passed.

use std::mem;

use h2::Reason;

use super::context::StreamContext;
use super::exchange::{Exchange, ExchangeState};
use super::incoming::Incoming;
use super::replies::AHEAD_BYTES;
use super::{Http2, Session};
use crate::answer::Answer;
use crate::codec::fault::{Exceeded, Fault};
use crate::driver::deadlines::NEVER;
use crate::driver::replies::Reply;
use crate::driver::runtime::Socket;

impl Exchange {
    /// Notes whether the client takes what waits for it, and returns the earliest deadline.
    pub(super) fn deadline(&mut self, context: &StreamContext) -> u64 {
        let limits = &context.local.limits;
        let taken = self.sent.taken();
        if let ExchangeState::Tunnel(tunnel) = &self.state {
            return tunnel.wake_at(&context.local);
        }
        if self.sent.pending() == 0 {
            self.write_by = NEVER;
        } else if self.write_by == NEVER
            || taken - self.taken_before >= limits.progress_bytes_min as u64
        {
            self.write_by = context.local.now_millis() + limits.write_idle_millis_max;
            self.taken_before = taken;
        }
        self.work_by().min(self.write_by).min(self.wanted_at())
    }

    /// Returns the time at which the stream of the answer wants to be polled; never while its client has too much to
    /// read.
    fn wanted_at(&self) -> u64 {
        match &self.state {
            ExchangeState::Streaming(_) if self.sent.pending() < AHEAD_BYTES => self.poll_at,
            _ => NEVER,
        }
    }

    /// Returns the time at which what is being waited for here counts as too late.
    fn work_by(&self) -> u64 {
        let incoming = self.incoming.as_ref();
        match &self.state {
            ExchangeState::Collecting(_) => incoming.map_or(NEVER, Incoming::deadline),
            // A handler that waits for its client's bytes has the time that those have.
            ExchangeState::Running { .. } => match incoming.filter(|body| body.is_awaited()) {
                Some(incoming) => incoming.deadline(),
                None => self.by,
            },
            ExchangeState::Held { .. } => self.by,
            // A stream that waits for its client is the client's matter.
            ExchangeState::Streaming(_) if self.sent.pending() == 0 => {
                match incoming.filter(|body| body.is_awaited()) {
                    Some(incoming) => incoming.deadline().min(self.by),
                    None => self.by,
                }
            }
            _ => NEVER,
        }
    }

    /// Acts on a deadline that has passed. True if the exchange is over.
    pub(super) fn expire(&mut self, now: u64, context: &StreamContext) -> bool {
        if let ExchangeState::Tunnel(tunnel) = &mut self.state {
            if tunnel.is_due(now, &context.local) {
                context.ready.add(self.key);
            }
            return false;
        }
        if self.write_by <= now {
            self.reset(Reason::CANCEL);
            return true;
        }
        if self.wanted_at() <= now {
            self.poll_at = NEVER;
            context.ready.add(self.key);
        }
        if self.work_by() > now {
            return false;
        }
        let limits = &context.local.limits;
        let is_late_body = self
            .incoming
            .as_ref()
            .is_some_and(|incoming| incoming.is_awaited() && incoming.deadline() <= now);
        let max = limits.body_idle_millis_max;
        let late_body = Fault::above(
            408,
            "the body did not come in time",
            "body_idle_millis_max",
            max,
        );
        match &mut self.state {
            _ if is_late_body => {
                if let Some(incoming) = &mut self.incoming {
                    incoming.fail(late_body);
                }
            }
            ExchangeState::Collecting(_) => {
                let state = mem::replace(&mut self.state, ExchangeState::Sending);
                if let ExchangeState::Collecting(request) = state {
                    self.refuse(Some(request), late_body, context);
                }
            }
            ExchangeState::Running { future, request } => {
                let response = context.local.handler().error(504, None);
                let request = request.clone();
                if let Some(request) = &request {
                    request.is_overdue.set(true);
                }
                *future = Box::pin(std::future::pending());
                if let Some(request) = request {
                    request.is_overdue.set(false);
                }
                self.answer_running(Answer::Now(response), context);
            }
            ExchangeState::Held { .. } => {
                let response = context.local.handler().error(504, None);
                // The ticket goes with its state.
                self.state = ExchangeState::Sending;
                self.reply(Reply::Response(response), context);
            }
            ExchangeState::Streaming(stream) => {
                stream.cut(Exceeded {
                    name: "stream_idle_millis_max",
                    max: limits.stream_idle_millis_max,
                });
                self.reset(Reason::INTERNAL_ERROR);
                return true;
            }
            ExchangeState::Collected(_)
            | ExchangeState::File { .. }
            | ExchangeState::Tunnel(_)
            | ExchangeState::Failing
            | ExchangeState::Sending => {}
        }
        false
    }
}

impl<S: Socket> Http2<S> {
    /// Acts on the deadlines that have passed.
    pub(super) fn expire(&mut self) {
        let now = self.context.local.now_millis();
        let mut over = std::mem::take(&mut self.keys);
        for (key, exchange) in &mut self.exchanges {
            if exchange.expire(now, &self.context) {
                over.push(key);
            }
        }
        for key in over.drain(..) {
            self.remove(key);
        }
        self.keys = over;
        let is_idle = self.exchanges.is_empty();
        let mut wire = self.wire.borrow_mut();
        let has_stalled = self.times.has_stalled(now, &wire);
        let is_late = self.times.is_late(now, &mut wire, is_idle);
        drop(wire);
        if has_stalled {
            self.session = Session::Ended;
        } else if is_late {
            self.close(Reason::NO_ERROR);
        }
    }
}
