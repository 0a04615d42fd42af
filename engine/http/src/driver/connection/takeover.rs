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
use crate::received::{MessageRoom, UNCOUNTED_BYTES_MAX};
use crate::upgrade::{Io, Takeover, Upgraded};

/// A connection that was taken over.
pub(super) struct Taken {
    future: LocalFuture<()>,
    moments: Rc<Moments>,
}

/// The moments of a connection that was taken over.
struct Moments {
    /// The time at which the future is to be polled, whatever else happens.
    wake_at: Cell<u64>,
    departure: Departure,
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
        let moments = Rc::new(Moments {
            wake_at: Cell::new(NEVER),
            departure: Departure::default(),
        });
        let socket = TakenSocket {
            transport: std::mem::replace(&mut self.transport, plain),
            local: Rc::clone(&self.local),
            peer: self.client.peer,
            unsent: RefCell::new(None),
            moments: Rc::clone(&moments),
        };
        let taken = catch_unwind(AssertUnwindSafe(|| {
            take(Upgraded::new(early, Box::pin(socket)))
        }));
        let future = taken.unwrap_or_else(|panic| {
            self.local.handler().panicked(panic_text(&*panic));
            Box::pin(std::future::ready(()))
        });
        self.taken = Some(Taken { future, moments });
    }

    /// Runs who took the connection over.
    pub(super) fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(taken) = &mut self.taken else {
            return Poll::Ready(());
        };
        match catch_unwind(AssertUnwindSafe(|| taken.future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {
                // Without a deadline too: the worker's end must reach it.
                let Moments { wake_at, departure } = &*taken.moments;
                let mut wake_at = wake_at.get();
                if !self.local.lets_go(departure) {
                    wake_at = wake_at.min(departure.at(&self.local.departures));
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
    /// The count of what the client has not taken; dropped when it has taken everything.
    unsent: RefCell<Option<Rc<UnsentCount>>>,
    moments: Rc<Moments>,
}

/// Counts what the client of a connection has not taken.
struct UnsentCount {
    part: RefCell<UnsentPart>,
    local: Rc<Local>,
    /// The bytes among them that the transport holds, as of the last turn.
    held_bytes: Cell<usize>,
}

impl UnsentCount {
    fn set(&self, bytes: usize, has_moved: bool) {
        let bytes = bytes + self.held_bytes.get();
        let mut part = self.part.borrow_mut();
        part.grew_to(bytes);
        let closed = part.set(bytes, has_moved, process_millis());
        drop(part);
        for closed in closed {
            self.local.handler().closed_unread(&closed);
        }
    }
}

impl Drop for UnsentCount {
    fn drop(&mut self) {
        self.local.note_freed(self.part.get_mut().bytes());
    }
}

impl<S: Socket> Io for TakenSocket<S> {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_readable(cx)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_writable(cx)
    }

    fn now_millis(&self) -> u64 {
        self.local.now_millis()
    }

    fn wake_at(&self, millis: u64) {
        self.moments.wake_at.set(millis);
    }

    fn is_draining(&self) -> bool {
        self.local.lets_go(&self.moments.departure)
    }

    fn write_idle_millis_max(&self) -> u64 {
        self.local.limits.write_idle_millis_max
    }

    fn control_frames_max(&self) -> usize {
        self.local.limits.control_frames_max
    }

    fn message_room(&self) -> Option<MessageRoom> {
        Some(self.local.message_room(self.peer, UNCOUNTED_BYTES_MAX))
    }

    fn body_pace(&self) -> (u64, usize) {
        self.local.body_pace()
    }

    fn note_unsent(&self, bytes: usize, has_moved: bool) {
        let mut unsent = self.unsent.borrow_mut();
        if bytes == 0 {
            *unsent = None;
            return;
        }
        let held_bytes = self.transport.held_bytes();
        if unsent.is_none() && bytes + held_bytes < COUNTED_BYTES_MIN {
            return;
        }
        let count = unsent.get_or_insert_with(|| {
            let socket = Arc::clone(self.transport.socket()) as SharedSocket;
            let clients = Arc::clone(&self.local.shared.clients);
            Rc::new(UnsentCount {
                part: RefCell::new(UnsentPart::new(clients, self.peer, socket)),
                local: Rc::clone(&self.local),
                held_bytes: Cell::new(0),
            })
        });
        count.held_bytes.set(held_bytes);
        count.set(bytes, has_moved);
    }

    fn unsent_counter(&self) -> Option<Rc<dyn Fn(usize)>> {
        let count = self.unsent.borrow().clone()?;
        Some(Rc::new(move |bytes| count.set(bytes, false)))
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
