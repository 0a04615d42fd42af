//! The way of a connection's bytes to and from its socket: as they are, or as records of TLS.
//!
//! A plain connection pays for the choice with one look at a pointer for each read and write. Over TLS the same calls
//! have the same meaning, so that limits, deadlines and backpressure above do not know the difference.

mod session;

use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use socket2::SockRef;

use self::session::{Sink, TlsSession};
use super::output::Output;
use super::pool::BufferPool;
use super::runtime::readiness::{read_into, read_once, send_once, write_once};
use super::runtime::{Direction, Socket};
use crate::tls::{Tls, TlsInfo};

/// Reads without plaintext in one poll; then other connections get their turn.
const TURN_READS_MAX: u32 = 16;

/// The bytes moved by one write.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    /// The bytes of the output that have been sent with it.
    pub(super) output: usize,
    /// The bytes that the socket took.
    pub(super) socket: usize,
}

/// The end of a handshake.
pub(super) enum HandshakeOutcome {
    Established(TlsInfo),
    /// The client speaks plain HTTP, and so does this connection now.
    Plain {
        /// Its request is a HEAD.
        is_head: bool,
    },
    /// A fault of the client, which this text tells, has ended it. An alert for the client waits to be written.
    Failed(String),
    /// The client has left.
    Gone,
}

pub(super) struct Transport<S: Socket> {
    socket: Arc<S>,
    tls: Option<Box<TlsSession>>,
}

impl<S: Socket> Transport<S> {
    /// A connection without TLS.
    pub(super) fn plain(socket: Arc<S>) -> Self {
        Self { socket, tls: None }
    }

    /// A connection that begins with a handshake.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn secured(socket: Arc<S>, tls: &Tls, local: Option<IpAddr>) -> io::Result<Self> {
        let (connection, asked) = tls.accept(local)?;
        let session = Box::new(TlsSession::new(connection, asked));
        Ok(Self {
            socket,
            tls: Some(session),
        })
    }

    /// A connection that goes on on another socket of its client's.
    pub(super) fn resumed(socket: Arc<S>, session: Option<RestingSession>) -> Self {
        Self {
            socket,
            tls: session.map(|session| session.0),
        }
    }

    /// Reports whether nothing is in hand, in either direction.
    pub(super) fn is_at_rest(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.is_at_rest())
    }

    /// Takes the session from a connection [at rest](Transport::is_at_rest). The connection is plain then.
    pub(super) fn take_session(&mut self) -> Option<RestingSession> {
        self.tls.take().map(RestingSession)
    }

    /// Gives the session back.
    pub(super) fn give_session(&mut self, session: Option<RestingSession>) {
        self.tls = session.map(|session| session.0);
    }

    pub(super) fn socket(&self) -> &Arc<S> {
        &self.socket
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Goes on with the handshake.
    pub(super) fn poll_handshake(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BufferPool,
    ) -> Poll<HandshakeOutcome> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Poll::Ready(HandshakeOutcome::Gone);
            };
            if !tls.is_handshaking() {
                if tls.ends_with_handshake() {
                    // Those who ask see the certificate, and no route.
                    let _ = ready!(self.poll_flush(cx, pool));
                    return Poll::Ready(HandshakeOutcome::Gone);
                }
                tls.rest(pool);
                return Poll::Ready(HandshakeOutcome::Established(tls.info()));
            }
            while tls.is_sending() {
                match ready!(send_once(&*self.socket, cx, tls.sending())) {
                    Ok(len) => tls.consume(len, pool),
                    Err(_) => return Poll::Ready(HandshakeOutcome::Gone),
                };
            }
            let is_first = tls.is_fresh();
            match read_once(&*self.socket, cx, tls.space(pool)) {
                Poll::Pending => {
                    tls.rest(pool);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(len)) if len > 0 => tls.commit(len),
                Poll::Ready(_) => return Poll::Ready(HandshakeOutcome::Gone),
            }
            // A method begins with a letter, a record of a handshake with 22.
            if is_first && tls.received()[0].is_ascii_uppercase() {
                let is_head = tls.received().starts_with(b"HEAD ");
                self.tls = None;
                return Poll::Ready(HandshakeOutcome::Plain { is_head });
            }
            if let Err(error) = tls.process(&mut |_| 0) {
                return Poll::Ready(HandshakeOutcome::Failed(error.to_string()));
            }
        }
    }

    /// Ready if something may be there to be read.
    pub(super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.tls {
            Some(tls) if tls.is_readable() => Poll::Ready(Ok(())),
            _ => self.socket.poll_ready(Direction::Read, cx),
        }
    }

    /// Ready if the socket may take something.
    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_ready(Direction::Write, cx)
    }

    /// Reads once into `space`, which is not empty. `Ok(0)` is the end, which a client of TLS need not announce: a
    /// request says itself where it ends.
    #[inline]
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BufferPool,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => read_once(&*self.socket, cx, space),
            Some(tls) => {
                let mut filled = 0;
                poll_plain(tls, &*self.socket, cx, pool, &mut |plain| {
                    let len = plain.len().min(space.len() - filled);
                    space[filled..filled + len].copy_from_slice(&plain[..len]);
                    filled += len;
                    len
                })
            }
        }
    }

    /// Reads once into the spare capacity of `bytes`, which is not zero, as [`Transport::poll_read`].
    pub(super) fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BufferPool,
        bytes: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => read_into(&*self.socket, cx, bytes),
            Some(tls) => poll_plain(tls, &*self.socket, cx, pool, &mut |plain| {
                let len = plain.len().min(bytes.capacity() - bytes.len());
                bytes.extend_from_slice(&plain[..len]);
                len
            }),
        }
    }

    /// Reports whether the client of a session has left without saying so.
    pub(super) fn is_cut_off(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_cut_off())
    }

    /// Reports whether something waits for the socket that is not in the output any more.
    #[inline]
    pub(super) fn is_sending(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_sending())
    }

    /// Writes once from `output`. Something is there to be written.
    #[inline]
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BufferPool,
        output: &Output,
    ) -> Poll<io::Result<Moved>> {
        match &mut self.tls {
            None => write_once(&*self.socket, cx, output).map_ok(|len| Moved {
                output: len,
                socket: len,
            }),
            Some(tls) => {
                tls.encrypt(output, pool)?;
                let len = ready!(send_once(&*self.socket, cx, tls.sending()))?;
                Poll::Ready(Ok(Moved {
                    output: tls.consume(len, pool),
                    socket: len,
                }))
            }
        }
    }

    /// Takes bytes of a protocol that has taken the connection over. They may wait for [`Transport::poll_flush`].
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BufferPool,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if self.tls.is_none() {
            return send_once(&*self.socket, cx, bytes);
        }
        ready!(self.poll_flush(cx, pool))?;
        let taken = match &mut self.tls {
            Some(tls) => tls.encrypt(bytes, pool)?,
            None => 0,
        };
        // What the socket does not take now goes with the next call.
        let _ = self.poll_flush(cx, pool)?;
        Poll::Ready(Ok(taken))
    }

    /// Writes the records that wait.
    pub(super) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        pool: &BufferPool,
    ) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            while tls.is_sending() {
                let len = ready!(send_once(&*self.socket, cx, tls.sending()))?;
                tls.consume(len, pool);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The memory that waits for the client.
    pub(super) fn held_bytes(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.held_bytes())
    }

    /// Tells the client, where TLS can, that nothing more is sent. Returns true if something is to be written for that.
    pub(super) fn close(&mut self) -> bool {
        self.tls.as_mut().is_some_and(|tls| tls.close())
    }

    /// Ends without a word: what the client has got is not whole.
    pub(super) fn cut(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.cut();
        }
    }

    /// Ends the sending direction of the socket.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        SockRef::from(&*self.socket).shutdown(Shutdown::Write)
    }
}

/// A session without its socket, for any thread. It owns no buffer.
pub(super) struct RestingSession(Box<TlsSession>);

impl RestingSession {
    /// Returns the facts that the handshake has settled.
    pub(super) fn info(&self) -> TlsInfo {
        self.0.info()
    }

    /// Tells the client the end if the socket takes that at once.
    pub(super) fn say_end(mut self, socket: &TcpStream) {
        if self.0.close() {
            let _ = SockRef::from(socket).send_with_flags(self.0.sending(), libc::MSG_NOSIGNAL);
        }
    }
}

impl<S: Socket> Drop for Transport<S> {
    /// Tells the client the end if the socket takes that at once.
    fn drop(&mut self) {
        let Some(tls) = &mut self.tls else {
            return;
        };
        if !tls.is_sending() && tls.close() {
            let records = tls.sending();
            let _ = self.socket.try_io(Direction::Write, || {
                SockRef::from(&*self.socket).send_with_flags(records, libc::MSG_NOSIGNAL)
            });
        }
    }
}

/// Reads plaintext, and writes what rustls answers by itself.
fn poll_plain(
    tls: &mut TlsSession,
    socket: &impl Socket,
    cx: &mut Context<'_>,
    pool: &BufferPool,
    sink: Sink<'_>,
) -> Poll<io::Result<usize>> {
    if tls.has_plain() {
        return Poll::Ready(Ok(tls.take_plain(sink)));
    }
    for _ in 0..TURN_READS_MAX {
        if tls.has_ended() {
            return Poll::Ready(Ok(0));
        }
        match read_once(socket, cx, tls.space(pool)) {
            Poll::Pending => {
                tls.rest(pool);
                return Poll::Pending;
            }
            Poll::Ready(Ok(0)) => {
                tls.end();
                continue;
            }
            Poll::Ready(len) => tls.commit(len?),
        }
        let result = tls.process(sink);
        if matches!(result, Ok(len) if len > 0) {
            // What else is to be sent goes with the answer.
            tls.rest(pool);
            return Poll::Ready(result.map_err(io::Error::other));
        }
        while tls.is_sending() {
            match send_once(socket, cx, tls.sending()) {
                Poll::Ready(Ok(len)) => tls.consume(len, pool),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // The next write takes it.
                Poll::Pending => break,
            };
        }
        if let Err(error) = result {
            return Poll::Ready(Err(io::Error::other(error)));
        }
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}
