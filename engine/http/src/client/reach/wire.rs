//! A connection to another server, plain or by TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The bytes of a connection.
pub(in crate::client) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// TLS to a proxy, and within it TLS to the server.
    Nested(Box<TlsStream<TlsStream<TcpStream>>>),
}

impl Wire {
    /// Reports whether the server chose HTTP/2.
    pub(in crate::client) fn is_http2(&self) -> bool {
        let chosen = match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
            Self::Nested(stream) => stream.get_ref().1.alpn_protocol(),
        };
        chosen == Some(b"h2")
    }
}

macro_rules! each {
    ($wire:expr, $stream:ident => $call:expr) => {
        match $wire.get_mut() {
            Wire::Plain($stream) => $call,
            Wire::Tls($stream) => $call,
            Wire::Nested($stream) => $call,
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
