//! The part of a worker that other threads use: sockets go in, counts come out, and the end is announced.

pub(super) mod unsent;

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use slab::Slab;
use socket2::SockRef;
use tokio::sync::Notify;

use self::unsent::ClientBytes;
use super::clock::process_millis;
use super::parking::Parking;
use super::runtime::SharedSocket;
use crate::tls::Tls;

/// A worker that has not ticked for longer than this is not given connections while another has.
pub(crate) const RESPONSIVE_MILLIS_MAX: u64 = 50;

/// The part of a connection before its first request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening<'a> {
    /// The client begins with a handshake.
    pub tls: Option<&'a Tls>,
    /// The other end is a proxy that tells the client's address before anything else, by the PROXY protocol.
    pub is_proxied: bool,
}

/// A socket on its way to the worker.
pub(super) struct Incoming {
    pub(super) socket: TcpStream,
    /// Of the listener that it comes from.
    pub(super) tls: Option<Tls>,
    /// True if a proxy tells the client's address first.
    pub(super) is_proxied: bool,
    /// True if it is only to be told 503.
    pub(super) is_refused: bool,
}

/// Sockets that the worker has not picked up yet; closed from its end on.
#[derive(Default)]
struct Inbox {
    sockets: Vec<Incoming>,
    closed: bool,
}

pub(super) struct Shared {
    inbox: Mutex<Inbox>,
    /// Wakes the worker's loop.
    pub(super) notify: Notify,
    /// Served connections, those in the inbox included, so that the acceptor sees its own work at once.
    pub(super) connections: AtomicUsize,
    pub(super) refused: AtomicUsize,
    pub(super) requests: AtomicU64,
    /// The time of the worker's last tick, on the process clock.
    pub(super) ticked_millis: AtomicU64,
    /// Set while the worker waits for events and therefore does not tick.
    pub(super) calm: AtomicBool,
    pub(super) leaving: AtomicBool,
    pub(super) shutdown: AtomicBool,
    pub(super) abandoned: AtomicBool,
    /// The memory that clients have this worker and those beside it keep.
    pub(super) clients: Arc<ClientBytes>,
    /// The idle connections of this worker and of those beside it.
    pub(super) parking: Option<Arc<Parking>>,
    /// All open sockets, for [`WorkerHandle::abandon`]. Locked only where a connection begins or ends, never
    /// while a handler runs, so a worker that is stuck in one does not hold it. A socket is closed after it
    /// was taken out of here; a number that the system has given to another file is never shut down.
    sockets: Mutex<Slab<SharedSocket>>,
}

/// A lock that a panic elsewhere does not take away: what it protects is whole between any two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Shared {
    pub(super) fn new(clients: Arc<ClientBytes>, parking: Option<Arc<Parking>>) -> Shared {
        Shared {
            inbox: Mutex::default(),
            notify: Notify::new(),
            connections: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            ticked_millis: AtomicU64::new(process_millis()),
            calm: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            shutdown: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            clients,
            parking,
            sockets: Mutex::new(Slab::new()),
        }
    }

    /// Counts one request. Only the worker's own thread writes, so no locked instruction is needed.
    #[inline]
    pub(super) fn count_request(&self) {
        self.requests
            .store(self.requests.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn take_inbox(&self) -> Vec<Incoming> {
        std::mem::take(&mut lock(&self.inbox).sockets)
    }

    /// From now on sockets are refused; those that wait are closed.
    pub(super) fn close_inbox(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.closed = true;
        for incoming in std::mem::take(&mut inbox.sockets) {
            self.count_out(incoming.is_refused);
        }
    }

    pub(super) fn count_out(&self, was_refused: bool) {
        let counter = if was_refused {
            &self.refused
        } else {
            &self.connections
        };
        counter.fetch_sub(1, Relaxed);
    }

    pub(super) fn add_socket(&self, socket: SharedSocket) -> usize {
        lock(&self.sockets).insert(socket)
    }

    pub(super) fn remove_socket(&self, key: usize) {
        let socket = lock(&self.sockets).remove(key);
        drop(socket);
    }
}

/// The handle of a [`Worker`](crate::Worker), for any thread.
#[derive(Clone)]
pub struct WorkerHandle(pub(super) Arc<Shared>);

impl WorkerHandle {
    /// Hands over an accepted socket.
    ///
    /// # Errors
    /// The socket, if the worker has ended or is about to.
    pub fn give(&self, socket: TcpStream, opening: Opening<'_>) -> Result<(), TcpStream> {
        self.put(socket, opening, false)
    }

    /// Hands over a socket that is to be answered 503 and closed.
    ///
    /// # Errors
    /// As [`WorkerHandle::give`].
    pub fn refuse(&self, socket: TcpStream, opening: Opening<'_>) -> Result<(), TcpStream> {
        self.put(socket, opening, true)
    }

    fn put(
        &self,
        socket: TcpStream,
        opening: Opening<'_>,
        is_refused: bool,
    ) -> Result<(), TcpStream> {
        {
            let mut inbox = lock(&self.0.inbox);
            if inbox.closed {
                return Err(socket);
            }
            let counter = if is_refused {
                &self.0.refused
            } else {
                &self.0.connections
            };
            counter.fetch_add(1, Relaxed);
            inbox.sockets.push(Incoming {
                socket,
                tls: opening.tls.cloned(),
                is_proxied: opening.is_proxied,
                is_refused,
            });
        }
        self.0.notify.notify_one();
        Ok(())
    }

    /// Connections being served, or about to be.
    pub fn connections(&self) -> usize {
        self.0.connections.load(Relaxed)
    }

    /// Connections being refused.
    pub fn refused(&self) -> usize {
        self.0.refused.load(Relaxed)
    }

    /// Requests that have reached the handler since the start.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Relaxed)
    }

    /// The bytes that clients of the worker, and of those that share its counts, have not read yet.
    pub fn unsent(&self) -> &ClientBytes {
        &self.0.clients
    }

    /// Returns the idle connections that the worker shares with those beside it, if it does.
    pub fn parking(&self) -> Option<&Arc<Parking>> {
        self.0.parking.as_ref()
    }

    /// Returns the time since the worker last ticked, in milliseconds. It ticks about every 20 ms while there is
    /// anything to do; one that waits for events counts as just ticked.
    pub fn last_tick_millis(&self) -> u64 {
        if self.0.calm.load(Relaxed) {
            0
        } else {
            process_millis().saturating_sub(self.0.ticked_millis.load(Relaxed))
        }
    }

    /// Reports whether the worker reacts at the moment, and so should be given connections.
    pub fn is_responsive(&self) -> bool {
        self.last_tick_millis() <= RESPONSIVE_MILLIS_MAX
    }

    /// Has each connection closed after its next answer. Idle ones stay open, so that no request meets a connection
    /// that is being closed. [`WorkerHandle::shutdown`] follows.
    pub fn leave(&self) {
        self.0.leaving.store(true, Relaxed);
        self.0.notify.notify_one();
    }

    /// Begins the end: idle connections are closed, requests in flight are finished (for at most
    /// `shutdown_millis_max`), then [`Worker::run`](crate::Worker::run) returns. Sockets may still be given:
    /// a request that has already arrived on one is answered.
    pub fn shutdown(&self) {
        self.0.shutdown.store(true, Relaxed);
        self.0.notify.notify_one();
    }

    /// Gives up a worker that is stuck in a handler, from another thread: its clients see their connections
    /// close, and it takes no more. Should it come back to life it ends without a further answer.
    pub fn abandon(&self) {
        self.0.abandoned.store(true, Relaxed);
        self.0.close_inbox();
        for (_, socket) in lock(&self.0.sockets).iter() {
            // Fails only where the client has closed already.
            let _ = SockRef::from(socket).shutdown(Shutdown::Both);
        }
        self.0.notify.notify_one();
    }
}

impl std::fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerHandle")
            .field("connections", &self.connections())
            .field("requests", &self.requests())
            .finish()
    }
}
