//! One stream: its state, between the body that is sent and scripts.

use super::outgoing::{EventBytes, Outgoing};
use super::replay::Replay;
use crate::error::{Error, ErrorKind};
use crate::limits::CANCELLED;
use crate::offers::attached::{Attached, ConnectedClient};
use crate::response::Chunk;
use crate::topics::{Message, Receiver};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The bytes that may wait before a function that sends waits too.
const AHEAD_BYTES: usize = 64 * 1024;

/// The bound for what is sent at once is so many times that for what waits for a client: only after the turn is the
/// client offered anything.
const TURN_FACTOR: usize = 16;

/// A function of a stream that has ended is told of the end so many times.
const ENDS_TOLD_MAX: u32 = 1000;

/// The settings of event streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// A stream that was silent for so long is sent a comment, in milliseconds; 0 for never.
    pub heartbeat_millis: u64,
    /// The most bytes that wait for a client that does not read. Above that its stream is ended. A client that has
    /// read everything may be sent 16 times as much in one turn.
    pub waiting_bytes_max: usize,
}

/// The stream that a function of the script feeds, in the store of its request.
pub struct BegunEvents(pub Rc<EventStream>);

/// A stream of events. The body that is sent and the script's object share it.
pub struct EventStream {
    /// Unique on its worker.
    number: u64,
    last_id: Option<String>,
    settings: EventSettings,
    out: RefCell<Outgoing>,
    /// The bytes that wait for a commit.
    held: Cell<usize>,
    state: Cell<StreamState>,
    /// The client was offered everything before what waits now.
    has_caught_up: Cell<bool>,
    replay: Replay,
    /// Functions that wait for the end.
    awaiting_end: Cell<usize>,
    /// A function has waited until the end came.
    is_told: Cell<bool>,
    /// The number of times at which a function was told of the end.
    ends_told: Cell<u32>,
    /// Wakes the body.
    body: RefCell<Option<Waker>>,
    /// Functions that wait for room, or for the end.
    waiting: RefCell<Vec<Waker>>,
    /// Dropped at the end: subscriptions and the like.
    attached: Attached,
    /// Dropped at the end.
    place: RefCell<Option<Box<dyn Any>>>,
}

/// Returns the error of sending to a stream that has ended.
pub fn stream_ended() -> Error {
    Error::new(ErrorKind::Unavailable, "the event stream has ended").with_code(CANCELLED)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    Open,
    /// Takes nothing more; what waits is still sent.
    Closing,
    Over,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl EventStream {
    /// Creates a stream. The number is unique on its worker; `last_id` is the id that the client had last; `place` is
    /// dropped when the stream ends.
    pub fn new(
        number: u64,
        last_id: Option<String>,
        settings: EventSettings,
        place: Box<dyn Any>,
    ) -> Self {
        Self {
            number,
            last_id,
            settings,
            out: RefCell::default(),
            held: Cell::new(0),
            state: Cell::new(StreamState::Open),
            has_caught_up: Cell::new(true),
            replay: Replay::default(),
            awaiting_end: Cell::new(0),
            is_told: Cell::new(false),
            ends_told: Cell::new(0),
            body: RefCell::default(),
            waiting: RefCell::default(),
            attached: Attached::default(),
            place: RefCell::new(Some(place)),
        }
    }

    /// Returns the number of the stream, unique on its worker.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the id of the last event that the client has seen, if it has connected before.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &EventSettings {
        &self.settings
    }

    /// Reports whether events are taken.
    pub fn is_open(&self) -> bool {
        self.state.get() == StreamState::Open
    }

    /// Sends events. False if the stream has ended, or ends because too much waits for its client.
    pub fn send(&self, event: EventBytes) -> bool {
        self.send_named(&[], event)
    }

    /// Sends an event behind the line that names it, or neither.
    pub fn send_named(&self, name: &[u8], event: EventBytes) -> bool {
        if !self.is_open() || !self.has_space(name.len() + event.bytes().len()) {
            return false;
        }
        let mut out = self.out.borrow_mut();
        if !name.is_empty() {
            out.push(EventBytes::Own(name.to_vec()));
        }
        out.push(event);
        drop(out);
        self.wake_body();
        true
    }

    /// Counts bytes that wait for a commit. False if the stream has ended, or too much waits already: nothing of it can
    /// leave before the commit, so that is not for want of a client that reads.
    pub fn begin_hold(&self, bytes: usize) -> bool {
        if !self.is_open() || !self.fits(bytes) {
            return false;
        }
        self.held.set(self.held.get() + bytes);
        true
    }

    /// The bytes wait no longer: they are sent, or dropped where `is_lost`.
    pub fn end_hold(&self, event: EventBytes, is_lost: bool) {
        let len = event.bytes().len();
        self.held.set(self.held.get().saturating_sub(len));
        if !is_lost && self.state.get() != StreamState::Over {
            self.out.borrow_mut().push(event);
        }
        self.wake_body();
        self.wake_waiting();
    }

    fn waiting_bytes(&self) -> usize {
        self.out.borrow().bytes() + self.held.get()
    }

    fn fits(&self, bytes: usize) -> bool {
        let waiting = self.waiting_bytes();
        let bound = match self.has_caught_up.get() {
            true => self.settings.waiting_bytes_max.saturating_mul(TURN_FACTOR),
            false => self.settings.waiting_bytes_max,
        };
        waiting == 0 || waiting.saturating_add(bytes) <= bound
    }

    fn has_space(&self, bytes: usize) -> bool {
        if self.fits(bytes) {
            return true;
        }
        // Its client gets what was sent before, connects again, and asks for what it missed.
        self.close();
        false
    }

    /// Keeps messages that the client missed until the run of the function ends, see [`Replay`].
    pub fn add_missed(&self, messages: Vec<Arc<Message>>, receiver: &Weak<dyn Receiver>) {
        let at = self.out.borrow().len();
        self.replay.add(at, messages, receiver);
        self.wake_body();
    }

    /// Returns what the client missed, and how far it has got.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Waits until a function may go on to send: true then, false if the stream has ended.
    pub fn poll_room(&self, cx: &Context<'_>) -> Poll<bool> {
        match self.state.get() {
            StreamState::Over => Poll::Ready(false),
            StreamState::Open if self.waiting_bytes() > AHEAD_BYTES => {
                self.wait(cx);
                Poll::Pending
            }
            _ => Poll::Ready(true),
        }
    }

    /// Waits until the client has left, or the stream was closed.
    pub async fn ended(self: Rc<Self>) {
        let counted = AwaitsEnd::new(Rc::clone(&self));
        std::future::poll_fn(|cx| {
            if !self.is_open() {
                return Poll::Ready(());
            }
            self.wait(cx);
            Poll::Pending
        })
        .await;
        // What it does from now on is its own end.
        self.is_told.set(true);
        drop(counted);
    }

    /// Reports whether a function waits for the end, or has waited until it came.
    pub fn is_end_awaited(&self) -> bool {
        self.awaiting_end.get() > 0 || self.is_told.get()
    }

    /// Returns at once, to tell a function of the end. A function that does not end however often it is told is told no
    /// more: it waits until its time for cleaning up is over.
    pub async fn tell_end(&self) {
        let told = self.ends_told.get();
        if told >= ENDS_TOLD_MAX {
            std::future::pending().await
        }
        self.ends_told.set(told + 1);
    }

    fn wait(&self, cx: &Context<'_>) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|known| known.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
    }

    fn wake_waiting(&self) {
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Has the body polled.
    pub fn wake_body(&self) {
        if let Some(waker) = &*self.body.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Ends the stream behind what was sent before.
    pub fn close(&self) {
        if self.is_open() {
            self.state.set(StreamState::Closing);
            self.wake_body();
            self.wake_waiting();
        }
    }
}

/// The side of the body that is sent.
impl EventStream {
    /// Has `cx` woken when there is something to send, or the stream has ended.
    pub fn wake_on_change(&self, cx: &Context<'_>) {
        let mut body = self.body.borrow_mut();
        let is_known = body
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()));
        if !is_known {
            *body = Some(cx.waker().clone());
        }
    }

    /// Takes what is sent next.
    pub fn take(&self) -> Option<Chunk> {
        self.replay.deliver(&self.out);
        let before = self.out.borrow().bytes();
        let taken = self.out.borrow_mut().take();
        self.has_caught_up.set(taken.is_none());
        if before > AHEAD_BYTES && self.waiting_bytes() <= AHEAD_BYTES {
            self.wake_waiting();
        }
        taken
    }

    /// Reports whether nothing follows. `has_returned` tells that the function that feeds the stream has ended: then
    /// only what is attached keeps it open.
    pub fn is_finished(&self, has_returned: bool) -> bool {
        if !self.out.borrow().is_empty() || self.held.get() > 0 {
            return false;
        }
        !self.is_open() || (has_returned && self.attached.is_empty())
    }

    /// The body has ended: nothing is sent any more, and what was attached is dropped.
    pub fn end(&self) {
        self.state.set(StreamState::Over);
        self.out.borrow_mut().clear();
        self.body.take();
        self.wake_waiting();
        self.attached.clear();
        drop(self.place.take());
    }
}

/// The stream stays open as long as it has any attached values.
impl ConnectedClient for EventStream {
    fn values(&self) -> &Attached {
        &self.attached
    }

    fn is_over(&self) -> bool {
        self.state.get() == StreamState::Over
    }

    fn values_dropped(&self) {
        self.wake_body();
    }
}

/// Counts a function that waits for the end.
struct AwaitsEnd(Rc<EventStream>);

impl AwaitsEnd {
    fn new(stream: Rc<EventStream>) -> Self {
        stream.awaiting_end.set(stream.awaiting_end.get() + 1);
        Self(stream)
    }
}

impl Drop for AwaitsEnd {
    fn drop(&mut self) {
        self.0.awaiting_end.set(self.0.awaiting_end.get() - 1);
    }
}

#[cfg(test)]
mod tests;
