//! The loop of one socket: reads frames, runs the script for each event in order, writes what it sends.
//!
//! While an event runs or waits nothing is read, so a client is as fast as its handlers. A socket that is silent owns
//! no buffer.

mod arriving;
mod time;

use crate::sockets::run::{EventInFlight, forget};
use crate::sockets::serving::Serving;
use crate::sockets::state::{Input, SignsOfLife, Stage};
use crate::sockets::writing;
use arriving::ArrivingMessage;
use sampan_host::metrics::LevelGuard;
use sampan_host::sockets::{Payload, Socket, SocketEvent, SocketMessage};
use sampan_http::Upgraded;
use sampan_http::websocket::{
    CloseFrame, ControlFrames, Decoder, DecoderLimits, Deflate, Event, Role, codes,
};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The messages, pings, pongs and reads of a socket in one poll; then others get their turn. A message runs a handler,
/// so these are fewer than the requests of a connection in its turn.
const TURN_EVENTS_MAX: u32 = 16;

/// The longest wait for the client's close frame behind ours, and for its end of the connection, in milliseconds.
/// Also the longest time without progress of a client that has closed or broken the protocol, and of every client once
/// the server ends.
const CLOSE_MILLIS_MAX: u64 = 5_000;

/// The allocator has a size of its own for so many bytes, and very many sockets may be silent.
const _: () = assert!(size_of::<SocketConnection>() <= 320);

pub(crate) struct SocketConnection {
    stream: Upgraded,
    socket: Rc<Socket>,
    serving: Rc<Serving>,
    decoder: Decoder,
    window_bits: Option<u8>,
    stage: Stage,
    /// The event that runs.
    run: Option<EventInFlight>,
    /// Bytes behind the message whose event runs, or behind the last frame of a turn.
    input: Input,
    controls: ControlFrames,
    is_drained: bool,
    life: SignsOfLife,
    /// The message that has begun and has not ended.
    arriving: Option<Box<ArrivingMessage>>,
    /// The time at which the client last took something, while something waits for it.
    stalled_since: Option<u64>,
    /// The close frame that ends the connection: the client's, else ours.
    end: Option<Box<CloseFrame>>,
    /// The client's close frame is here.
    is_answered: bool,
    /// The time at which the connection ends whatever the client does, once our close frame is written.
    close_by: Option<u64>,
    /// Counts it, where the server is measured.
    _counted: Option<LevelGuard>,
}

impl Drop for SocketConnection {
    fn drop(&mut self) {
        self.run = None;
        self.socket.end();
        forget(&self.serving, &self.socket);
    }
}

impl SocketConnection {
    pub(crate) fn new(
        stream: Upgraded,
        socket: Rc<Socket>,
        serving: Rc<Serving>,
        deflate: Option<Deflate>,
    ) -> Self {
        let limits = DecoderLimits {
            message_bytes_max: socket.settings().message_bytes_max,
            is_compressed: deflate.is_some(),
        };
        let counted = serving.current().and_then(|loaded| {
            let meters = loaded.control.meters.as_ref()?;
            Some(meters.socket())
        });
        Self {
            _counted: counted,
            life: SignsOfLife {
                heard: stream.now_millis(),
                is_asked: false,
            },
            stream,
            socket,
            serving,
            decoder: Decoder::new(Role::Server, limits),
            window_bits: deflate.map(|deflate| deflate.window_bits),
            stage: Stage::Fresh,
            run: None,
            input: Input::default(),
            controls: ControlFrames::default(),
            is_drained: false,
            arriving: None,
            stalled_since: None,
            end: None,
            is_answered: false,
            close_by: None,
        }
    }

    /// Starts the handler of an event, and runs it until it waits.
    fn start(&mut self, event: SocketEvent, cx: &mut Context<'_>) {
        let now = self.stream.now_millis();
        self.run = EventInFlight::start(&self.serving, &self.socket, event, now);
        let _ = self.poll_run(cx);
    }

    /// Runs the event on.
    fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.stream.now_millis();
        if let Some(run) = &mut self.run {
            ready!(run.poll(&self.socket, now, cx));
            self.run = None;
        }
        Poll::Ready(())
    }

    /// Goes on until only an event can bring it further. Ready when the connection is over.
    fn work(&mut self, turn: &mut u32, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.run.is_some() {
                ready!(self.poll_run(cx));
                // Nothing was read while the event waited.
                self.life.note(self.stream.now_millis());
                if let Some(message) = &mut self.arriving {
                    message.begin_anew(&self.stream);
                }
            }
            match self.stage {
                Stage::Fresh => {
                    self.stage = Stage::Open;
                    self.start(SocketEvent::Open, cx);
                    continue;
                }
                Stage::Ended => {
                    self.stage = Stage::Told;
                    self.socket.end();
                    self.stream.note_unsent(0, false);
                    // A close frame of ours that was not written has ended nothing.
                    let is_closed = self.is_answered || self.close_by.is_some();
                    let end = self.end.take().filter(|_| is_closed);
                    let end = end.unwrap_or_else(|| CloseFrame::new(codes::ABNORMAL, "").into());
                    let CloseFrame { code, reason } = *end;
                    self.start(SocketEvent::Close { code, reason }, cx);
                    continue;
                }
                Stage::Told => return Poll::Ready(()),
                Stage::Open | Stage::Broken => {}
            }
            if std::mem::take(&mut self.is_drained) && !self.socket.is_closing() {
                self.start(SocketEvent::Drain, cx);
                continue;
            }
            if *turn == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !self.input.is_empty() {
                let mut input = std::mem::take(&mut self.input);
                let left = self.feed(input.bytes(), turn, cx);
                input.keep(left);
                self.input = input;
                continue;
            }
            // The answer to the client's close frame is written first; nothing comes behind that.
            if self.is_answered {
                return Poll::Pending;
            }
            ready!(self.read(turn, cx));
        }
    }

    /// Reads once, and takes what came.
    fn read(&mut self, turn: &mut u32, cx: &mut Context<'_>) -> Poll<()> {
        if ready!(self.stream.poll_readable(cx)).is_err() {
            self.stage = Stage::Ended;
            return Poll::Ready(());
        }
        let serving = Rc::clone(&self.serving);
        serving.with_room(|room| {
            let mut space = ReadBuf::new(room);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut space)) {
                Ok(()) if !space.filled().is_empty() => {
                    self.life.note(self.stream.now_millis());
                    *turn -= 1;
                    if self.stage != Stage::Broken {
                        let left = self.feed(space.filled(), turn, cx);
                        self.input = Input::of_last(left, space.filled());
                    }
                }
                _ => self.stage = Stage::Ended,
            }
            Poll::Ready(())
        })
    }

    /// Closes the socket for a fault of its client.
    fn refuse(&mut self, code: u16, reason: &str) {
        self.socket.close_now(code, reason);
        self.stage = Stage::Broken;
    }

    /// Takes bytes of the client. Returns the number of those that are left, behind a message whose event waits or at
    /// the end of the turn.
    fn feed(&mut self, mut bytes: &[u8], turn: &mut u32, cx: &mut Context<'_>) -> usize {
        while self.stage == Stage::Open {
            if self.run.is_some() || *turn == 0 {
                return bytes.len();
            }
            let next = self.decoder.next(&mut bytes);
            if let Err(limit) = arriving::watch(&mut self.arriving, &self.decoder, &self.stream) {
                self.refuse(
                    codes::TRY_LATER,
                    &format!("no memory for the message ({limit})"),
                );
                self.decoder.drop_message();
                self.arriving = None;
                return 0;
            }
            let event = match next {
                Ok(None) => return 0,
                Ok(Some(event)) => event,
                Err(fault) => {
                    self.refuse(fault.code(), &fault.to_string());
                    return 0;
                }
            };
            if matches!(event, Event::Ping(_) | Event::Pong(_)) {
                *turn -= 1;
                let max = self.stream.control_frames_max();
                if self.controls.note(self.stream.now_millis(), max) && !self.socket.is_closing() {
                    self.refuse(codes::POLICY, &ControlFrames::reason(max));
                    return 0;
                }
            }
            let event = match event {
                Event::Text(text) => SocketEvent::Text(text),
                Event::Bytes(bytes) => SocketEvent::Bytes(bytes),
                Event::Ping(payload) => {
                    let pong = SocketMessage::Pong(Payload::Own(payload.into()));
                    if !self.socket.is_closing() {
                        self.socket.outgoing(|out| out.push(pong));
                    }
                    continue;
                }
                Event::Pong(_) => continue,
                Event::Close(frame) => {
                    self.is_answered = true;
                    let now = self.stream.now_millis();
                    self.stalled_since = self.stalled_since.map(|_| now);
                    if !self.socket.is_closing() {
                        self.socket.answer_close(frame.payload());
                    }
                    self.end = Some(frame.into());
                    return 0;
                }
            };
            *turn -= 1;
            self.controls.note_message();
            // What comes behind our close frame is dropped.
            if !self.socket.is_closing() {
                self.start(event, cx);
            }
        }
        0
    }

    /// Writes what waits, and ends the connection when both ends have said so.
    fn write(&mut self, cx: &mut Context<'_>) {
        if matches!(self.stage, Stage::Ended | Stage::Told) {
            return;
        }
        if self.socket.is_closing() && self.end.is_none() {
            let end = self.socket.outgoing(|out| writing::close_frame(out));
            self.end = end.map(Box::new);
        }
        let mut has_moved = false;
        let written = writing::poll_write_all(
            &self.socket,
            &mut self.stream,
            &self.serving,
            self.window_bits,
            &mut has_moved,
            cx,
        );
        let now = self.stream.now_millis();
        if (has_moved || written.is_ready()) && self.stalled_since.take().is_some() {
            // Room came free, so the client has read.
            self.life.note(now);
        }
        match written {
            Poll::Ready(Ok(())) => {
                self.is_drained |= self.socket.set_blocked(false);
                if self.socket.is_closing() {
                    self.close_by.get_or_insert(now + CLOSE_MILLIS_MAX);
                    self.closed(cx);
                }
            }
            Poll::Ready(Err(_)) => self.stage = Stage::Ended,
            Poll::Pending => {
                self.stalled_since.get_or_insert(now);
                self.socket.set_blocked(true);
            }
        }
        self.stream.note_unsent(self.socket.buffered(), has_moved);
        self.socket.count_by(|| self.stream.unsent_counter());
    }

    /// Our close frame is written.
    fn closed(&mut self, cx: &mut Context<'_>) {
        if self.is_answered {
            let _: Poll<io::Result<()>> = Pin::new(&mut self.stream).poll_shutdown(cx);
            self.stage = Stage::Ended;
        } else if self.stage == Stage::Broken {
            // What the client still sends is read: closing over unread bytes would drop the close frame.
            let _: Poll<io::Result<()>> = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
    }

    /// Reads, runs events and writes until only an event can bring it further.
    fn take_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut turn = TURN_EVENTS_MAX;
        loop {
            if self.work(&mut turn, cx).is_ready() {
                return Poll::Ready(());
            }
            let next = self.watch_time();
            self.write(cx);
            let has_ended = self.stage == Stage::Ended;
            if self.run.is_some() || !(has_ended || self.is_drained) {
                self.stream.wake_at(next.min(self.ends_at()));
                return Poll::Pending;
            }
        }
    }
}

impl Future for SocketConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.socket.begin_turn(cx);
        let result = self.take_turn(cx);
        self.socket.end_turn();
        result
    }
}
