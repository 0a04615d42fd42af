//! One socket: its state, between its connection and scripts.

use super::opening::Opening;
use super::outgoing::{Outgoing, Payload, SocketMessage};
use crate::offers::attached::{Attached, ConnectedClient};
use crate::value::Value;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Waker};

/// The bound for what one turn sends is so many times that for what waits for a client: only after the turn is the
/// client offered anything.
const TURN_FACTOR: usize = 16;

/// The bytes that wait for a client that does not read are counted once for so many, and not for each message:
/// thousands of such clients may get it.
const COUNTED_BYTES: usize = 4 * 1024;

/// Counts the bytes that wait for a client, among those of all clients.
pub type UnsentCounter = Rc<dyn Fn(usize)>;

/// The settings of the sockets of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketSettings {
    /// The longest message that is received, in bytes, inflated too.
    pub message_bytes_max: usize,
    /// The most bytes that wait because the client does not read them; a turn may send 16 times as much to one that
    /// has read everything.
    pub backpressure_bytes_max: usize,
    /// True if a message above that is dropped; else the socket is closed with 1013.
    pub drops_above: bool,
    /// A socket from which nothing came for so long is closed, in milliseconds.
    pub idle_millis_max: u64,
    /// A client from which nothing came for so long is sent a ping, in milliseconds; 0 for never.
    pub ping_millis: u64,
    /// True if permessage-deflate is agreed on with clients that offer it.
    pub compress: bool,
}

/// The fate of a message that a script has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Written at the end of this turn.
    Sent,
    /// Waiting: for a commit, or for a client that does not read.
    Queued,
    /// Not sent: the socket is closed, or more would wait than may.
    Dropped,
}

impl Sent {
    /// Returns the word for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Queued => "queued",
            Self::Dropped => "dropped",
        }
    }
}

/// A socket. Its connection and the script's objects share it.
pub struct Socket {
    id: u64,
    route: Rc<str>,
    opening: Opening,
    settings: Rc<SocketSettings>,
    /// The subprotocol that was agreed on.
    protocol: Option<Box<str>>,
    /// The values that scripts keep with it.
    data: RefCell<Vec<(String, Value)>>,
    out: RefCell<Outgoing>,
    state: Cell<State>,
    /// Wakes the connection.
    waker: RefCell<Option<Waker>>,
    /// Dropped with the connection: subscriptions and the like.
    attached: Attached,
    rare: RefCell<Option<Box<RareParts>>>,
}

/// The parts that few sockets have: others own no memory for them.
#[derive(Default)]
struct RareParts {
    /// The handlers of this socket alone, where it has no route: a value of the capability.
    handlers: Option<Rc<dyn Any>>,
    /// Counts what waits while the client does not read, so that the connection need not be polled for that.
    counter: Option<UnsentCounter>,
}

/// With the counts of its `Rc` it has 320 bytes, for which the allocator has a size of its own: very many sockets may
/// be silent.
const _: () = assert!(size_of::<Socket>() <= 304);

#[derive(Clone, Copy, Default)]
struct State {
    /// No message is taken any more.
    is_closing: bool,
    /// The connection has ended.
    is_over: bool,
    /// The client has not read everything that was to be written.
    is_blocked: bool,
    /// A message was held back since the last drain: by the client, or by a commit.
    was_held_back: bool,
    /// The connection is being polled, and writes at the end of that.
    is_in_turn: bool,
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket")
            .field("id", &self.id)
            .field("route", &self.route)
            .finish_non_exhaustive()
    }
}

impl Socket {
    /// Creates a socket of a route. The id is unique on its worker.
    pub fn new(id: u64, route: Rc<str>, opening: Opening, settings: Rc<SocketSettings>) -> Self {
        Self {
            id,
            route,
            opening,
            settings,
            protocol: None,
            data: RefCell::default(),
            out: RefCell::default(),
            state: Cell::default(),
            waker: RefCell::default(),
            attached: Attached::default(),
            rare: RefCell::default(),
        }
    }

    /// Sets the subprotocol that was agreed on.
    #[must_use]
    pub fn with_protocol(mut self, protocol: Option<&str>) -> Self {
        self.protocol = protocol.map(Into::into);
        self
    }

    /// Sets the handlers of this socket alone. They stay until [`Socket::drop_handlers`].
    #[must_use]
    pub fn with_handlers<T: 'static>(self, handlers: T) -> Self {
        self.rare(|rare| rare.handlers = Some(Rc::new(handlers)));
        self
    }

    /// Returns the handlers of this socket alone.
    pub fn handlers<T: 'static>(&self) -> Option<Rc<T>> {
        let handlers = self.rare.borrow().as_ref()?.handlers.clone();
        handlers?.downcast().ok()
    }

    fn rare<R>(&self, see: impl FnOnce(&mut RareParts) -> R) -> R {
        see(self.rare.borrow_mut().get_or_insert_default())
    }

    /// Drops these handlers: no event follows.
    pub fn drop_handlers(&self) {
        let mut rare = self.rare.borrow_mut();
        let handlers = rare.as_mut().and_then(|rare| rare.handlers.take());
        drop(rare);
        // They may hold what looks at the socket while it is dropped.
        drop(handlers);
    }

    /// Returns the subprotocol that was agreed on.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Returns the number of the socket, unique on its worker.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the pattern of the route that accepted it.
    pub fn route(&self) -> &Rc<str> {
        &self.route
    }

    /// Returns the request that opened it.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SocketSettings {
        &self.settings
    }

    /// Returns the values that scripts keep with it.
    pub fn data(&self) -> &RefCell<Vec<(String, Value)>> {
        &self.data
    }

    /// Reports whether no message is taken any more.
    pub fn is_closing(&self) -> bool {
        self.state.get().is_closing
    }

    /// Reports whether the client has not read everything that was to be written.
    pub fn is_blocked(&self) -> bool {
        self.state.get().is_blocked
    }

    /// Returns the number of bytes that wait to be written.
    pub fn buffered(&self) -> usize {
        self.out.borrow().bytes()
    }

    /// Sends a message. It is written at the end of the turn, together with all others.
    pub fn send(&self, message: SocketMessage) -> Sent {
        let state = self.state.get();
        if state.is_closing {
            return Sent::Dropped;
        }
        let mut out = self.out.borrow_mut();
        let (waiting, len) = (out.held_bytes(), message.payload().len());
        let bound = self.settings.backpressure_bytes_max;
        let bound = match state.is_blocked {
            true => bound,
            // The client had no chance to read yet.
            false => bound.saturating_mul(TURN_FACTOR),
        };
        if waiting > 0 && waiting.saturating_add(len) > bound {
            drop(out);
            self.held_back();
            if !self.settings.drops_above {
                self.close(1013, "the client does not read what is sent");
            }
            return Sent::Dropped;
        }
        out.push(message);
        let held = out.held_bytes();
        drop(out);
        if state.is_blocked {
            self.held_back();
            // The connection is polled when the client takes something. Until then what waits is counted now and then.
            if held / COUNTED_BYTES > waiting / COUNTED_BYTES {
                self.note_unsent();
            }
            return Sent::Queued;
        }
        self.wake();
        Sent::Sent
    }

    /// Counts what waits: without a turn of the connection, if that has said how.
    fn note_unsent(&self) {
        let rare = self.rare.borrow();
        let counter = rare.as_ref().and_then(|rare| rare.counter.clone());
        drop(rare);
        match counter {
            Some(count) => count(self.buffered()),
            None => self.wake(),
        }
    }

    /// Has what waits counted by what `counter` returns, until nothing waits any more. The connection calls it at the
    /// end of each turn, once it has counted what waits itself.
    pub fn count_by(&self, counter: impl FnOnce() -> Option<UnsentCounter>) {
        let is_waiting = self.buffered() > 0;
        let rare = self.rare.borrow();
        let is_counted = rare.as_ref().is_some_and(|rare| rare.counter.is_some());
        drop(rare);
        if is_waiting == is_counted {
            return;
        }
        let counter = is_waiting.then(counter).flatten();
        if counter.is_some() || is_counted {
            let before = self.rare(|rare| std::mem::replace(&mut rare.counter, counter));
            drop(before);
        }
    }

    /// Sends a message that had to wait for a commit: the next drain tells of it too.
    pub fn send_held(&self, message: SocketMessage) -> Sent {
        self.held_back();
        self.send(message)
    }

    fn held_back(&self) {
        self.change(|state| state.was_held_back = true);
    }

    /// Begins the end of the connection: a close frame is written behind what was sent before. The code is one that may
    /// be sent, the reason has at most 123 bytes.
    pub fn close(&self, code: u16, reason: &str) {
        if self.state.get().is_closing {
            return;
        }
        self.change(|state| state.is_closing = true);
        let mut payload = code.to_be_bytes().to_vec();
        payload.extend_from_slice(reason.as_bytes());
        self.answer_close(payload);
    }

    /// Begins the end at once: what waits is dropped.
    pub fn close_now(&self, code: u16, reason: &str) {
        if !self.state.get().is_closing {
            self.out.borrow_mut().clear();
            self.close(code, reason);
        }
    }

    /// Writes a close frame with this payload, as the answer to one of the client.
    pub fn answer_close(&self, payload: Vec<u8>) {
        self.change(|state| state.is_closing = true);
        let frame = SocketMessage::Close(Payload::Own(payload.into()));
        self.out.borrow_mut().push(frame);
        self.wake();
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.get();
        change(&mut state);
        self.state.set(state);
    }

    /// Has the connection polled, unless that is happening: what its own handlers send needs no second turn.
    pub fn wake(&self) {
        if self.state.get().is_in_turn {
            return;
        }
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Begins a turn of the connection. At its end the connection writes what there is; what is sent after
    /// [`Socket::end_turn`] wakes `cx`.
    pub fn begin_turn(&self, cx: &Context<'_>) {
        self.change(|state| state.is_in_turn = true);
        let mut waker = self.waker.borrow_mut();
        let is_known = waker
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()));
        if !is_known {
            *waker = Some(cx.waker().clone());
        }
    }

    /// Ends a turn of the connection.
    pub fn end_turn(&self) {
        self.change(|state| state.is_in_turn = false);
    }

    /// Lets the connection see what is to be written.
    pub fn outgoing<R>(&self, see: impl FnOnce(&mut Outgoing) -> R) -> R {
        see(&mut self.out.borrow_mut())
    }

    /// Takes note of whether the client reads as fast as is written. True if a drain is to be told of.
    pub fn set_blocked(&self, is_blocked: bool) -> bool {
        let mut state = self.state.get();
        state.is_blocked = is_blocked;
        let is_drained = !is_blocked && state.was_held_back && self.out.borrow().is_empty();
        if is_drained {
            state.was_held_back = false;
        }
        self.state.set(state);
        is_drained
    }

    /// The connection has ended: nothing is sent any more, and what was attached is dropped.
    pub fn end(&self) {
        self.change(|state| {
            state.is_closing = true;
            state.is_over = true;
        });
        *self.out.borrow_mut() = Outgoing::default();
        self.count_by(|| None);
        self.waker.borrow_mut().take();
        self.attached.clear();
    }
}

impl ConnectedClient for Socket {
    fn values(&self) -> &Attached {
        &self.attached
    }

    fn is_over(&self) -> bool {
        self.state.get().is_over
    }
}
