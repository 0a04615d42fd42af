//! A connection that turns out to be one of HTTP/2: by the handshake of TLS, or by its first bytes.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::Connection;
use crate::codec::http2::PREFACE_HEAD;
use crate::driver::deadlines::NEVER;
use crate::driver::http2::{Http2, Http2End};
use crate::driver::runtime::Socket;
use crate::driver::transport::Transport;

impl<S: Socket> Connection<S> {
    /// Reports whether the handshake of TLS, which has just ended, has settled on HTTP/2.
    pub(super) fn has_agreed_on_http2(&self) -> bool {
        !self.last && self.client.tls.as_ref().is_some_and(|tls| tls.is_http2)
    }

    /// Reports whether the bytes in hand, which are no request of HTTP/1.1, begin a connection of HTTP/2.
    pub(super) fn begins_http2(&self) -> bool {
        self.local.takes_h2c
            && !self.has_served
            && self.client.tls.is_none()
            && self.input.as_ref().is_some_and(|input| {
                input.decoder.unread().starts_with(PREFACE_HEAD)
                    && !input.decoder.follows_empty_line()
            })
    }

    /// Takes the bytes in hand.
    pub(super) fn take_early(&mut self) -> Vec<u8> {
        self.input.take().map_or_else(Vec::new, |input| {
            let early = input.decoder.unread().to_vec();
            self.local.pool.give_request(input);
            early
        })
    }

    /// Leaves the connection to HTTP/2.
    pub(super) fn begin_http2(&mut self, early: Vec<u8>) {
        let plain = Transport::plain(Arc::clone(self.transport.socket()));
        let transport = std::mem::replace(&mut self.transport, plain);
        let client = self.client.clone();
        let http2 = Http2::new(transport, early, client, &self.local, self.refused);
        self.http2 = Some(Box::new(http2));
    }

    /// Goes on with HTTP/2.
    pub(super) fn poll_http2(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(http2) = &mut self.http2 else {
            return Poll::Ready(());
        };
        match http2.poll(cx) {
            Poll::Pending => {
                let deadline = http2.deadline();
                // The sweep has cleared the one that it has reported.
                if self.armed <= self.local.now_millis() {
                    self.armed = NEVER;
                }
                if deadline != self.armed {
                    self.armed = deadline;
                    let local = &self.local;
                    local.deadlines.set(self.deadline_key, deadline, cx.waker());
                }
                Poll::Pending
            }
            Poll::Ready(Http2End::Gone) => Poll::Ready(()),
            Poll::Ready(Http2End::Linger) => {
                self.http2 = None;
                self.last = true;
                self.begin_linger();
                match self.linger_until {
                    Some(until) => self.poll_linger(cx, until),
                    None => Poll::Ready(()),
                }
            }
        }
    }
}
