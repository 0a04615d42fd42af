//! The sockets of one server, and what waits for JavaScript.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::task::Waker;

use sampan_http::websocket::{CloseFrame, Deflaters, Opcode, codes};
use slab::Slab;

use super::outgoing::{Outgoing, frame};
use crate::serve::exchanges::Key;

/// The rules for sockets, as the program gave them.
#[derive(Clone, Debug)]
pub(super) struct SocketSettings {
    pub(super) message_bytes_max: usize,
    pub(super) backpressure_bytes_max: usize,
    /// True if a socket above that is closed; else messages are dropped.
    pub(super) closes_on_backpressure: bool,
    /// The longest silence of a client, in milliseconds; 0 for any.
    pub(super) idle_millis_max: u64,
    pub(super) sends_pings: bool,
    pub(super) compress: bool,
    pub(super) publishes_to_self: bool,
}

/// An event on its way to JavaScript.
pub(super) enum SocketEvent {
    Open,
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    Drain,
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(CloseFrame),
}

/// The fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A message that leaves with the next turn.
    Sent,
    /// A message that waits for a client that does not read.
    Queued,
    /// A message that is lost: the socket is closed, or too much waits.
    Dropped,
}

/// The end of a socket, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Open,
    /// The close frame is among what waits.
    Closing,
    /// The connection ends at once.
    Terminated,
}

/// One socket.
pub(super) struct SocketState {
    pub(super) key: Key,
    pub(super) settings: Rc<SocketSettings>,
    /// The window of compressed messages, if they were agreed on.
    pub(super) window_bits: Option<u8>,
    pub(super) out: RefCell<Outgoing>,
    pub(super) stage: Cell<Stage>,
    /// The content of our close frame, which repeats the client's if that came first.
    pub(super) closed_by_us: RefCell<Option<CloseFrame>>,
    /// True while the client does not take what is written.
    pub(super) is_blocked: Cell<bool>,
    /// Events that JavaScript has not taken.
    pub(super) waiting_events: Cell<u32>,
    pub(super) waiting_bytes: Cell<usize>,
    pub(super) waker: Cell<Option<Waker>>,
    topics: RefCell<BTreeSet<String>>,
}

impl SocketState {
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Reports whether a frame of so many bytes may be added; closes the socket if it is to be closed above the limit.
    fn has_room(&self, bytes: usize) -> bool {
        if self.stage.get() != Stage::Open {
            return false;
        }
        if self.out.borrow().len() + bytes <= self.settings.backpressure_bytes_max {
            return true;
        }
        if self.settings.closes_on_backpressure {
            self.out.borrow_mut().clear_behind_first();
            self.close(&CloseFrame::new(
                codes::TRY_LATER,
                "the client does not read",
            ));
        }
        false
    }

    fn sent(&self) -> Fate {
        self.wake();
        match self.is_blocked.get() {
            true => Fate::Queued,
            false => Fate::Sent,
        }
    }

    /// Adds a frame.
    pub(super) fn send(&self, frame: Vec<u8>) -> Fate {
        if !self.has_room(frame.len()) {
            return Fate::Dropped;
        }
        self.out.borrow_mut().push(frame);
        self.sent()
    }

    fn send_shared(&self, frame: &Rc<[u8]>) -> Fate {
        if !self.has_room(frame.len()) {
            return Fate::Dropped;
        }
        self.out.borrow_mut().push_shared(frame);
        self.sent()
    }

    /// Closes the socket, behind what was sent before.
    pub(super) fn close(&self, close: &CloseFrame) {
        if self.stage.get() != Stage::Open {
            return;
        }
        self.stage.set(Stage::Closing);
        let frame = frame(Opcode::Close, false, &close.payload());
        self.out.borrow_mut().push(frame);
        self.closed_by_us.replace(Some(close.clone()));
        self.wake();
    }

    /// Ends the connection without a close frame.
    pub(super) fn terminate(&self) {
        self.stage.set(Stage::Terminated);
        self.wake();
    }
}

/// The sockets of one server.
#[derive(Default)]
pub(in crate::serve) struct Sockets {
    open: RefCell<Slab<Rc<SocketState>>>,
    last_serial: Cell<u32>,
    pub(super) settings: RefCell<Option<Rc<SocketSettings>>>,
    events: RefCell<VecDeque<(Rc<SocketState>, SocketEvent)>>,
    topics: RefCell<HashMap<String, BTreeSet<u32>>>,
    deflaters: Deflaters,
    /// Room for reads, while none runs.
    pub(super) room: Cell<Vec<u8>>,
}

impl Sockets {
    /// Adds a socket.
    pub(super) fn begin(
        &self,
        settings: Rc<SocketSettings>,
        window_bits: Option<u8>,
    ) -> Rc<SocketState> {
        let serial = self.last_serial.get().wrapping_add(1) & i32::MAX as u32;
        self.last_serial.set(serial);
        let mut open = self.open.borrow_mut();
        let entry = open.vacant_entry();
        let state = Rc::new(SocketState {
            key: Key {
                place: entry.key() as u32,
                serial,
            },
            settings,
            window_bits,
            out: RefCell::default(),
            stage: Cell::new(Stage::Open),
            closed_by_us: RefCell::default(),
            is_blocked: Cell::default(),
            waiting_events: Cell::default(),
            waiting_bytes: Cell::default(),
            waker: Cell::default(),
            topics: RefCell::default(),
        });
        entry.insert(Rc::clone(&state));
        state
    }

    pub(super) fn find(&self, key: Key) -> Option<Rc<SocketState>> {
        let open = self.open.borrow();
        let state = open.get(key.place as usize)?;
        (state.key == key).then(|| Rc::clone(state))
    }

    /// Forgets a socket that has ended.
    pub(super) fn end(&self, state: &SocketState) {
        for topic in state.topics.take() {
            self.leave(state.key, &topic);
        }
        if self.find(state.key).is_some() {
            self.open.borrow_mut().remove(state.key.place as usize);
        }
        state.stage.set(Stage::Terminated);
    }

    /// Adds an event for JavaScript.
    pub(super) fn tell(&self, state: &Rc<SocketState>, event: SocketEvent) {
        let bytes = payload(&event).len();
        state.waiting_events.set(state.waiting_events.get() + 1);
        state.waiting_bytes.set(state.waiting_bytes.get() + bytes);
        self.events
            .borrow_mut()
            .push_back((Rc::clone(state), event));
    }

    /// Reports whether events wait for JavaScript.
    pub(in crate::serve) fn has_events(&self) -> bool {
        !self.events.borrow().is_empty()
    }

    /// Gives the events in their order; `false` from `take` leaves one.
    pub(super) fn deliver(&self, mut take: impl FnMut(Key, &SocketEvent) -> bool) {
        let mut events = self.events.borrow_mut();
        while let Some((state, event)) = events.front() {
            if !take(state.key, event) {
                return;
            }
            let bytes = payload(event).len();
            state.waiting_bytes.set(state.waiting_bytes.get() - bytes);
            let left = state.waiting_events.get() - 1;
            state.waiting_events.set(left);
            if left == 0 {
                state.wake();
            }
            events.pop_front();
        }
    }

    /// Removes the first event, and gives its payload.
    pub(super) fn take_first(&self) -> Vec<u8> {
        let mut found = Vec::new();
        let mut is_first = true;
        self.deliver(|_, event| {
            if std::mem::take(&mut is_first) {
                found = payload(event).to_vec();
                return true;
            }
            false
        });
        found
    }

    /// Compresses a message; nothing if that does not make it shorter.
    pub(super) fn deflate(&self, window_bits: u8, message: &[u8]) -> Option<Vec<u8>> {
        self.deflaters.deflate(window_bits, message)
    }

    /// Makes the frame of a message, compressed if the caller wants that and the client can read it.
    pub(super) fn message(
        &self,
        window_bits: Option<u8>,
        opcode: Opcode,
        payload: &[u8],
        compress: bool,
    ) -> Vec<u8> {
        let bits = window_bits.filter(|_| compress);
        match bits.and_then(|bits| self.deflate(bits, payload)) {
            Some(shorter) => frame(opcode, true, &shorter),
            None => frame(opcode, false, payload),
        }
    }

    pub(super) fn subscribe(&self, state: &SocketState, topic: &str) {
        if state.topics.borrow_mut().insert(topic.to_owned()) {
            let mut topics = self.topics.borrow_mut();
            let members = topics.entry(topic.to_owned()).or_default();
            members.insert(state.key.place);
        }
    }

    pub(super) fn unsubscribe(&self, state: &SocketState, topic: &str) {
        if state.topics.borrow_mut().remove(topic) {
            self.leave(state.key, topic);
        }
    }

    fn leave(&self, key: Key, topic: &str) {
        let mut topics = self.topics.borrow_mut();
        if let Some(members) = topics.get_mut(topic) {
            members.remove(&key.place);
            if members.is_empty() {
                topics.remove(topic);
            }
        }
    }

    pub(super) fn topics_of(&self, state: &SocketState) -> Vec<String> {
        state.topics.borrow().iter().cloned().collect()
    }

    pub(super) fn subscribers(&self, topic: &str) -> usize {
        self.topics.borrow().get(topic).map_or(0, BTreeSet::len)
    }

    /// Sends a message to all subscribers of a topic but `except`. Returns the worst fate of those who got it, or
    /// `Dropped` if no socket did.
    pub(super) fn publish(
        &self,
        topic: &str,
        opcode: Opcode,
        payload: &[u8],
        compress: bool,
        except: Option<Key>,
    ) -> Fate {
        let members = match self.topics.borrow().get(topic) {
            Some(members) => members.clone(),
            None => return Fate::Dropped,
        };
        // One frame for each kind of client.
        let mut frames: Vec<(Option<u8>, Rc<[u8]>)> = Vec::new();
        let mut worst = Fate::Dropped;
        for place in members {
            let Some(state) = self.open.borrow().get(place as usize).cloned() else {
                continue;
            };
            if except == Some(state.key) {
                continue;
            }
            let bits = state.window_bits.filter(|_| compress);
            let known = frames.iter().position(|(own, _)| *own == bits);
            let at = known.unwrap_or_else(|| {
                let frame = self.message(bits, opcode, payload, compress);
                frames.push((bits, frame.into()));
                frames.len() - 1
            });
            worst = match (state.send_shared(&frames[at].1), worst) {
                (Fate::Queued, _) | (_, Fate::Queued) => Fate::Queued,
                (Fate::Sent, _) | (_, Fate::Sent) => Fate::Sent,
                _ => Fate::Dropped,
            };
        }
        worst
    }

    /// Returns the number of sockets.
    pub(super) fn len(&self) -> usize {
        self.open.borrow().len()
    }
}

/// The bytes of an event.
pub(super) fn payload(event: &SocketEvent) -> &[u8] {
    match event {
        SocketEvent::Text(bytes)
        | SocketEvent::Bytes(bytes)
        | SocketEvent::Ping(bytes)
        | SocketEvent::Pong(bytes) => bytes,
        SocketEvent::Close(CloseFrame { reason, .. }) => reason.as_bytes(),
        SocketEvent::Open | SocketEvent::Drain => &[],
    }
}
