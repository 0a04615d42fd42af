//! The connections of a worker.
//!
//! Statements outside of transactions share connections: they are sent behind others without waiting for their
//! answers. A transaction has a connection for itself, which is taken out of the shared ones meanwhile. A connection
//! needs a seat of the process. Nothing here blocks: those who have to wait are futures with a deadline.

mod access;
mod giving;

pub(crate) use access::Access;

use super::connect::{ConnectFault, connect};
use super::deadline::Deadline;
use super::seats::{Process, Seat};
use crate::connection::exchange::{Ask, Exchange, Stake};
use crate::connection::state::Connection;
use crate::connection::wire::Dial;
use crate::limits::PIPELINED_READS;
use sampan_host::{Error, ErrorKind};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most connections that a worker opens at the same time.
const OPENING_MAX: usize = 4;
/// The time until a server that does not answer is tried again, at first and at most.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(2);

/// Takes back what code of the database has left on a connection, as DISCARD ALL does, but keeps prepared statements.
const CLEAN: &str = "CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; \
                     SELECT pg_advisory_unlock_all(); DISCARD TEMP";

/// The use that is made of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A statement that reads. Several share a connection before another is opened.
    Read,
    /// A statement that writes: it waits for the disk.
    Write,
}

/// The connections of a worker.
pub(crate) struct Pool {
    process: Arc<Process>,
    dial: Rc<dyn Dial>,
    slots: RefCell<Vec<Rc<Slot>>>,
    opening: Cell<usize>,
    /// Those of them that have a seat already.
    connecting: Cell<usize>,
    waiting: Cell<usize>,
    fault: RefCell<Option<PoolFault>>,
    /// Rings when a connection was opened, or could not be, or was given back.
    changed: Notify,
    /// Rings when another worker wants a seat.
    wanted: Arc<Notify>,
    has_keeper: Cell<bool>,
}

struct Slot {
    connection: Rc<Connection>,
    /// Held for as long as the connection.
    _seat: Seat,
    /// A transaction has it.
    is_taken: Cell<bool>,
}

/// A connection that may be used.
struct Candidate {
    slot: Rc<Slot>,
    /// The exchanges that are under way on it.
    load: usize,
    /// The number of connections that may be.
    count: usize,
}

/// The reason for which there is no connection.
struct PoolFault {
    fault: ConnectFault,
    /// The time at which the server is tried again.
    again_at: Instant,
    again_after: Duration,
    /// Some have waited for it as long as they may: others fail at once until it has gone.
    is_long: bool,
}

/// A connection that a transaction has for itself.
pub(crate) struct Lease {
    slot: Rc<Slot>,
    access: Rc<Access>,
    pool: Rc<Pool>,
    /// Code has run that may have left settings, locks or temporary tables.
    has_traces: Cell<bool>,
}

impl Lease {
    pub(crate) fn connection(&self) -> &Rc<Access> {
        &self.access
    }

    /// Takes note that code runs which may leave settings, locks or temporary tables.
    pub(crate) fn note_traces(&self) {
        self.has_traces.set(true);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What a transaction has left must not reach others.
        if self.slot.connection.status() != b'I' {
            self.slot.connection.close();
        } else if self.has_traces.get() {
            // Sent before the statements of others, which need not wait for its answer.
            let clean = Exchange::new(Ask::Control(CLEAN.to_owned()), Stake::Nothing);
            self.slot.connection.send(&clean);
        }
        self.slot.connection.set_unlimited(false);
        self.slot.is_taken.set(false);
        self.pool.give_up_idle();
        self.pool.changed.notify_waiters();
    }
}

impl Pool {
    pub(crate) fn new(process: Arc<Process>, dial: Rc<dyn Dial>) -> Rc<Self> {
        let wanted = Arc::new(Notify::new());
        process.register(&wanted);
        Rc::new(Self {
            process,
            dial,
            slots: RefCell::default(),
            opening: Cell::new(0),
            connecting: Cell::new(0),
            waiting: Cell::new(0),
            fault: RefCell::default(),
            changed: Notify::new(),
            wanted,
            has_keeper: Cell::new(false),
        })
    }

    /// Returns a connection for one statement.
    pub(crate) async fn shared(self: &Rc<Self>, use_of: Use) -> Result<Rc<Access>, Error> {
        let slot = self.get(|pool| pool.pick_shared(use_of)).await?;
        Ok(Rc::new(Access::shared(slot)))
    }

    /// Returns a connection for a transaction.
    pub(crate) async fn lease(self: &Rc<Self>) -> Result<Lease, Error> {
        let slot = self.get(Self::pick_own).await?;
        let pool = Rc::clone(self);
        Ok(Lease {
            access: Rc::new(Access::own(Rc::clone(&slot.connection))),
            slot,
            pool,
            has_traces: Cell::new(false),
        })
    }

    /// Returns the connection with the least under way among those that no transaction has.
    fn least_loaded(&self) -> Option<Candidate> {
        let mut slots = self.slots.borrow_mut();
        slots.retain(|slot| !slot.connection.has_ended());
        let mut best: Option<(&Rc<Slot>, usize)> = None;
        let mut count = 0;
        for slot in slots.iter().filter(|slot| !slot.is_taken.get()) {
            count += 1;
            let load = slot.connection.load();
            if best.is_none_or(|(_, least)| load < least) {
                best = Some((slot, load));
            }
        }
        let (slot, load) = best?;
        let slot = Rc::clone(slot);
        Some(Candidate { slot, load, count })
    }

    /// Returns a connection with statements that read and go out in this turn: one more costs no write of its own.
    fn gathering(&self) -> Option<Rc<Slot>> {
        let slots = self.slots.borrow();
        let mut shared = slots.iter().filter(|slot| !slot.is_taken.get());
        let found =
            shared.find(|slot| slot.connection.gathers_reads() && !slot.connection.has_ended());
        found.cloned()
    }

    fn pick_shared(self: &Rc<Self>, use_of: Use) -> Option<Rc<Slot>> {
        if use_of == Use::Read
            && let Some(slot) = self.gathering()
        {
            return Some(slot);
        }
        let best = self.least_loaded()?;
        let enough = match use_of {
            Use::Read => PIPELINED_READS,
            Use::Write => 1,
        };
        if best.load >= enough
            && self.opening.get() == 0
            && self.fault.borrow().is_none()
            && let Some(seat) = self.process.try_seat()
        {
            self.open(Some(seat));
        }
        Some(best.slot)
    }

    fn pick_own(self: &Rc<Self>) -> Option<Rc<Slot>> {
        let best = self.least_loaded()?;
        let is_last = best.count == 1;
        // The last one stays for statements outside of transactions, as long as there is room for another.
        if (is_last || best.load > 0) && self.fault.borrow().is_none() {
            if self.opening.get() < OPENING_MAX
                && let Some(seat) = self.process.try_seat()
            {
                self.open(Some(seat));
                return None;
            }
            // One that has no seat yet may never get one: all workers can wait for each other's last.
            if is_last && self.connecting.get() > 0 {
                return None;
            }
        }
        best.slot.is_taken.set(true);
        Some(best.slot)
    }

    /// Picks a connection, or waits until it can.
    async fn get(
        self: &Rc<Self>,
        pick: impl Fn(&Rc<Self>) -> Option<Rc<Slot>>,
    ) -> Result<Rc<Slot>, Error> {
        if let Some(slot) = pick(self) {
            return Ok(slot);
        }
        let millis = self.process.config.acquire_millis_max;
        let _waiting = self.process.wait().ok_or_else(|| {
            busy("too many requests wait for a connection to PostgreSQL already".to_owned())
        })?;
        let _counted = CountedHere::new(&self.waiting);
        let mut deadline = Deadline::new(Duration::from_millis(millis));
        loop {
            // Made before the look, so that no ring is missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(slot) = pick(self) {
                return Ok(slot);
            }
            let again_at = self.prepare()?;
            if deadline.is_over() {
                return Err(self.too_late(millis));
            }
            let until = again_at.unwrap_or(deadline.at()).min(deadline.at());
            let mut time = pin!(tokio::time::sleep_until(until));
            poll_fn(|cx| {
                let is_ready = changed.as_mut().poll(cx).is_ready();
                match is_ready || time.as_mut().poll(cx).is_ready() {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            })
            .await;
        }
    }

    /// Has a connection opened for those who wait. Returns the time at which to look again, if it is known.
    fn prepare(self: &Rc<Self>) -> Result<Option<Instant>, Error> {
        let most = match &*self.fault.borrow() {
            None => OPENING_MAX,
            Some(fault) => {
                let is_over = Instant::now() >= fault.again_at;
                if !is_over && (fault.is_long || !fault.fault.may_pass) {
                    return Err(fault.fault.error.clone());
                }
                if !is_over {
                    return Ok(Some(fault.again_at));
                }
                1
            }
        };
        if self.opening.get() < most.min(self.waiting.get()) {
            self.open(None);
        }
        Ok(None)
    }

    fn too_late(&self, millis: u64) -> Error {
        if let Some(fault) = &mut *self.fault.borrow_mut() {
            fault.is_long = true;
            return fault.fault.error.clone();
        }
        if self.connecting.get() > 0 && self.slots.borrow().is_empty() {
            let message = format!("PostgreSQL did not answer within {millis} ms");
            return Error::new(ErrorKind::Unavailable, message).with_code("io");
        }
        let max = self.process.config.connections_max;
        busy(format!(
            "no connection to PostgreSQL was free within {millis} ms: the {max} of this process are in transactions, \
             or being opened; end transactions sooner, or allow more ([db] connections_max)"
        ))
    }

    /// Opens a connection, in a task of its own.
    fn open(self: &Rc<Self>, seat: Option<Seat>) {
        self.keep();
        self.opening.set(self.opening.get() + 1);
        let pool = Rc::clone(self);
        drop(tokio::task::spawn_local(async move {
            let opened = pool.opened(seat).await;
            pool.opening.set(pool.opening.get() - 1);
            match opened {
                Ok(Some(slot)) => {
                    *pool.fault.borrow_mut() = None;
                    pool.slots.borrow_mut().push(slot);
                }
                Ok(None) => {}
                Err(fault) => pool.note(fault),
            }
            pool.changed.notify_waiters();
        }));
    }

    async fn opened(&self, seat: Option<Seat>) -> Result<Option<Rc<Slot>>, ConnectFault> {
        let seat = match seat {
            Some(seat) => seat,
            None => match self.process.seat().await {
                Some(seat) if self.waiting.get() > 0 => seat,
                // Those who waited have got another.
                _ => return Ok(None),
            },
        };
        let _connecting = CountedHere::new(&self.connecting);
        let connection = connect(&self.process, &self.dial).await?;
        Ok(Some(Rc::new(Slot {
            connection,
            _seat: seat,
            is_taken: Cell::new(false),
        })))
    }

    fn note(&self, fault: ConnectFault) {
        let mut place = self.fault.borrow_mut();
        let again_after = match &*place {
            Some(before) => (before.again_after * 2).min(AGAIN_AFTER_MAX),
            None => AGAIN_AFTER,
        };
        *place = Some(PoolFault {
            fault,
            again_at: Instant::now() + again_after,
            again_after,
            is_long: place.as_ref().is_some_and(|before| before.is_long),
        });
    }
}

fn busy(message: String) -> Error {
    Error::new(ErrorKind::Unavailable, message).with_code("busy")
}

/// Counted for as long as it lives, on its thread.
struct CountedHere<'a>(&'a Cell<usize>);

impl<'a> CountedHere<'a> {
    fn new(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for CountedHere<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
