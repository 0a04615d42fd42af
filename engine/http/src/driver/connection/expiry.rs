//! The deadlines of one connection, and what becomes of it when one has passed.

use std::task::Context;

use super::{Connection, Phase};
use crate::codec::fault::{Exceeded, Fault};
use crate::driver::deadlines::NEVER;
use crate::driver::runtime::Socket;

/// The effect of a deadline.
pub(super) enum Expired {
    Nothing,
    /// Something to send now.
    Answered,
    Gone,
}

impl<S: Socket> Connection<S> {
    /// Puts the earliest deadline of this connection where the sweep looks.
    pub(super) fn arm(&mut self, cx: &Context<'_>) {
        let mut deadline = self.write_by.min(self.work_by());
        if let Some(streaming) = &self.streaming
            && self.output.has_room(self.local.limits.out_bytes_max)
        {
            deadline = deadline.min(streaming.poll_at);
        }
        if self.reads_on_time() {
            deadline = deadline.min(self.read_by).min(self.park_by());
        }
        if deadline != self.armed {
            self.armed = deadline;
            self.local
                .deadlines
                .set(self.deadline_key, deadline, cx.waker());
        }
    }

    /// Reports whether the client is the one to act, so that `read_by` counts: not while answers are being made, and
    /// not while it still reads them, because nothing is read from it then.
    pub(super) fn reads_on_time(&self) -> bool {
        let answering =
            self.running.is_some() || self.streaming.is_some() || !self.queue.is_empty();
        (!answering || self.awaits_body()) && self.output.is_empty()
    }

    /// Reports whether a deadline may have passed: those that are new since the last arming lie ahead.
    #[inline]
    pub(super) fn may_have_expired(&self) -> bool {
        self.armed <= self.local.now_millis()
    }

    /// Acts on a deadline that has passed without the event that would have moved it.
    pub(super) fn expire(&mut self) -> Expired {
        let now = self.local.now_millis();
        // The slot is rewritten at the next arming: the sweep clears the deadlines that it has reported.
        if self.armed <= now {
            self.armed = NEVER;
        }
        if self.write_by <= now {
            return Expired::Gone;
        }
        if self.work_by() <= now {
            self.end_work(now);
            return Expired::Answered;
        }
        if self.read_by > now || !self.reads_on_time() {
            return Expired::Nothing;
        }
        match self.phase {
            Phase::Head | Phase::Body => {
                let limits = &self.local.limits;
                let (name, max) = if self.phase == Phase::Head {
                    ("head_millis_max", limits.head_millis_max)
                } else {
                    ("body_idle_millis_max", limits.body_idle_millis_max)
                };
                let limit = Exceeded { name, max };
                if self.awaits_body() {
                    let fault = Fault::above(408, "the body did not come in time", name, max);
                    self.fail_body(fault);
                } else {
                    self.fail(408, Some(limit));
                }
                Expired::Answered
            }
            Phase::Fresh | Phase::Idle => Expired::Gone,
            Phase::Busy => Expired::Nothing,
        }
    }
}
