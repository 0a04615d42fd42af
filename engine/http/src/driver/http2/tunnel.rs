//! A stream that its handler takes over: the answer to an extended CONNECT (RFC 8441) is a connection of its own, whose
//! bytes are in frames of DATA.

use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::context::StreamContext;
use super::exchange::{Exchange, ExchangeState, Outgoing, Step};
use super::piece::{Piece, Sent, Source, TunnelShare};
use crate::driver::deadlines::NEVER;
use crate::driver::departures::Departure;
use crate::driver::local::Local;
use crate::driver::panic::panic_text;
use crate::future::LocalFuture;
use crate::peer::Peer;
use crate::received::MessageRoom;
use crate::upgrade::{Io, Upgrade, Upgraded};

/// Bytes that may wait among the frames before no more are taken.
const AHEAD_BYTES: usize = 64 * 1024;

/// The part of a tunnel that its stream sees.
pub(super) struct Tunnel {
    future: LocalFuture<()>,
    /// The time at which the future is to be polled, whatever else happens.
    wake_at: Rc<Cell<u64>>,
    departure: Rc<Departure>,
    /// The end has been told.
    is_told: bool,
    _counted: CountedTunnel,
}

/// Counts a tunnel among those of its worker.
struct CountedTunnel(Rc<Local>);

impl CountedTunnel {
    fn new(local: &Rc<Local>) -> Self {
        local.tunnels.set(local.tunnels.get() + 1);
        Self(Rc::clone(local))
    }
}

impl Drop for CountedTunnel {
    fn drop(&mut self) {
        self.0.tunnels.set(self.0.tunnels.get() - 1);
    }
}

impl Exchange {
    /// Answers an extended CONNECT, and hands its stream over.
    pub(super) fn open_tunnel(&mut self, upgrade: Upgrade, context: &StreamContext) {
        let Some(incoming) = self.connect.take() else {
            return;
        };
        let (fields, take) = upgrade.into_http2();
        let Some(sending) = self.send_head(200, fields, false, context) else {
            return;
        };
        let sending = Rc::new(TunnelEnd {
            stream: RefCell::new(sending),
            has_ended: Cell::new(false),
        });
        self.outgoing = Outgoing::Tunnel(Rc::clone(&sending));
        if let Some(mut pending) = self.observed.take() {
            pending.tell(200, 0, true);
        }
        let wake_at = Rc::new(Cell::new(NEVER));
        let departure: Rc<Departure> = Rc::default();
        let socket = TunnelSocket {
            incoming: RefCell::new(Receiving {
                stream: incoming,
                piece: Bytes::new(),
                has_ended: false,
            }),
            sending,
            wake_at: Rc::clone(&wake_at),
            departure: Rc::clone(&departure),
            sent: Rc::clone(&self.sent),
            share: TunnelShare::new(&context.outflow),
            local: Rc::clone(&context.local),
            peer: context.client.peer,
        };
        let take = || take(Upgraded::new(Vec::new(), Box::pin(socket)));
        let future = catch_unwind(AssertUnwindSafe(take)).unwrap_or_else(|panic| {
            context.local.handler().panicked(panic_text(&*panic));
            Box::pin(std::future::ready(()))
        });
        self.state = ExchangeState::Tunnel(Tunnel {
            future,
            wake_at,
            departure,
            is_told: false,
            _counted: CountedTunnel::new(&context.local),
        });
    }

    /// Runs who took the stream over.
    pub(super) fn run_tunnel(&mut self, cx: &mut Context<'_>, context: &StreamContext) -> Step {
        let ExchangeState::Tunnel(tunnel) = &mut self.state else {
            return Step::Again;
        };
        match catch_unwind(AssertUnwindSafe(|| tunnel.future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Step::Waiting,
            Ok(Poll::Ready(())) => {}
            Err(panic) => context.local.handler().panicked(panic_text(&*panic)),
        }
        self.state = ExchangeState::Sending;
        if let Outgoing::Tunnel(sending) = &self.outgoing
            && !sending.has_ended.get()
        {
            // An end without a word is a reset (RFC 8441 section 5).
            self.reset(Reason::CANCEL);
        }
        Step::Again
    }
}

impl Tunnel {
    /// Returns when it is to be polled: at its own time, or when the worker lets it go.
    pub(super) fn wake_at(&self, local: &Local) -> u64 {
        let departure = match self.is_told {
            true => NEVER,
            false => self.departure.at(&local.departures),
        };
        self.wake_at.get().min(departure)
    }

    /// Reports whether it is to be polled now.
    pub(super) fn is_due(&mut self, now: u64, local: &Local) -> bool {
        let is_news = !self.is_told && local.lets_go(&self.departure);
        self.is_told |= is_news;
        let is_late = self.wake_at.get() <= now;
        if is_late {
            self.wake_at.set(NEVER);
        }
        is_news || is_late
    }
}

/// The sending direction.
pub(super) struct TunnelEnd {
    pub(super) stream: RefCell<SendStream<Piece>>,
    /// The end of the stream is among the frames.
    has_ended: Cell<bool>,
}

/// The receiving direction.
struct Receiving {
    stream: RecvStream,
    /// Bytes that have come and are not read.
    piece: Bytes,
    has_ended: bool,
}

impl Receiving {
    /// Waits for bytes, or for the end: then there are none.
    fn fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.piece.is_empty() && !self.has_ended {
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => {
                    self.has_ended = true;
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, error)));
                }
                None => self.has_ended = true,
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// A stream behind tokio's traits.
struct TunnelSocket {
    incoming: RefCell<Receiving>,
    sending: Rc<TunnelEnd>,
    wake_at: Rc<Cell<u64>>,
    departure: Rc<Departure>,
    sent: Rc<Sent>,
    share: TunnelShare,
    local: Rc<Local>,
    peer: Peer,
}

impl TunnelSocket {
    fn send(&self, bytes: &[u8], is_last: bool) -> io::Result<()> {
        let piece = Piece::new(Source::Bytes(bytes.to_vec()), &self.sent);
        let sent = self.sending.stream.borrow_mut().send_data(piece, is_last);
        sent.map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error))
    }

    /// Waits until the client takes something. The connection polls the stream when bytes of it have gone.
    fn poll_room(&self, bytes_max: usize, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(reset) = self.sending.stream.borrow_mut().poll_reset(cx) {
            return Poll::Ready(Err(match reset {
                Ok(reason) => {
                    io::Error::new(io::ErrorKind::ConnectionReset, h2::Error::from(reason))
                }
                Err(error) => io::Error::new(io::ErrorKind::ConnectionReset, error),
            }));
        }
        if self.sent.is_lost() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.sent.pending() > bytes_max {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl Io for TunnelSocket {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.incoming.borrow_mut().fill(cx)
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

    /// A connection has the uncounted bytes once, and its bodies may have them.
    fn message_room(&self) -> Option<MessageRoom> {
        Some(self.local.message_room(self.peer, 0))
    }

    fn body_pace(&self) -> (u64, usize) {
        self.local.body_pace()
    }

    /// The connection counts it, with all else that waits for the client.
    fn note_unsent(&self, bytes: usize, _has_moved: bool) {
        self.share.set(bytes);
    }
}

impl AsyncRead for TunnelSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut incoming = self.incoming.borrow_mut();
        ready!(incoming.fill(cx))?;
        let len = incoming.piece.len().min(buf.remaining());
        let part = incoming.piece.split_to(len);
        buf.put_slice(&part);
        // The client may send as much again. Fails only where the stream has ended already.
        let _ = incoming.stream.flow_control().release_capacity(len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TunnelSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(AHEAD_BYTES - 1, cx))?;
        let len = bytes.len().min(AHEAD_BYTES);
        self.send(&bytes[..len], false)?;
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_room(0, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.sending.has_ended.replace(true) {
            self.send(b"", true)?;
        }
        Poll::Ready(Ok(()))
    }
}
