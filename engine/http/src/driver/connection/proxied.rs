//! The beginning of a connection that a proxy has opened for a client, whose address it tells first.

use std::rc::Rc;
use std::task::{Context, Poll};

use super::Connection;
use crate::answer::ConnectionFault;
use crate::codec::{PROXY_HEADER_BYTES_MAX, ProxyHeader, parse_proxy_header};
use crate::driver::runtime::Socket;
use crate::driver::runtime::readiness::{peek_until, read_once};
use crate::peer::Peer;

impl<S: Socket> Connection<S> {
    /// Reads the header of the PROXY protocol, which has the time of a head. False if the connection ends with it.
    pub(super) fn learn_client(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let local = Rc::clone(&self.local);
        let socket = self.transport.socket();
        let mut space = [0; PROXY_HEADER_BYTES_MAX];
        let peeked = peek_until(&**socket, cx, &mut space, |bytes| {
            parse_proxy_header(bytes) != ProxyHeader::Incomplete
        });
        let fault = match peeked {
            Poll::Pending => return self.await_opening(cx),
            Poll::Ready(Err(_) | Ok(0)) => return Poll::Ready(false),
            Poll::Ready(Ok(len)) => match parse_proxy_header(&space[..len]) {
                ProxyHeader::Complete { len, client } => {
                    // These bytes are there, so one read takes them.
                    let read = read_once(&**socket, cx, &mut space[..len]);
                    if !matches!(read, Poll::Ready(Ok(taken)) if taken == len) {
                        return Poll::Ready(false);
                    }
                    match client {
                        Some(client) => self.client.peer = Peer::Tcp(client),
                        None => self.client.is_unnamed = true,
                    }
                    self.is_proxied = false;
                    return Poll::Ready(true);
                }
                ProxyHeader::Invalid(fault) => fault,
                ProxyHeader::Incomplete => "the header of the PROXY protocol ends early",
            },
        };
        let fault = ConnectionFault::NoProxyHeader(fault);
        local.handler().connection_fault(self.client.peer, &fault);
        Poll::Ready(false)
    }
}
