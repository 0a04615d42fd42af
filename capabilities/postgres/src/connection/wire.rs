//! Sockets: by tokio, or by another runtime whose owner gives a [`Dial`].

use sampan_host::LocalFuture;
use std::io;
use std::path::PathBuf;
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
                    Box::new(socket) as Box<dyn Wire>
                }
                Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            })
        })
    }
}
