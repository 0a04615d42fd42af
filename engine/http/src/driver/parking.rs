//! The parked connections of a server: those that have been idle for a second, which belong to no worker.
//!
//! A worker that runs a script answers none of its connections meanwhile. So an idle connection leaves its worker: its
//! socket waits in an epoll set that all workers watch, and a worker that waits for events takes the next one that has
//! become readable. A worker that is busy does not look. Each socket is reported once (`EPOLLONESHOT`), so one worker
//! takes it.
//!
//! The others that wait are woken too and find nothing: `EPOLLEXCLUSIVE`, by which the kernel wakes one alone, is
//! refused for a set that lies in another one (epoll_ctl(2)). It is one wakeup for each idle worker, and a busy one has
//! none.
//!
//! A parked connection costs its socket and a [`Parked`]: it has no task, no buffer and no place in a worker.

mod watch;

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{Timespec, epoll};
use slab::Slab;

pub(super) use self::watch::ParkingWatch;
use super::clock::process_millis;
use super::deadlines::NEVER;
use super::transport::RestingSession;
use crate::peer::Peer;

/// The time that a connection is idle before it leaves its worker.
pub(super) const PARKS_AFTER_MILLIS: u64 = 1_000;

/// The shortest time between two looks at the deadlines of all parked connections.
const SWEEP_PAUSE_MILLIS: u64 = 100;

/// A connection without a worker.
pub(super) struct Parked {
    pub(super) socket: TcpStream,
    /// The session of a connection over TLS.
    pub(super) tls: Option<RestingSession>,
    /// The client, or the one that a proxy has told.
    pub(super) peer: Peer,
    /// True if the peer is a proxy that has named no client.
    pub(super) is_unnamed: bool,
    /// A request has come before, so that HTTP/2 cannot begin any more.
    pub(super) has_served: bool,
    /// The time at which it is closed if nothing comes, on the process clock.
    pub(super) ends_at: u64,
}

impl Parked {
    /// Closes the socket, after the end of the session where there is one.
    fn end(self) {
        if let Some(tls) = self.tls {
            tls.say_end(&self.socket);
        }
    }
}

struct ParkingPlaces {
    parked: Slab<Parked>,
    /// The time at which all are closed, on the process clock.
    closes_at: u64,
}

/// The connections that all workers of a server share while they are idle.
pub struct Parking {
    /// Readable while a parked connection is.
    epoll: OwnedFd,
    /// Held for moments, never while a handler runs.
    places: Mutex<ParkingPlaces>,
    /// The number of parked connections. A connection that moves is counted on both sides for a moment.
    count: AtomicUsize,
    /// No parked connection ends before this time on the process clock.
    sweep_at: AtomicU64,
}

impl std::fmt::Debug for Parking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parking").field("len", &self.len()).finish()
    }
}

impl Parking {
    /// Creates the parking of a server.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            places: Mutex::new(ParkingPlaces {
                parked: Slab::new(),
                closes_at: NEVER,
            }),
            count: AtomicUsize::new(0),
            sweep_at: AtomicU64::new(NEVER),
        })
    }

    /// Returns the number of parked connections.
    pub fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Reports whether no connection is parked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Parks a connection.
    ///
    /// # Errors
    /// The connection, if the server is about to end or the system has no room for it.
    pub(super) fn park(&self, parked: Parked) -> Result<(), Parked> {
        let mut places = self.places();
        if places.closes_at != NEVER {
            return Err(parked);
        }
        let ends_at = parked.ends_at;
        let key = places.parked.insert(parked);
        // Under the lock: a worker that sees the event finds the connection.
        let events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        let socket = &places.parked[key].socket;
        let data = epoll::EventData::new_u64(key as u64);
        if epoll::add(&self.epoll, socket, data, events).is_err() {
            return Err(places.parked.remove(key));
        }
        self.count.fetch_add(1, Relaxed);
        self.sweep_at.fetch_min(ends_at, Relaxed);
        Ok(())
    }

    /// Takes a connection that has become readable, and counts it in `connections` from then on.
    pub(super) fn take(&self, connections: &AtomicUsize) -> Option<Parked> {
        loop {
            let key = self.next_event()?;
            let mut places = self.places();
            // Its place may be free, or that of another, if it was closed after the event: one that is taken without
            // an event waits at its worker.
            if let Some(parked) = places.parked.try_remove(key) {
                let _ = epoll::delete(&self.epoll, &parked.socket);
                connections.fetch_add(1, Relaxed);
                self.count.fetch_sub(1, Relaxed);
                return Some(parked);
            }
        }
    }

    /// Returns the place of the next connection that has become readable.
    fn next_event(&self) -> Option<usize> {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        loop {
            match epoll::wait(&self.epoll, &mut events, Some(&Timespec::default())) {
                Ok(0) => return None,
                Ok(_) => return Some(events[0].data.u64() as usize),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Parks no more, and closes all that are still parked after this time. Requests that come until then are taken.
    pub(super) fn close_after(&self, millis: u64) {
        let mut places = self.places();
        if places.closes_at == NEVER {
            places.closes_at = process_millis() + millis;
        }
        self.sweep_at.fetch_min(places.closes_at, Relaxed);
    }

    /// Returns the time until [`Parking::sweep`] may find something, in milliseconds.
    pub(super) fn until_sweep(&self) -> u64 {
        self.sweep_at.load(Relaxed).saturating_sub(process_millis())
    }

    /// Closes the connections whose time is over. The workers call it with each tick.
    pub(super) fn sweep(&self, now: u64) {
        if now < self.sweep_at.load(Relaxed) {
            return;
        }
        let mut ended = Vec::new();
        {
            let mut places = self.places();
            let closes_at = places.closes_at;
            let mut earliest = NEVER;
            let mut over = Vec::new();
            for (key, parked) in &places.parked {
                let ends_at = parked.ends_at.min(closes_at);
                if ends_at <= now {
                    over.push(key);
                } else {
                    earliest = earliest.min(ends_at);
                }
            }
            for key in over {
                let parked = places.parked.remove(key);
                let _ = epoll::delete(&self.epoll, &parked.socket);
                ended.push(parked);
            }
            let next = earliest
                .max(now + SWEEP_PAUSE_MILLIS)
                .min(closes_at.max(now + 1));
            self.sweep_at
                .store(if earliest == NEVER { NEVER } else { next }, Relaxed);
        }
        // Outside of the lock: other workers go on.
        let count = ended.len();
        ended.into_iter().for_each(Parked::end);
        self.count.fetch_sub(count, Relaxed);
    }

    fn places(&self) -> MutexGuard<'_, ParkingPlaces> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
