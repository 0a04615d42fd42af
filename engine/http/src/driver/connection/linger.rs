//! The end of a connection whose client may still be sending.

use std::rc::Rc;
use std::task::{Context, Poll};

use super::Connection;
use crate::driver::runtime::Socket;
use crate::driver::runtime::readiness::read_once;

/// The longest wait for a lingering client whose place is needed: at shutdown, and where it is over capacity.
const HURRIED_LINGER_MILLIS_MAX: u64 = 2_000;

impl<S: Socket> Connection<S> {
    /// Says that nothing more is sent, and begins to wait for the client's end.
    pub(super) fn begin_linger(&mut self) {
        // Fails only where the client has gone already, which reading then shows.
        let _ = self.transport.shut_down();
        let now = self.local.now_millis();
        self.linger_until = Some(now + self.local.limits.linger_millis_max);
        self.read_by = now + self.linger_idle_millis();
        if let Some(input) = self.input.take() {
            self.local.pool.give_request(input);
        }
    }

    /// Returns the time that a lingering connection waits for the next bytes. Shorter where a place or the worker's end
    /// waits for it.
    fn linger_idle_millis(&self) -> u64 {
        let idle = self.local.limits.linger_idle_millis_max;
        if self.refused || self.local.leaving.get() {
            idle.min(HURRIED_LINGER_MILLIS_MAX)
        } else {
            idle
        }
    }

    /// Throws away what the client still sends until it closes too, however much that is: a socket that is closed with
    /// unread bytes is reset, and the reset takes the answer from a client that has not read it yet.
    pub(super) fn poll_linger(&mut self, cx: &mut Context<'_>, until: u64) -> Poll<()> {
        const WASTE_BYTES: usize = 64 * 1024;
        /// Reads in one poll; then other connections get their turn.
        const TURN_READS_MAX: u32 = 16;
        let local = Rc::clone(&self.local);
        let mut waste = local.waste.borrow_mut();
        waste.resize(WASTE_BYTES, 0);
        let mut reads = 0;
        while reads < TURN_READS_MAX {
            match read_once(&**self.transport.socket(), cx, &mut waste) {
                Poll::Pending => break,
                Poll::Ready(Ok(len)) if len > 0 => reads += 1,
                Poll::Ready(_) => return Poll::Ready(()),
            }
        }
        let now = local.now_millis();
        if reads > 0 {
            self.read_by = now + self.linger_idle_millis();
        }
        let end = self.read_by.min(until);
        if end <= now {
            return Poll::Ready(());
        }
        if reads == TURN_READS_MAX {
            cx.waker().wake_by_ref();
        }
        self.armed = end;
        local.deadlines.set(self.deadline_key, end, cx.waker());
        Poll::Pending
    }
}
