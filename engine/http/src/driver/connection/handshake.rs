//! The beginning of a connection over TLS, before its first request.

use std::rc::Rc;
use std::task::{Context, Poll};

use super::Connection;
use super::expiry::Expired;
use super::input::DRAIN_MILLIS_MAX;
use crate::answer::ConnectionFault;
use crate::codec::encoder::Exchange;
use crate::driver::runtime::Socket;
use crate::driver::transport::HandshakeOutcome;
use crate::response::Response;

/// The answer to a request that comes without TLS.
const HINT: &[u8] = b"This port speaks HTTPS: write https:// instead of http:// in the address.\n";

impl<S: Socket> Connection<S> {
    /// Goes on with the handshake, which has the time of a head. False if the connection ends with it.
    pub(super) fn shake_hands(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let local = Rc::clone(&self.local);
        let now = local.now_millis();
        let fault = match self.transport.poll_handshake(cx, &local.pool) {
            Poll::Ready(HandshakeOutcome::Established(info)) => {
                self.client.tls = Some(Rc::new(info));
                self.read_by = now + local.limits.head_millis_max;
                local.handler().handshaken();
                return Poll::Ready(true);
            }
            Poll::Ready(HandshakeOutcome::Gone) => return Poll::Ready(false),
            Poll::Pending => return self.await_opening(cx),
            Poll::Ready(HandshakeOutcome::Plain { is_head }) => {
                let mut response = Response::new(400);
                response.content_type("text/plain; charset=utf-8");
                response.body_mut().extend_from_slice(HINT);
                let observed = self.observe(None);
                let exchange = Exchange {
                    head_only: is_head,
                    ..Exchange::UNKNOWN
                };
                self.end_with(response, exchange, observed);
                ConnectionFault::PlainOnTlsPort
            }
            Poll::Ready(HandshakeOutcome::Failed(reason)) => {
                // The client has time to read the alert that says why.
                self.last = true;
                self.linger = true;
                ConnectionFault::HandshakeFailed(reason)
            }
        };
        local.handler().connection_fault(self.client.peer, &fault);
        Poll::Ready(true)
    }

    /// Waits for more of what comes before the first request. False if its time is over.
    pub(super) fn await_opening(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.local.draining.get() {
            let now = self.local.now_millis();
            self.read_by = self.read_by.min(now + DRAIN_MILLIS_MAX);
        }
        if let Expired::Gone = self.expire() {
            return Poll::Ready(false);
        }
        self.arm(cx);
        Poll::Pending
    }
}
