//! A connection that its handler takes over, once the answer 101 has been sent.

use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Connection;
use crate::driver::clock::process_millis;
use crate::driver::deadlines::NEVER;
use crate::driver::departures::Departure;
use crate::driver::local::Local;
use crate::driver::panic::panic_text;
use crate::driver::runtime::{SharedSocket, Socket};
use crate::driver::shared::unsent::{COUNTED_BYTES_MIN, UnsentPart};
use crate::driver::transport::Transport;
use crate::future::LocalFuture;
use crate::peer::Peer;
use crate::upgrade::{Io, Takeover, Upgraded};

/// A connection that was taken over.
pub(super) struct Taken {
    future: LocalFuture<()>,
    /// The time at which the future is to be polled, whatever else happens.
    wake_at: Rc<Cell<u64>>,
    departure: Rc<Departure>,
}

impl<S: Socket> Connection<S> {
    /// Gives the socket to who takes it over, with what the client has sent already.
    pub(super) fn hand_over(&mut self, take: Takeover) {
        let early = self.input.take().map_or_else(Vec::new, |input| {
            let rest = input.decoder.unread().to_vec();
            self.local.pool.give_request(input);
            rest
        });
        let plain = Transport::plain(Arc::clone(self.transport.socket()));
        let wake_at = Rc::new(Cell::new(NEVER));
        let departure: Rc<Departure> = Rc::default();
        let socket = TakenSocket {
            transport: std::mem::replace(&mut self.transport, plain),
            local: Rc::clone(&self.local),
            peer: self.client.peer,
            unsent: RefCell::new(None),
            wake_at: Rc::clone(&wake_at),
            departure: Rc::clone(&departure),
        };
        let taken = catch_unwind(AssertUnwindSafe(|| {
            take(Upgraded::new(early, Box::pin(socket)))
        }));
        let future = taken.unwrap_or_else(|panic| {
            self.local.handler().panicked(panic_text(&*panic));
            Box::pin(std::future::ready(()))
        });
        self.taken = Some(Taken {
            future,
            wake_at,
            departure,
        });
    }

    /// Runs who took the connection over.
    pub(super) fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(taken) = &mut self.taken else {
            return Poll::Ready(());
        };
        match catch_unwind(AssertUnwindSafe(|| taken.future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {
                // Without a deadline too: the worker's end must reach it.
                let mut wake_at = taken.wake_at.get();
                if !self.local.lets_go(&taken.departure) {
                    wake_at = wake_at.min(taken.departure.at(&self.local.departures));
                }
                let deadlines = &self.local.deadlines;
                deadlines.set(self.deadline_key, wake_at, cx.waker());
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
struct TakenSocket<S: Socket> {
    transport: Transport<S>,
    local: Rc<Local>,
    peer: Peer,
    /// Counts what the client has not taken.
    unsent: RefCell<Option<UnsentPart>>,
    wake_at: Rc<Cell<u64>>,
    departure: Rc<Departure>,
}

impl<S: Socket> TakenSocket<S> {
    /// Ends the count: everything has been taken, or the connection ends.
    fn forget_unsent(&self) {
        if let Some(part) = self.unsent.take() {
            self.local.note_freed(part.bytes());
        }
    }
}

impl<S: Socket> Drop for TakenSocket<S> {
    fn drop(&mut self) {
        self.forget_unsent();
    }
}

impl<S: Socket> Io for TakenSocket<S> {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_readable(cx)
    }

    fn now_millis(&self) -> u64 {
        self.local.now_millis()
    }

    fn wake_at(&self, millis: u64) {
        self.wake_at.set(millis);
    }

    fn is_draining(&self) -> bool {
        self.local.lets_go(&self.departure)
    }

    fn write_idle_millis_max(&self) -> u64 {
        self.local.limits.write_idle_millis_max
    }

    fn control_frames_max(&self) -> usize {
        self.local.limits.control_frames_max
    }

    fn note_unsent(&self, bytes: usize, has_moved: bool) {
        if bytes == 0 {
            return self.forget_unsent();
        }
        let mut unsent = self.unsent.borrow_mut();
        let bytes = bytes + self.transport.held_bytes();
        if unsent.is_none() && bytes < COUNTED_BYTES_MIN {
            return;
        }
        let part = unsent.get_or_insert_with(|| {
            let socket = Arc::clone(self.transport.socket()) as SharedSocket;
            UnsentPart::new(Arc::clone(&self.local.shared.clients), self.peer, socket)
        });
        part.grew_to(bytes);
        for closed in part.set(bytes, has_moved, process_millis()) {
            self.local.handler().closed_unread(&closed);
        }
    }
}

impl<S: Socket> AsyncRead for TakenSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let Self {
            transport, local, ..
        } = &mut *self;
        let space = buf.initialize_unfilled();
        let len = ready!(transport.poll_read(cx, &local.pool, space))?;
        if len == 0 && transport.is_cut_off() {
            // Nothing else says whether this protocol has come to its end.
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        buf.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl<S: Socket> AsyncWrite for TakenSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self {
            transport, local, ..
        } = &mut *self;
        transport.poll_send(cx, &local.pool, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self {
            transport, local, ..
        } = &mut *self;
        transport.poll_flush(cx, &local.pool)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.close();
        ready!(self.as_mut().poll_flush(cx))?;
        Poll::Ready(self.transport.shut_down())
    }
}
