//! The place at which a server answers, and the protocol that it speaks there.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use sampan_client::Client;
use sampan_client::tunnel::tunnel;

use super::certificate::{self, NAME};

/// The protocol of a server's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1, as it is.
    Http,
    /// HTTP/1.1 over TLS.
    Https,
    /// HTTP/2 over TLS. The server also speaks HTTP/1.1 over TLS.
    Http2,
}

/// A server's address and protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) protocol: Protocol,
}

impl Target {
    /// The beginning of its URLs.
    pub(crate) fn origin(self) -> String {
        let scheme = match self.protocol {
            Protocol::Http => "http",
            Protocol::Https | Protocol::Http2 => "https",
        };
        format!("{scheme}://{}", self.address)
    }

    /// A connection of HTTP/1.1.
    ///
    /// # Errors
    ///
    /// When no server listens there, or not by TLS.
    pub(crate) fn client(self) -> io::Result<Client> {
        match self.protocol {
            Protocol::Http => Client::connect(self.address),
            Protocol::Https | Protocol::Http2 => {
                let plain = tunnel(self.address, Arc::new(tls_client()?), NAME)?;
                Client::over(plain, self.address)
            }
        }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            protocol: Protocol::Http,
        }
    }
}

/// A client that trusts the certificate of the measured servers and speaks HTTP/1.1.
fn tls_client() -> io::Result<ClientConfig> {
    let mut config = certificate::client(&crate::checkout::root()).map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
