//! A connection to a server: its addresses are looked up and checked, and one of those is connected.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::client::TlsStream;

use super::lookup::Lookups;
use super::tls::TlsClient;
use super::wire::Wire;
use crate::client::fault::{ClientFault, ClientFaultKind};
use crate::client::origin::Origin;
use crate::client::settings::{ClientSettings, ProxySettings};

/// An address has so much time before the next is tried beside it.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// The means of reaching a server.
pub(in crate::client) struct Reaching {
    pub(in crate::client) settings: Arc<ClientSettings>,
    pub(in crate::client) lookups: Lookups,
    pub(in crate::client) tls: TlsClient,
}

/// A connection to a server.
pub(in crate::client) struct Reached {
    pub(in crate::client) wire: Wire,
    /// True if it is to a proxy that gets whole URLs.
    pub(in crate::client) takes_urls: bool,
}

/// Connects a server. The addresses of its name are looked up once, and those that were checked are connected.
pub(in crate::client) async fn connect(
    reaching: &Reaching,
    origin: &Origin,
) -> Result<Reached, ClientFault> {
    let settings = &reaching.settings;
    settings.policy.check_host(&origin.host)?;
    if let Some(proxy) = &settings.proxy
        && proxy.is_for(&origin.host)
    {
        return connect_by(reaching, proxy, origin).await;
    }
    let addresses = addresses(reaching, &origin.host).await?;
    settings.policy.check(&origin.host, &addresses)?;
    let socket = connect_first(origin, &addresses).await?;
    let wire = match origin.is_https {
        true => Wire::Tls(Box::new(reaching.secured(origin, socket, true).await?)),
        false => Wire::Plain(socket),
    };
    let takes_urls = false;
    Ok(Reached { wire, takes_urls })
}

/// Connects a server by way of a proxy, which looks its name up. Addresses that are written out are checked all the
/// same. Those of the proxy itself are not.
async fn connect_by(
    reaching: &Reaching,
    proxy: &ProxySettings,
    origin: &Origin,
) -> Result<Reached, ClientFault> {
    let host = &*origin.host;
    let bare = host.strip_suffix('.').unwrap_or(host);
    let written = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => Some(address),
        Err(_) if bare == "localhost" || bare.ends_with(".localhost") => {
            Some(Ipv4Addr::LOCALHOST.into())
        }
        Err(_) => None,
    };
    reaching.settings.policy.check(host, written.as_slice())?;
    let by = proxy.origin()?;
    let addresses = addresses(reaching, &by.host).await?;
    let socket = connect_first(&by, &addresses).await?;
    let fault = |fault: ClientFault| match fault.kind {
        ClientFaultKind::Tls => {
            ClientFault::new(ClientFaultKind::Proxy, format!("the proxy: {fault}"))
        }
        _ => fault,
    };
    let wire = match (by.is_https, origin.is_https) {
        (false, false) => Wire::Plain(socket),
        (false, true) => {
            let mut socket = socket;
            proxy.tunnel(&mut socket, origin).await?;
            Wire::Tls(Box::new(reaching.secured(origin, socket, true).await?))
        }
        (true, is_https) => {
            let outer = reaching.secured(&by, socket, false).await;
            let mut outer = outer.map_err(fault)?;
            match is_https {
                true => {
                    proxy.tunnel(&mut outer, origin).await?;
                    Wire::Nested(Box::new(reaching.secured(origin, outer, true).await?))
                }
                false => Wire::Tls(Box::new(outer)),
            }
        }
    };
    let takes_urls = !origin.is_https;
    Ok(Reached { wire, takes_urls })
}

impl Reaching {
    async fn secured<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        origin: &Origin,
        stream: S,
        offers_http2: bool,
    ) -> Result<TlsStream<S>, ClientFault> {
        let to = (&*origin.host, stream);
        let secured = self
            .tls
            .handshake(&self.settings, &self.lookups, to, offers_http2);
        secured.await
    }
}

async fn addresses(reaching: &Reaching, host: &str) -> Result<Arc<[IpAddr]>, ClientFault> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(Arc::from([address]));
    }
    let kept_time = Duration::from_millis(reaching.settings.limits.lookup_millis);
    reaching.lookups.addresses(host, kept_time).await
}

/// Connects the first address that answers: each is tried when the one before has failed, or has not answered for a
/// while (a simple form of RFC 8305).
async fn connect_first(origin: &Origin, addresses: &[IpAddr]) -> Result<TcpStream, ClientFault> {
    let mut attempts = Attempts {
        left: addresses.iter().rev().copied().collect(),
        port: origin.port,
        running: Vec::new(),
        next: None,
        fault: None,
    };
    let connected = poll_fn(|cx| attempts.poll(cx)).await;
    let socket = connected.map_err(|(address, error)| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                ": a firewall refuses it, or the sandbox of this server ([sandbox] connect)"
            }
            _ => "",
        };
        let text = format!(
            "cannot connect to {} ({address}): {error}{hint}",
            origin.authority()
        );
        ClientFault::new(ClientFaultKind::Connect, text)
    })?;
    // Requests are written at once; waiting for more would only delay them.
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

type Attempt = Pin<Box<dyn Future<Output = (SocketAddr, io::Result<TcpStream>)>>>;

struct Attempts {
    /// The addresses that have not been tried, the next one last.
    left: Vec<IpAddr>,
    port: u16,
    running: Vec<Attempt>,
    next: Option<Pin<Box<Sleep>>>,
    /// The first fault.
    fault: Option<(SocketAddr, io::Error)>,
}

impl Attempts {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<TcpStream, (SocketAddr, io::Error)>> {
        loop {
            let mut at = 0;
            while let Some(attempt) = self.running.get_mut(at) {
                match attempt.as_mut().poll(cx) {
                    Poll::Pending => at += 1,
                    Poll::Ready((_, Ok(socket))) => return Poll::Ready(Ok(socket)),
                    Poll::Ready((address, Err(error))) => {
                        self.fault.get_or_insert((address, error));
                        drop(self.running.swap_remove(at));
                        self.next = None;
                    }
                }
            }
            if let Some(next) = &mut self.next
                && next.as_mut().poll(cx).is_pending()
            {
                return Poll::Pending;
            }
            self.next = None;
            let Some(address) = self.left.pop() else {
                return match self.fault.take() {
                    Some(fault) if self.running.is_empty() => Poll::Ready(Err(fault)),
                    fault => {
                        self.fault = fault;
                        Poll::Pending
                    }
                };
            };
            let address = SocketAddr::new(address, self.port);
            let attempt = async move { (address, TcpStream::connect(address).await) };
            self.running.push(Box::pin(attempt));
            if !self.left.is_empty() {
                self.next = Some(Box::pin(tokio::time::sleep(NEXT_ADDRESS_AFTER)));
            }
        }
    }
}
