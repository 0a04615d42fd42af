//! A connection of HTTP/2 (RFC 9113): the frames are the `h2` crate's, everything else is what a connection of
//! HTTP/1.1 has: handlers, held answers, limits, deadlines, observers, the worker's end.
//!
//! [`Http2`] is polled by its connection in place of the logic of HTTP/1.1. Each stream is an [`exchange`] with a waker
//! of its own ([`wakers`]); its request comes by [`requests`] and [`incoming`], its answer goes by [`replies`] as
//! [`piece`]s of memory that the frames take from where they are; a [`tunnel`] is a stream that its handler has taken
//! over. [`wire`] is the way of the frames to the transport,
//! and [`frames`] looks at them for limits that `h2` does not have.

mod budget;
mod builder;
mod context;
mod exchange;
mod expiry;
mod frames;
mod incoming;
mod piece;
mod replies;
mod requests;
mod time;
mod tunnel;
mod wakers;
mod wire;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use h2::Reason;
use h2::server::{Connection, Handshake};
use slab::Slab;

use self::builder::{builder, connection_window};
use self::context::StreamContext;
use self::exchange::{Exchange, ExchangeState};
use self::piece::Piece;
use self::requests::measure_room;
use self::time::Times;
use self::wire::{Wire, WireEnd};
use super::clock::process_millis;
use super::deadlines::NEVER;
use super::departures::Departure;
use super::local::Local;
use super::runtime::{SharedSocket, Socket};
use super::shared::unsent::{COUNTED_BYTES_MIN, UnsentPart};
use super::transport::Transport;
use crate::peer::RemoteEnd;

/// Requests taken in one turn; then other connections get theirs.
const TURN_REQUESTS_MAX: u32 = 64;

/// Rounds of frames and streams in one turn.
const TURN_ROUNDS_MAX: u32 = 16;

/// The state of the frames.
enum Session<S: Socket> {
    Beginning(Handshake<WireEnd<S>, Piece>),
    Open(Connection<WireEnd<S>, Piece>),
    Ended,
}

/// The end of a connection.
pub(super) enum Http2End {
    /// The client may still be sending; it is to have time to read the last frames.
    Linger,
    Gone,
}

/// The result of one look at the frames.
enum Frames {
    /// Streams have begun, or there may be more to do.
    Moved,
    Waiting,
    End,
}

pub(super) struct Http2<S: Socket> {
    // Before `wire`, of which it holds the other end.
    session: Session<S>,
    wire: Rc<RefCell<Wire<S>>>,
    exchanges: Slab<Exchange>,
    context: StreamContext,
    times: Times,
    unsent: Option<UnsentPart>,
    /// The bytes that the transport had taken when the unsent ones were last counted.
    taken_before: u64,
    /// Bytes by which the window of all bodies is wider than at first.
    widened: usize,
    departure: Departure,
    /// The connection ends as soon as the frames that say so are sent.
    is_closing: bool,
    /// Set once nothing is received any more, to whether answers were cut.
    was_cut: Option<bool>,
    /// Kept for the keys of streams that are to be polled.
    keys: Vec<usize>,
}

impl<S: Socket> Http2<S> {
    /// Takes over a transport. `early` are the bytes that have come already.
    pub(super) fn new(
        transport: Transport<S>,
        early: Vec<u8>,
        client: RemoteEnd,
        local: &Rc<Local>,
        is_refused: bool,
    ) -> Self {
        let wire = Rc::new(RefCell::new(Wire::new(transport, Rc::clone(local), early)));
        let handshake = builder(&local.limits).handshake(WireEnd(Rc::clone(&wire)));
        Self {
            session: Session::Beginning(handshake),
            wire,
            exchanges: Slab::new(),
            context: StreamContext::new(Rc::clone(local), client, is_refused),
            times: Times::new(local),
            unsent: None,
            taken_before: 0,
            widened: 0,
            departure: Departure::default(),
            is_closing: false,
            was_cut: None,
            keys: Vec::new(),
        }
    }

    /// Goes as far as it can.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Http2End> {
        self.context.ready.set_connection(cx.waker());
        self.wire.borrow_mut().begin_turn();
        let mut turn = TURN_REQUESTS_MAX;
        for _ in 0..TURN_ROUNDS_MAX {
            self.expire();
            let frames = self.poll_frames(cx, &mut turn);
            if let Frames::End = frames {
                return match self.poll_last() {
                    Poll::Ready(is_cut) => Poll::Ready(self.end(is_cut, cx)),
                    Poll::Pending => Poll::Pending,
                };
            }
            let has_polled = self.poll_streams();
            self.mind_window();
            let was_blocked = self.wire.borrow_mut().take_blocked();
            let flushed = match self.wire.borrow_mut().flush(cx) {
                Poll::Ready(Err(_)) => return Poll::Ready(Http2End::Gone),
                flushed => flushed.is_ready(),
            };
            if self.has_deadline_passed() {
                continue;
            }
            let goes_on = matches!(frames, Frames::Moved) || has_polled || (was_blocked && flushed);
            if !goes_on {
                return Poll::Pending;
            }
            if turn == 0 {
                break;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Sets when the connection is to be polled again at the latest. Returns that time.
    pub(super) fn deadline(&mut self) -> u64 {
        self.note_unsent();
        let streams = self.exchanges.iter_mut();
        let streams = streams.map(|(_, exchange)| exchange.deadline(&self.context));
        let streams = streams.min().unwrap_or(u64::MAX);
        if self.was_cut.is_some() {
            return streams;
        }
        let is_idle = self.exchanges.is_empty();
        let mut wire = self.wire.borrow_mut();
        let local = &self.context.local;
        let is_open = matches!(self.session, Session::Open(_));
        let has_departed = self.context.has_departed.get() || !is_open;
        let departure = match has_departed {
            true => NEVER,
            false => self.departure.at(&local.departures),
        };
        let connection = (self.times).deadline(&mut wire, is_idle, has_departed, local);
        streams.min(connection).min(departure)
    }

    fn has_deadline_passed(&mut self) -> bool {
        self.deadline() <= self.context.local.now_millis()
    }

    /// Receives and sends frames; begins the streams that the client has opened.
    fn poll_frames(&mut self, cx: &mut Context<'_>, turn: &mut u32) -> Frames {
        self.mind_the_end();
        let connection = match &mut self.session {
            Session::Ended => return Frames::End,
            Session::Beginning(handshake) => {
                return match Pin::new(handshake).poll(cx) {
                    Poll::Pending => Frames::Waiting,
                    Poll::Ready(Ok(connection)) => {
                        self.session = Session::Open(connection);
                        Frames::Moved
                    }
                    Poll::Ready(Err(_)) => Frames::End,
                };
            }
            Session::Open(connection) => connection,
        };
        let mut frames = Frames::Waiting;
        loop {
            measure_room(&self.exchanges, &self.context);
            // Requests wait behind answers that wait for a verdict or for the client.
            let has_held_max = self.context.held.get() >= self.context.local.limits.held_max;
            if has_held_max || self.context.is_full.get() || *turn == 0 {
                return match connection.poll_closed(cx) {
                    Poll::Ready(_) => Frames::End,
                    Poll::Pending => frames,
                };
            }
            let (request, respond) = match connection.poll_accept(cx) {
                Poll::Pending => return frames,
                Poll::Ready(Some(Ok(stream))) => stream,
                Poll::Ready(Some(Err(_)) | None) => return Frames::End,
            };
            *turn -= 1;
            frames = Frames::Moved;
            self.times.note_request();
            let entry = self.exchanges.vacant_entry();
            let key = entry.key();
            if let Some(mut exchange) = Exchange::begin(key, request, respond, &self.context)
                && exchange.poll(&self.context).is_pending()
            {
                entry.insert(exchange);
            } else if self.exchanges.is_empty() {
                // A stream that is over at once is not removed, and the client has time for another all the same.
                self.times.begin_idle(&self.context.local);
            }
        }
    }

    /// Polls the streams that have something to do. True if there were any.
    fn poll_streams(&mut self) -> bool {
        let mut has_polled = false;
        let mut keys = std::mem::take(&mut self.keys);
        for is_moved in [false, true] {
            if is_moved {
                self.context.outflow.take_moved(&mut keys);
            } else {
                self.context.ready.take(&mut keys);
            }
            for key in keys.drain(..) {
                measure_room(&self.exchanges, &self.context);
                let Some(exchange) = self.exchanges.get_mut(key) else {
                    continue;
                };
                has_polled = true;
                if exchange.poll(&self.context).is_ready() {
                    self.remove(key);
                }
            }
        }
        self.keys = keys;
        has_polled
    }

    /// Gives the streams that may go on the window that those that wait have used up.
    fn mind_window(&mut self) {
        let withheld = self.context.bodies.withheld();
        if withheld == self.widened {
            return;
        }
        if let Session::Open(connection) = &mut self.session {
            self.widened = withheld;
            let window = connection_window(&self.context.local.limits, withheld);
            connection.set_target_window_size(window);
        }
    }

    fn remove(&mut self, key: usize) {
        self.exchanges.try_remove(key);
        if self.exchanges.is_empty() {
            self.times.begin_idle(&self.context.local);
        }
    }

    /// Begins the end of the connection where that is due.
    fn mind_the_end(&mut self) {
        let limits = &self.context.local.limits;
        let is_flooded = {
            let mut wire = self.wire.borrow_mut();
            self.times.mind_frames(wire.frames(), &self.context.local);
            wire.frames().control() > limits.control_frames_max
        };
        if is_flooded || self.context.has_too_many_resets() {
            self.close(Reason::ENHANCE_YOUR_CALM);
        }
        let is_let_go = self.context.local.lets_go(&self.departure);
        if (is_let_go || self.context.is_ending.get())
            && !self.context.has_departed.get()
            && let Session::Open(connection) = &mut self.session
        {
            self.context.has_departed.set(true);
            connection.graceful_shutdown();
            for (key, exchange) in &self.exchanges {
                if matches!(exchange.state, ExchangeState::Streaming(_)) {
                    self.context.ready.add(key);
                }
            }
        }
    }

    /// Ends the connection now, whatever its streams are doing.
    fn close(&mut self, reason: Reason) {
        if self.is_closing {
            return;
        }
        self.is_closing = true;
        match &mut self.session {
            Session::Open(connection) => connection.abrupt_shutdown(reason),
            _ => self.session = Session::Ended,
        }
    }

    /// The frames have come to their end: answers are cut, and tunnels see it and do what is left to do. Ready when
    /// these are over too, with whether there were any of both.
    fn poll_last(&mut self) -> Poll<bool> {
        if self.was_cut.is_none() {
            self.was_cut = Some(!self.exchanges.is_empty());
            self.exchanges.retain(|_, exchange| exchange.is_tunnel());
            // From now on the streams of the tunnels fail.
            self.session = Session::Ended;
            for (key, _) in &self.exchanges {
                self.context.ready.add(key);
            }
        }
        self.poll_streams();
        match self.was_cut {
            Some(was_cut) if self.exchanges.is_empty() => Poll::Ready(was_cut),
            _ => Poll::Pending,
        }
    }

    /// Sends the last frames.
    fn end(&mut self, is_cut: bool, cx: &mut Context<'_>) -> Http2End {
        let mut wire = self.wire.borrow_mut();
        if is_cut {
            wire.cut();
        }
        match wire.flush(cx) {
            Poll::Ready(Ok(())) if !wire.has_ended() => Http2End::Linger,
            _ => Http2End::Gone,
        }
    }

    /// Counts what the client has not read, which may close this connection or slower ones.
    fn note_unsent(&mut self) {
        let wire = self.wire.borrow();
        let outflow = &self.context.outflow;
        let bytes = wire.held_bytes() + outflow.held_bytes() + outflow.tunnel_bytes();
        let has_moved = wire.taken() > self.taken_before;
        self.taken_before = wire.taken();
        if bytes < COUNTED_BYTES_MIN {
            drop(wire);
            return self.forget_unsent();
        }
        let local = &self.context.local;
        let part = self.unsent.get_or_insert_with(|| {
            let socket = Arc::clone(wire.transport().socket()) as SharedSocket;
            let peer = self.context.client.peer;
            UnsentPart::new(Arc::clone(&local.shared.clients), peer, socket)
        });
        part.grew_to(bytes);
        for closed in part.set(bytes, has_moved, process_millis()) {
            local.handler().closed_unread(&closed);
        }
    }

    fn forget_unsent(&mut self) {
        if let Some(part) = self.unsent.take() {
            self.context.local.note_freed(part.bytes());
        }
    }

    /// Tells who observes them that the worker ends before these requests were answered.
    pub(super) fn tell_unanswered(&mut self) {
        let max = self.context.local.limits.shutdown_millis_max;
        for (_, exchange) in &mut self.exchanges {
            exchange.tell_unanswered(max);
        }
    }
}

impl<S: Socket> Drop for Http2<S> {
    fn drop(&mut self) {
        self.forget_unsent();
        if !self.exchanges.is_empty() || self.wire.borrow().is_sending() {
            self.wire.borrow_mut().cut();
        }
    }
}
