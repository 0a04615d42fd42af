//! The memory that bodies of requests hold, counted for a whole server and for each client address.
//!
//! A request is counted from the moment at which its buffer grows beyond [`UNCOUNTED_BYTES_MAX`], so most cost nothing
//! here. One that has no room is refused; those that have begun keep theirs until they are answered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::fault::Exceeded;
use crate::limits::Limits;
use crate::peer::Peer;

/// A buffer of this size is not counted, nor are those that a connection has together: each connection may have one.
pub(crate) const UNCOUNTED_BYTES_MAX: usize = 64 * 1024;

/// The memory of all bodies of a server, shared by its workers.
#[derive(Debug)]
pub(crate) struct ReceivedBytes {
    bytes_max: usize,
    client_bytes_max: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    clients: HashMap<IpAddr, usize>,
}

impl ReceivedBytes {
    /// Returns counters with the limits of a server.
    pub(crate) fn new(limits: &Limits) -> Arc<ReceivedBytes> {
        Arc::new(ReceivedBytes {
            bytes_max: limits.received_bytes_max(),
            client_bytes_max: limits.received_bytes_per_client_max(),
            held: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of one request in the counts; it ends with the buffer of the request.
#[derive(Debug)]
pub(crate) struct ReceivedPart {
    of: Arc<ReceivedBytes>,
    client: Option<IpAddr>,
    bytes: usize,
}

impl ReceivedPart {
    /// Returns the part of a request that holds nothing yet.
    pub(crate) fn new(of: &Arc<ReceivedBytes>, peer: Peer) -> ReceivedPart {
        ReceivedPart {
            of: Arc::clone(of),
            client: peer.ip().map(network),
            bytes: 0,
        }
    }

    /// Returns the part of a copy of the request, which is made however much room there is.
    pub(crate) fn copied(&self) -> ReceivedPart {
        let mut held = self.of.lock();
        held.bytes += self.bytes;
        if let Some(client) = self.client {
            *held.clients.entry(client).or_default() += self.bytes;
        }
        ReceivedPart {
            of: Arc::clone(&self.of),
            client: self.client,
            bytes: self.bytes,
        }
    }

    /// Takes memory for a buffer of so many bytes; a smaller one gives none back.
    ///
    /// # Errors
    /// The limit that does not leave room for it. The request has what it had.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Exceeded> {
        let more = bytes.saturating_sub(self.bytes);
        let mut held = self.of.lock();
        let exceeded = |name, max: usize| Exceeded {
            name,
            max: max as u64,
        };
        let all = held.bytes.saturating_add(more);
        if all > self.of.bytes_max {
            return Err(exceeded("received_bytes_max", self.of.bytes_max));
        }
        if let Some(client) = self.client {
            let of_client = held.clients.get(&client).copied().unwrap_or(0);
            let of_client = of_client.saturating_add(more);
            if of_client > self.of.client_bytes_max {
                let max = self.of.client_bytes_max;
                return Err(exceeded("received_bytes_per_client_max", max));
            }
            held.clients.insert(client, of_client);
        }
        held.bytes = all;
        self.bytes += more;
        Ok(())
    }
}

/// The part of a message that arrives over an upgraded connection in the memory that bodies of requests may hold.
#[derive(Debug)]
pub struct MessageRoom {
    part: ReceivedPart,
    uncounted_max: usize,
}

impl MessageRoom {
    /// Returns the room of a message that does not count while it has at most `uncounted_max` bytes.
    pub(crate) fn new(of: &Arc<ReceivedBytes>, peer: Peer, uncounted_max: usize) -> Self {
        Self {
            part: ReceivedPart::new(of, peer),
            uncounted_max,
        }
    }

    /// Takes memory for a message of so many bytes. Up to 64 KiB do not count, but over HTTP/2, where a connection has
    /// many sockets.
    ///
    /// # Errors
    /// The name of the limit that leaves no room for it.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), &'static str> {
        if bytes <= self.uncounted_max.max(self.part.bytes) {
            return Ok(());
        }
        let grown = self.part.grow_to(bytes);
        grown.map_err(|exceeded| exceeded.name)
    }
}

/// Returns the address that stands for a client: of IPv6 the network, of which a client has all addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(network.into())
        }
        address => address,
    }
}

impl Drop for ReceivedPart {
    fn drop(&mut self) {
        let mut held = self.of.lock();
        held.bytes -= self.bytes;
        let Some(client) = self.client else {
            return;
        };
        if let Some(of_client) = held.clients.get_mut(&client) {
            *of_client -= self.bytes;
            if *of_client == 0 {
                held.clients.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn bytes(all: usize, client: usize) -> Arc<ReceivedBytes> {
        ReceivedBytes::new(&Limits {
            received_bytes_max: all,
            received_bytes_per_client_max: client,
            ..Limits::DEFAULT
        })
    }

    fn part(of: &Arc<ReceivedBytes>, last: u8) -> ReceivedPart {
        let address = Ipv4Addr::new(10, 0, 0, last);
        ReceivedPart::new(of, Peer::Tcp((address, 1).into()))
    }

    #[test]
    fn what_a_request_held_is_free_for_others_behind_it() {
        let all = bytes(100, 100);
        let (mut one, mut other) = (part(&all, 1), part(&all, 2));
        one.grow_to(60).expect("room");
        assert_eq!(
            other.grow_to(41).expect_err("no room").name,
            "received_bytes_max"
        );
        other.grow_to(40).expect("room for less");
        one.grow_to(50).expect("no more than it has");
        drop(one);
        other.grow_to(100).expect("room behind the first");
        drop(other);
        let held = all.lock();
        assert_eq!((held.bytes, held.clients.len()), (0, 0));
    }

    #[test]
    fn a_copy_counts_until_it_ends() {
        let all = bytes(100, 100);
        let (mut one, mut other) = (part(&all, 1), part(&all, 2));
        one.grow_to(60).expect("room");
        let copy = one.copied();
        drop(one);
        assert!(other.grow_to(41).is_err(), "the copy is there");
        drop(copy);
        other.grow_to(100).expect("room behind the copy");
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }

    #[test]
    fn one_client_leaves_room_for_others() {
        let all = bytes(100, 50);
        let (mut one, mut same, mut other) = (part(&all, 1), part(&all, 1), part(&all, 2));
        one.grow_to(30).expect("room");
        let refused = same.grow_to(21).expect_err("no room for the client");
        assert_eq!(
            (refused.name, refused.max),
            ("received_bytes_per_client_max", 50)
        );
        other.grow_to(50).expect("room for another client");
        same.grow_to(20).expect("room for less");
    }
}
