//! The other end of a connection.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use socket2::SockAddr;

use crate::tls::TlsInfo;

/// The peer of a connection: the client, or a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP, from this address.
    Tcp(SocketAddr),
    /// Over a Unix socket. Those who connect have no address there.
    Unix,
}

impl Peer {
    /// The peer with the address of a socket.
    pub(crate) fn of(address: &SockAddr) -> Self {
        address.as_socket().map_or(Self::Unix, Self::Tcp)
    }

    /// Returns the IP address, if it has one.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Peer::Tcp(address) => Some(address.ip()),
            Peer::Unix => None,
        }
    }
}

/// The other end of a connection, as its requests show it.
#[derive(Clone, Debug)]
pub(crate) struct RemoteEnd {
    pub(crate) peer: Peer,
    /// True if a proxy has opened the connection and has named no client: the peer is that proxy.
    pub(crate) is_unnamed: bool,
    /// Known after the handshake; `None` without TLS.
    pub(crate) tls: Option<Rc<TlsInfo>>,
}

impl RemoteEnd {
    /// A client without TLS.
    pub(crate) fn plain(peer: impl Into<Peer>) -> Self {
        Self {
            peer: peer.into(),
            is_unnamed: false,
            tls: None,
        }
    }

    /// The value of the field `Strict-Transport-Security` of its answers (RFC 6797 section 6.1).
    pub(crate) fn strict_transport(&self) -> Option<&Arc<str>> {
        self.tls.as_ref()?.strict_transport.as_ref()
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Peer {
        Peer::Tcp(address)
    }
}
