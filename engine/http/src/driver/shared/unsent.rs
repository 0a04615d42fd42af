//! The bytes that clients have not read yet, counted for a whole server and for each client address.
//!
//! A connection is counted from the first write that left something over, so answers that go out at once cost nothing
//! here. Over a limit the connections whose clients read slowest are closed: those that have taken nothing for the
//! longest time.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use socket2::SockRef;

use crate::answer::ClosedUnread;
use crate::driver::runtime::SharedSocket;
use crate::limits::Limits;
use crate::peer::Peer;
use crate::received::ReceivedBytes;

/// Less than this is not counted: the kernel's own buffers are larger.
pub(in crate::driver) const COUNTED_BYTES_MIN: usize = 4 * 1024;

/// The memory that the clients of a server have it keep, shared by its workers: what they have not read, and what they
/// have sent.
#[derive(Debug)]
pub struct ClientBytes {
    bytes_max: usize,
    client_bytes_max: usize,
    counts: Mutex<Counts>,
    pub(in crate::driver) received: Arc<ReceivedBytes>,
}

#[derive(Default)]
struct Counts {
    connections: Slab<UnsentConnection>,
    bytes: usize,
    clients: HashMap<IpAddr, usize>,
    closed: u64,
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counts")
            .field("bytes", &self.bytes)
            .finish()
    }
}

/// A connection whose client has bytes to read.
struct UnsentConnection {
    peer: Peer,
    bytes: usize,
    /// The time at which its client last took bytes, on the process clock.
    moved_millis: u64,
    /// True once it was closed: what it gets until its worker drops it does not count.
    is_closed: bool,
    socket: SharedSocket,
}

impl ClientBytes {
    /// Returns counters with the limits of a server.
    pub fn new(limits: &Limits) -> Arc<ClientBytes> {
        let bytes_max = limits.unsent_bytes_max();
        Arc::new(ClientBytes {
            bytes_max,
            client_bytes_max: limits.unsent_bytes_per_client_max(),
            counts: Mutex::default(),
            received: ReceivedBytes::new(limits),
        })
    }

    /// The bytes that wait for clients now.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Returns the number of connections that were closed because of the limits.
    pub fn closed(&self) -> u64 {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Sets what one connection holds.
    fn set(&mut self, key: usize, bytes: usize) {
        let Some(waiting) = self.connections.get_mut(key) else {
            return;
        };
        let before = std::mem::replace(&mut waiting.bytes, bytes);
        self.bytes = self.bytes + bytes - before;
        if let Some(client) = waiting.peer.ip() {
            let of_client = self.clients.entry(client).or_default();
            *of_client = *of_client + bytes - before;
            if *of_client == 0 {
                self.clients.remove(&client);
            }
        }
    }

    /// Closes the slowest connection of a client, or of all.
    fn close_slowest(&mut self, client: Option<IpAddr>, now: u64) -> Option<ClosedUnread> {
        let of_client =
            |waiting: &UnsentConnection| client.is_none() || waiting.peer.ip() == client;
        let (key, slowest) = self
            .connections
            .iter()
            .filter(|(_, waiting)| waiting.bytes > 0 && of_client(waiting))
            .min_by_key(|(_, waiting)| (waiting.moved_millis, usize::MAX - waiting.bytes))?;
        // Its worker sees that and drops the connection, with all that it holds. Fails only where the client has gone
        // already.
        let _ = SockRef::from(&slowest.socket).shutdown(Shutdown::Both);
        let closed = ClosedUnread {
            peer: slowest.peer,
            bytes: slowest.bytes,
            still_millis: now.saturating_sub(slowest.moved_millis),
            limit: ("", 0),
            closed: self.closed + 1,
        };
        self.closed += 1;
        self.set(key, 0);
        if let Some(waiting) = self.connections.get_mut(key) {
            waiting.is_closed = true;
        }
        Some(closed)
    }
}

/// The part of one connection in the counts; it ends with the connection, or when everything has been sent.
pub(in crate::driver) struct UnsentPart {
    of: Arc<ClientBytes>,
    key: usize,
    /// The most bytes that the connection has held.
    bytes: usize,
}

impl UnsentPart {
    /// Begins to count a connection.
    pub(in crate::driver) fn new(
        of: Arc<ClientBytes>,
        peer: Peer,
        socket: SharedSocket,
    ) -> UnsentPart {
        let key = of.lock().connections.insert(UnsentConnection {
            peer,
            bytes: 0,
            moved_millis: 0,
            is_closed: false,
            socket,
        });
        UnsentPart { of, key, bytes: 0 }
    }

    /// Returns the most bytes that the connection has held.
    pub(in crate::driver) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes how many bytes the connection holds now.
    pub(in crate::driver) fn grew_to(&mut self, bytes: usize) {
        self.bytes = self.bytes.max(bytes);
    }

    /// Notes what the connection holds. `has_moved` says that its client has just taken something. `now` is on the
    /// process clock, since connections of other workers are compared. Returns the connections that were closed.
    pub(in crate::driver) fn set(
        &self,
        bytes: usize,
        has_moved: bool,
        now: u64,
    ) -> Vec<ClosedUnread> {
        let mut counts = self.of.lock();
        let waiting = counts.connections.get_mut(self.key);
        let Some(waiting) = waiting.filter(|waiting| !waiting.is_closed) else {
            return Vec::new();
        };
        if has_moved || waiting.bytes == 0 {
            waiting.moved_millis = now;
        }
        let client = waiting.peer.ip();
        counts.set(self.key, bytes);
        let mut closed = Vec::new();
        if let Some(client) = client {
            while counts.clients.get(&client).copied().unwrap_or(0) > self.of.client_bytes_max {
                let limit = ("unsent_bytes_per_client_max", self.of.client_bytes_max);
                let Some(one) = counts.close_slowest(Some(client), now) else {
                    break;
                };
                closed.push(ClosedUnread { limit, ..one });
            }
        }
        while counts.bytes > self.of.bytes_max {
            let limit = ("unsent_bytes_max", self.of.bytes_max);
            let Some(one) = counts.close_slowest(None, now) else {
                break;
            };
            closed.push(ClosedUnread { limit, ..one });
        }
        closed
    }
}

impl Drop for UnsentPart {
    fn drop(&mut self) {
        let mut counts = self.of.lock();
        counts.set(self.key, 0);
        let waiting = counts.connections.try_remove(self.key);
        drop(counts);
        drop(waiting);
    }
}
