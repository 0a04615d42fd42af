//! Sockets: by tokio, or by another runtime whose owner gives a [`Dial`].

use sampan_host::LocalFuture;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// The bytes of a connection.
pub trait Wire: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Wire for T {}

/// The place where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A name or an IP address, and the port.
    Tcp(String, u16),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The time after which the system asks whether the server is there, and the number of times that it asks.
const ASK_AFTER: Duration = Duration::from_secs(15);
const ASK_EVERY: Duration = Duration::from_secs(5);
const ASKS_MAX: u32 = 3;

/// Has the system end a connection of which nothing comes back, as where a firewall has forgotten it.
fn end_when_silent(socket: &TcpStream) -> io::Result<()> {
    let keepalive = TcpKeepalive::new()
        .with_time(ASK_AFTER)
        .with_interval(ASK_EVERY)
        .with_retries(ASKS_MAX);
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(ASK_AFTER + ASK_EVERY * ASKS_MAX))?;
    Ok(())
}

/// Opens the sockets of one worker.
pub trait Dial {
    /// Connects to a server. The future stays on its thread.
    fn dial(&self, address: &Address) -> LocalFuture<io::Result<Box<dyn Wire>>>;
}

/// Opens sockets of the tokio runtime that the worker runs in.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioDial;

impl Dial for TokioDial {
    fn dial(&self, address: &Address) -> LocalFuture<io::Result<Box<dyn Wire>>> {
        let address = address.clone();
        Box::pin(async move {
            Ok(match address {
                Address::Tcp(host, port) => {
                    let socket = TcpStream::connect((host, port)).await?;
                    // Messages are written whole; waiting for more would only delay them.
                    socket.set_nodelay(true)?;
                    end_when_silent(&socket)?;
                    Box::new(socket) as Box<dyn Wire>
                }
                Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            })
        })
    }
}
