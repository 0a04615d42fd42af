//! The other end of a connection.

use std::net::{IpAddr, SocketAddr};

/// The peer of a connection: the client, or a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP, from this address.
    Tcp(SocketAddr),
    /// Over a Unix socket. Those who connect have no address there.
    Unix,
}

impl Peer {
    /// Returns the IP address, if it has one.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Peer::Tcp(address) => Some(address.ip()),
            Peer::Unix => None,
        }
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Peer {
        Peer::Tcp(address)
    }
}
