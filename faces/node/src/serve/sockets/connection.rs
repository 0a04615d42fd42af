//! The loop of one socket: reads frames and tells JavaScript of messages, writes what JavaScript sends.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use sampan_http::Upgraded;
use sampan_http::websocket::{
    CloseFrame, ControlFrames, Decoder, DecoderLimits, Event, Opcode, Role, codes,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::outgoing::frame;
use super::registry::{SocketEvent, SocketState, Sockets, Stage};

/// The limits of what one socket has for JavaScript to take: at one of them nothing more is read.
const WAITING_EVENTS_MAX: u32 = 256;
const WAITING_BYTES_MAX: usize = 1024 * 1024;

/// The bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// The longest wait for the client's close frame after ours was written, in milliseconds.
const CLOSE_MILLIS_MAX: u64 = 5_000;

/// A socket between its entry and its end: tells JavaScript of the end for every cause.
pub(super) struct SocketGuard {
    pub(super) state: Rc<SocketState>,
    pub(super) sockets: Rc<Sockets>,
}

impl SocketGuard {
    pub(super) fn new(state: Rc<SocketState>, sockets: Rc<Sockets>) -> Self {
        Self { state, sockets }
    }
}

impl Drop for SocketGuard {
    fn drop(&mut self) {
        // That of the end which closed first: the other may repeat the code alone.
        let is_over = self.state.stage.get() == Stage::Terminated;
        let end = self.state.closed_by_us.take().filter(|_| !is_over);
        let end = end.unwrap_or_else(|| CloseFrame::new(codes::ABNORMAL, ""));
        self.sockets.end(&self.state);
        self.sockets.tell(&self.state, SocketEvent::Close(end));
    }
}

pub(super) struct SocketConnection {
    stream: Upgraded,
    guard: SocketGuard,
    decoder: Decoder,
    controls: ControlFrames,
    /// A fault of the protocol: what comes is dropped.
    is_broken: bool,
    /// The client's close frame is here.
    is_answered: bool,
    /// The client has sent nothing more.
    has_ended: bool,
    /// The time at which the client was last heard, and whether it was asked since.
    heard: u64,
    is_asked: bool,
    /// Since when the client has taken nothing of what waits for it.
    stalled_since: Option<u64>,
    /// Set when our close frame is written.
    close_by: Option<u64>,
}

impl SocketConnection {
    pub(super) fn new(stream: Upgraded, guard: SocketGuard) -> Self {
        let limits = DecoderLimits {
            message_bytes_max: guard.state.settings.message_bytes_max,
            is_compressed: guard.state.window_bits.is_some(),
        };
        guard.sockets.tell(&guard.state, SocketEvent::Open);
        Self {
            heard: stream.now_millis(),
            stream,
            guard,
            decoder: Decoder::new(Role::Server, limits),
            controls: ControlFrames::default(),
            is_broken: false,
            is_answered: false,
            has_ended: false,
            is_asked: false,
            stalled_since: None,
            close_by: None,
        }
    }

    fn is_full(&self) -> bool {
        let state = &self.guard.state;
        state.waiting_events.get() >= WAITING_EVENTS_MAX
            || state.waiting_bytes.get() >= WAITING_BYTES_MAX
    }

    /// Reads once. Ready if there may be more.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.stream.poll_readable(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => {
                self.has_ended = true;
                return Poll::Ready(());
            }
        }
        let sockets = Rc::clone(&self.guard.sockets);
        let mut room = sockets.room.take();
        room.resize(READ_BYTES, 0);
        let mut space = ReadBuf::new(&mut room);
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut space);
        match read {
            Poll::Pending => {}
            Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                self.heard = self.stream.now_millis();
                self.is_asked = false;
                self.feed(space.filled());
            }
            Poll::Ready(_) => self.has_ended = true,
        }
        sockets.room.set(room);
        read.map(drop)
    }

    /// Takes bytes of the client.
    fn feed(&mut self, mut bytes: &[u8]) {
        let SocketGuard { state, sockets } = &self.guard;
        while !self.is_broken && !self.is_answered {
            let event = match self.decoder.next(&mut bytes) {
                Ok(None) => return,
                Ok(Some(event)) => event,
                Err(fault) => {
                    state.close(&CloseFrame::new(fault.code(), &fault.to_string()));
                    self.is_broken = true;
                    return;
                }
            };
            // What comes behind our close frame is dropped.
            let is_open = state.stage.get() == Stage::Open;
            if !matches!(event, Event::Ping(_) | Event::Pong(_)) {
                self.controls.note_message();
            } else if is_open {
                let max = self.stream.control_frames_max();
                if self.controls.note(self.stream.now_millis(), max) {
                    let reason = ControlFrames::reason(max);
                    state.close(&CloseFrame::new(codes::POLICY, &reason));
                    self.is_broken = true;
                    return;
                }
            }
            match event {
                Event::Text(text) if is_open => {
                    sockets.tell(state, SocketEvent::Text(text.into_bytes()));
                }
                Event::Bytes(bytes) if is_open => sockets.tell(state, SocketEvent::Bytes(bytes)),
                Event::Ping(payload) if is_open => {
                    state.out.borrow_mut().push_pong(&payload);
                    sockets.tell(state, SocketEvent::Ping(payload));
                }
                Event::Pong(payload) if is_open => sockets.tell(state, SocketEvent::Pong(payload)),
                Event::Close(close) => {
                    state.close(&close);
                    self.is_answered = true;
                }
                _ => {}
            }
        }
    }

    /// Writes what waits, and takes note of a client that does not read. True if all of it is with the system.
    fn write(&mut self, cx: &mut Context<'_>) -> bool {
        let state = Rc::clone(&self.guard.state);
        let before = state.out.borrow().len();
        let is_written = self.write_out(&state, cx);
        let left = state.out.borrow().len();
        let has_moved = left < before;
        let now = self.stream.now_millis();
        if (has_moved || is_written) && self.stalled_since.take().is_some() {
            // Room came free, so the client has read.
            self.heard = now;
        }
        if !is_written {
            self.stalled_since.get_or_insert(now);
        } else if state.stage.get() == Stage::Closing {
            self.close_by.get_or_insert(now + CLOSE_MILLIS_MAX);
        }
        self.stream.note_unsent(left, has_moved);
        is_written
    }

    fn write_out(&mut self, state: &Rc<SocketState>, cx: &mut Context<'_>) -> bool {
        loop {
            let mut out = state.out.borrow_mut();
            if out.len() == 0 {
                break;
            }
            match Pin::new(&mut self.stream).poll_write(cx, out.next()) {
                Poll::Ready(Ok(written)) if written > 0 => out.advance(written),
                Poll::Ready(_) => {
                    self.has_ended = true;
                    return false;
                }
                Poll::Pending => {
                    state.is_blocked.set(true);
                    return false;
                }
            }
        }
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => {
                self.has_ended = true;
                return false;
            }
            Poll::Pending => return false,
        }
        if state.is_blocked.replace(false) && state.stage.get() == Stage::Open {
            self.guard.sockets.tell(state, SocketEvent::Drain);
        }
        true
    }

    /// Returns when the connection ends: its client takes nothing, or does not answer our close frame.
    fn ends_at(&self) -> u64 {
        let mut stalled_max = self.stream.write_idle_millis_max();
        if self.is_answered || self.is_broken || self.stream.is_draining() {
            stalled_max = stalled_max.min(CLOSE_MILLIS_MAX);
        }
        let stalled = self.stalled_since;
        let stalled = stalled.map_or(u64::MAX, |since| since.saturating_add(stalled_max));
        stalled.min(self.close_by.unwrap_or(u64::MAX))
    }

    /// Acts on the time. Returns when there is something to do next, apart from [`Self::ends_at`].
    fn watch_time(&mut self) -> u64 {
        let now = self.stream.now_millis();
        let state = &self.guard.state;
        if self.stream.is_draining() && state.stage.get() == Stage::Open {
            state.close(&CloseFrame::new(codes::GOING_AWAY, "the server stops"));
            self.stalled_since = self.stalled_since.map(|_| now);
        }
        self.has_ended |= self.ends_at() <= now;
        if self.is_full() {
            // Nothing is read while JavaScript has so much to take.
            self.heard = now;
        }
        let settings = &state.settings;
        if self.has_ended || state.stage.get() != Stage::Open || settings.idle_millis_max == 0 {
            return u64::MAX;
        }
        let idle = self.heard.saturating_add(settings.idle_millis_max);
        let ping = match settings.sends_pings && !self.is_asked {
            true => self.heard.saturating_add(settings.idle_millis_max / 2),
            false => u64::MAX,
        };
        if idle <= now {
            let text = "nothing came for too long";
            state.close(&CloseFrame::new(codes::GOING_AWAY, text));
            // A close frame would wait behind the bytes that the client does not take.
            self.has_ended = self.stalled_since.is_some();
            u64::MAX
        } else if ping <= now {
            self.is_asked = true;
            state.out.borrow_mut().push(frame(Opcode::Ping, false, &[]));
            idle
        } else {
            idle.min(ping)
        }
    }
}

impl Future for SocketConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let state = Rc::clone(&this.guard.state);
        state.waker.set(Some(cx.waker().clone()));
        let mut has_read = false;
        if !this.is_full() && !this.is_answered && !this.has_ended {
            has_read = this.read(cx).is_ready();
        }
        let next = this.watch_time();
        let is_written = this.write(cx);
        this.stream.wake_at(next.min(this.ends_at()));
        if this.has_ended || state.stage.get() == Stage::Terminated {
            // A close frame of ours that was not written has ended nothing.
            if !this.is_answered && this.close_by.is_none() {
                state.stage.set(Stage::Terminated);
            }
            return Poll::Ready(());
        }
        if is_written && state.stage.get() == Stage::Closing && (this.is_answered || this.is_broken)
        {
            let _ = Pin::new(&mut this.stream).poll_shutdown(cx);
            if this.is_answered {
                return Poll::Ready(());
            }
        }
        if has_read && !this.is_full() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
