//! A connection that its handler takes over, once the answer 101 has been sent.

use std::io::{self, Read};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Connection;
use crate::driver::deadlines::NEVER;
use crate::driver::panic::panic_text;
use crate::driver::runtime::{Direction, Socket};
use crate::upgrade::{Takeover, Upgraded};

impl<S: Socket> Connection<S> {
    /// Gives the socket to who takes it over, with what the client has sent already.
    pub(super) fn hand_over(&mut self, take: Takeover) {
        let early = self.input.take().map_or_else(Vec::new, |input| {
            let rest = input.decoder.unread().to_vec();
            self.local.pool.give_request(input);
            rest
        });
        let socket = TakenSocket(Arc::clone(&self.socket));
        let taken = catch_unwind(AssertUnwindSafe(|| {
            take(Upgraded::new(early, Box::pin(socket)))
        }));
        match taken {
            Ok(future) => self.taken = Some(future),
            Err(panic) => {
                self.local.handler().panicked(panic_text(&*panic));
                self.taken = Some(Box::pin(std::future::ready(())));
            }
        }
    }

    /// Runs who took the connection over.
    pub(super) fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(future) = &mut self.taken else {
            return Poll::Ready(());
        };
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {
                // No deadline; but the worker's end must reach it.
                self.local
                    .deadlines
                    .set(self.deadline_key, NEVER, cx.waker());
                Poll::Pending
            }
            Ok(Poll::Ready(())) => Poll::Ready(()),
            Err(panic) => {
                self.local.handler().panicked(panic_text(&*panic));
                Poll::Ready(())
            }
        }
    }
}

/// A socket of any runtime behind tokio's traits, which need no runtime.
struct TakenSocket<S>(Arc<S>);

impl<S: Socket> AsyncRead for TakenSocket<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = &*self.0;
        loop {
            ready!(socket.poll_ready(Direction::Read, cx))?;
            let space = buf.initialize_unfilled();
            match socket.try_io(Direction::Read, || {
                (&mut &*SockRef::from(socket)).read(space)
            }) {
                Ok(len) => {
                    buf.advance(len);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if is_transient(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<S: Socket> AsyncWrite for TakenSocket<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let socket = &*self.0;
        loop {
            ready!(socket.poll_ready(Direction::Write, cx))?;
            // A client that has gone is an error, not a SIGPIPE.
            let send = || SockRef::from(socket).send_with_flags(bytes, libc::MSG_NOSIGNAL);
            match socket.try_io(Direction::Write, send) {
                Err(error) if is_transient(&error) => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(Shutdown::Write))
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
