//! The shared state of the connections of one worker share on its thread: limits, handler, clock, deadlines, buffers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::clock::{Clock, process_millis};
use super::deadlines::Deadlines;
use super::departures::{Departure, Departures};
use super::parking::Parking;
use super::pool::BufferPool;
use super::shared::Shared;
use crate::answer::{Handler, HandlerSlot};
use crate::codec::fault::Exceeded;
use crate::limits::Limits;
use crate::peer::Peer;
use crate::received::MessageRoom;
use crate::response::{Response, WorkerMoment};

/// The time between two ticks of a worker that has something to do. Deadlines are that coarse.
const TICK_MILLIS: u64 = 20;

/// A worker without events for so many ticks stops ticking until there are any, so that an idle process
/// sleeps. It still wakes for the earliest deadline.
const QUIET_TICKS_MAX: u32 = 3;

/// The allocator is told to give memory back after answers of so many bytes were freed.
const FREED_BYTES_MIN: usize = 16 * 1024 * 1024;

/// The longest sleep of a calm worker.
const CALM_MILLIS_MAX: u64 = 60_000;

pub(super) struct Local {
    pub(super) limits: Arc<Limits>,
    pub(super) shared: Arc<Shared>,
    pub(super) handlers: HandlerSlot,
    pub(super) clock: Clock,
    pub(super) deadlines: Deadlines,
    /// Takes idle connections, if workers share any.
    pub(super) parking: Option<Arc<Parking>>,
    /// The moments at which connections end that last, once the worker leaves.
    pub(super) departures: Departures,
    /// Streams of HTTP/2 that handlers have taken over.
    pub(super) tunnels: Cell<usize>,
    pub(super) pool: BufferPool,
    /// The buffer for bytes that are dropped.
    pub(super) waste: RefCell<Vec<u8>>,
    /// Connections without TLS may begin as HTTP/2.
    pub(super) takes_h2c: bool,
    /// The worker is about to end: idle connections are closed.
    pub(super) draining: Cell<bool>,
    /// No connection is kept alive after its answer. Set before `draining`, or with it.
    pub(super) leaving: Cell<bool>,
    /// The worker ends now: connections end where they are.
    pub(super) killed: Cell<bool>,
    /// True if a connection has run since the last tick, and how many ticks ago one has.
    active: Cell<bool>,
    quiet_ticks: Cell<u32>,
    /// Bytes of large answers that were freed since the allocator was told to give memory back.
    freed_bytes: Cell<usize>,
    calm: Cell<bool>,
}

impl Local {
    pub(super) fn new(
        limits: Arc<Limits>,
        shared: Arc<Shared>,
        handlers: HandlerSlot,
        takes_h2c: bool,
        parking: Option<Arc<Parking>>,
    ) -> Local {
        Local {
            takes_h2c,
            limits,
            shared,
            handlers,
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            parking,
            departures: Departures::default(),
            tunnels: Cell::new(0),
            pool: BufferPool::default(),
            waste: RefCell::new(Vec::new()),
            draining: Cell::new(false),
            leaving: Cell::new(false),
            killed: Cell::new(false),
            active: Cell::new(false),
            quiet_ticks: Cell::new(0),
            freed_bytes: Cell::new(0),
            calm: Cell::new(false),
        }
    }

    /// Builds the answer of the server itself with a status; a 503 says when to come again.
    pub(super) fn refusal(&self, status: u16, limit: Option<Exceeded>) -> Response {
        let mut response = self.handler().error(status, limit);
        if status == 503 {
            let seconds = self.limits.retry_after_seconds.to_string();
            // Fails only where the handler's own headers leave no room; then those are what the client gets.
            let _ = response.set_header(b"Retry-After", seconds.as_bytes());
        }
        response
    }

    /// The handler for the next request.
    pub(super) fn handler(&self) -> Rc<dyn Handler> {
        self.handlers.current()
    }

    /// Begins to let what lasts go, over `span_millis`.
    pub(super) fn begin_departures(&self, span_millis: u64) {
        let count = self.deadlines.len() + self.tunnels.get();
        self.departures.begin(self.now_millis(), span_millis, count);
    }

    /// Reports whether a connection that lasts, or a tunnel, is to end.
    pub(super) fn lets_go(&self, departure: &Departure) -> bool {
        self.leaving.get() && departure.at(&self.departures) <= self.now_millis()
    }

    /// Returns the room of a message that arrives over an upgraded connection, see [`MessageRoom`].
    pub(super) fn message_room(&self, peer: Peer, uncounted_max: usize) -> MessageRoom {
        MessageRoom::new(&self.shared.clients.received, peer, uncounted_max)
    }

    /// Returns the time, in milliseconds, in which so many bytes of a body must come.
    pub(super) fn body_pace(&self) -> (u64, usize) {
        (
            self.limits.body_idle_millis_max,
            self.limits.progress_bytes_min,
        )
    }

    pub(super) fn now_millis(&self) -> u64 {
        self.clock.now_millis()
    }

    /// Returns the worker's state, for a stream that is about to be polled.
    pub(super) fn moment(&self) -> WorkerMoment {
        WorkerMoment {
            now_millis: self.now_millis(),
            ends_over_millis: self.leaving.get().then_some(self.limits.drain_millis),
        }
    }

    /// Reports whether connections end where they are, without a further answer.
    pub(super) fn has_ended(&self) -> bool {
        self.killed.get() || self.shared.abandoned.load(Relaxed)
    }

    /// Notes that a connection no longer holds so many bytes.
    pub(super) fn note_freed(&self, bytes: usize) {
        self.freed_bytes
            .set(self.freed_bytes.get().saturating_add(bytes));
    }

    /// Called whenever a connection runs: the clock is never older than one tick there.
    #[inline]
    pub(super) fn touch(&self) {
        self.active.set(true);
        if self.calm.get() {
            self.leave_calm();
            // The loop sleeps for long; it must begin to tick.
            self.shared.notify.notify_one();
        }
    }

    fn leave_calm(&self) {
        self.calm.set(false);
        self.quiet_ticks.set(0);
        let now = self.clock.update(true);
        self.shared.ticked_millis.store(now, Relaxed);
        self.shared.calm.store(false, Relaxed);
        self.handler().ticked(now);
    }

    /// One tick: reads the clock, shows that the worker is alive, wakes connections whose time is up.
    /// Returns how long to sleep until the next.
    pub(super) fn tick(&self) -> Duration {
        if self.calm.get() {
            self.leave_calm();
        } else {
            let now = self.clock.update(false);
            self.shared.ticked_millis.store(now, Relaxed);
            self.handler().ticked(now);
        }
        self.deadlines.sweep(self.now_millis());
        if self.freed_bytes.get() >= FREED_BYTES_MIN {
            self.freed_bytes.set(0);
            self.handler().memory_freed();
        }
        if self.active.replace(false) || self.leaving.get() {
            self.quiet_ticks.set(0);
        } else {
            self.quiet_ticks.set(self.quiet_ticks.get() + 1);
        }
        let mut until_deadline = self.deadlines.earliest().saturating_sub(self.now_millis());
        if let Some(parking) = &self.parking {
            parking.sweep(process_millis());
            until_deadline = until_deadline.min(parking.until_sweep());
        }
        if self.quiet_ticks.get() < QUIET_TICKS_MAX || until_deadline <= TICK_MILLIS {
            return Duration::from_millis(TICK_MILLIS);
        }
        self.calm.set(true);
        self.shared.calm.store(true, Relaxed);
        Duration::from_millis(until_deadline.min(CALM_MILLIS_MAX))
    }
}
