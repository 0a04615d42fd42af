//! The way of the frames to and from the transport.
//!
//! The writes of the `h2` crate are gathered and sent once per turn, so that many small frames cost one call of the
//! system, or one record of TLS.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::FrameWatch;
use crate::codec::http2::PREFACE;
use crate::driver::local::Local;
use crate::driver::runtime::Socket;
use crate::driver::transport::Transport;

/// Gathered bytes above which frames wait for the socket.
const GATHERED_BYTES_MAX: usize = 64 * 1024;

/// The bytes that one turn reads at most; then other connections get theirs.
const TURN_BYTES_MAX: usize = 256 * 1024;

pub(super) struct Wire<S: Socket> {
    transport: Transport<S>,
    local: Rc<Local>,
    /// Bytes that were received before it was known that they are frames.
    early: Vec<u8>,
    early_read: usize,
    out: Vec<u8>,
    out_sent: usize,
    /// Frames wait for the socket.
    is_blocked: bool,
    /// The client sends nothing more.
    has_ended: bool,
    frames: FrameWatch,
    turn_bytes: usize,
    /// Bytes that the transport has taken.
    taken: u64,
}

impl<S: Socket> Wire<S> {
    pub(super) fn new(transport: Transport<S>, local: Rc<Local>, early: Vec<u8>) -> Self {
        Self {
            transport,
            local,
            early,
            early_read: 0,
            out: Vec::new(),
            out_sent: 0,
            is_blocked: false,
            has_ended: false,
            frames: FrameWatch::new(PREFACE.len()),
            turn_bytes: 0,
            taken: 0,
        }
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn_bytes = 0;
    }

    pub(super) fn transport(&self) -> &Transport<S> {
        &self.transport
    }

    pub(super) fn frames(&mut self) -> &mut FrameWatch {
        &mut self.frames
    }

    /// Reports whether frames have waited for the socket since the last call.
    pub(super) fn take_blocked(&mut self) -> bool {
        std::mem::take(&mut self.is_blocked)
    }

    /// Reports whether the client sends nothing more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Bytes that the transport has taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Reports whether gathered bytes wait for the socket.
    pub(super) fn is_sending(&self) -> bool {
        self.out_sent < self.out.len() || self.transport.is_sending()
    }

    /// The memory that waits for the client.
    pub(super) fn held_bytes(&self) -> usize {
        self.out.len() - self.out_sent + self.transport.held_bytes()
    }

    /// Ends without a word: what the client has got is not whole.
    pub(super) fn cut(&mut self) {
        self.transport.cut();
    }

    /// Sends what has been gathered.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self {
            transport, local, ..
        } = self;
        while self.out_sent < self.out.len() {
            let rest = &self.out[self.out_sent..];
            let len = ready!(transport.poll_send(cx, &local.pool, rest))?;
            self.out_sent += len;
            self.taken += len as u64;
            self.frames.note_sent(len);
        }
        if self.out.capacity() > 0 {
            self.out_sent = 0;
            local.pool.give_output(std::mem::take(&mut self.out));
        }
        transport.poll_flush(cx, &local.pool)
    }

    fn read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let early = &self.early[self.early_read..];
        if !early.is_empty() {
            let len = early.len().min(buf.remaining());
            buf.put_slice(&early[..len]);
            self.frames.watch(&early[..len]);
            self.early_read += len;
            return Poll::Ready(Ok(()));
        }
        self.early = Vec::new();
        self.early_read = 0;
        if self.turn_bytes >= TURN_BYTES_MAX {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        // Asked first, so that an idle connection needs no buffers of TLS.
        ready!(self.transport.poll_readable(cx))?;
        let pool = &self.local.pool;
        let space = buf.initialize_unfilled();
        let len = ready!(self.transport.poll_read(cx, pool, space))?;
        self.has_ended |= len == 0;
        self.turn_bytes += len;
        self.frames.watch(&space[..len]);
        buf.advance(len);
        Poll::Ready(Ok(()))
    }

    fn write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.out.len() - self.out_sent >= GATHERED_BYTES_MAX && self.flush(cx)?.is_pending() {
            self.is_blocked = true;
            return Poll::Pending;
        }
        if self.out.capacity() == 0 {
            self.out = self.local.pool.output();
        } else if self.out_sent >= GATHERED_BYTES_MAX / 2 {
            self.out.drain(..self.out_sent);
            self.out_sent = 0;
        }
        let len = bytes.len().min(GATHERED_BYTES_MAX);
        self.out.extend_from_slice(&bytes[..len]);
        Poll::Ready(Ok(len))
    }

    /// Sends the rest, and the end where TLS has one.
    fn shut_down(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.flush(cx))?;
        self.transport.close();
        self.flush(cx)
    }
}

/// The end of a [`Wire`] that the `h2` crate holds.
pub(super) struct WireEnd<S: Socket>(pub(super) Rc<RefCell<Wire<S>>>);

impl<S: Socket> AsyncRead for WireEnd<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.0.borrow_mut().read(cx, buf)
    }
}

impl<S: Socket> AsyncWrite for WireEnd<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().write(cx, bytes)
    }

    /// Does nothing: the turn sends what it has gathered.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().shut_down(cx)
    }
}
