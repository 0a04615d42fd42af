//! The workers of a server, and the choice of one for each connection.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::driver::{Opening, WorkerHandle};
use crate::limits::Limits;

/// The workers that connections are given to. Clones are the same list; it can be shared by several acceptors.
#[derive(Clone, Debug)]
pub struct Workers(Arc<WorkerPool>);

#[derive(Debug)]
struct WorkerPool {
    handles: Mutex<Vec<WorkerHandle>>,
    /// The position where the search for the least loaded begins, so that equals take turns.
    next: AtomicUsize,
    accepted: AtomicU64,
    connections_max: usize,
    refused_max: usize,
    /// The answer for a client that cannot be handed to a worker, not even to be refused.
    refusal: Vec<u8>,
}

impl Workers {
    /// A list of workers, and how many connections they serve together.
    pub fn new(handles: Vec<WorkerHandle>, limits: &Limits) -> Workers {
        let refusal = format!(
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            limits.retry_after_seconds
        );
        Workers(Arc::new(WorkerPool {
            handles: Mutex::new(handles),
            next: AtomicUsize::new(0),
            accepted: AtomicU64::new(0),
            connections_max: limits.connections_max,
            refused_max: limits.refused_max,
            refusal: refusal.into_bytes(),
        }))
    }

    /// The handles at present.
    pub fn handles(&self) -> Vec<WorkerHandle> {
        self.lock().clone()
    }

    /// Puts a fresh worker in the place of another, which gets no more connections. Returns the other;
    /// `None` if there is no such place.
    pub fn replace(&self, index: usize, fresh: WorkerHandle) -> Option<WorkerHandle> {
        self.lock()
            .get_mut(index)
            .map(|handle| std::mem::replace(handle, fresh))
    }

    /// Connections being served by all of them, the parked ones included.
    pub fn connections(&self) -> usize {
        connections_of(&self.lock())
    }

    /// Returns the number of them that are parked.
    pub fn parked(&self) -> usize {
        parked_by(&self.lock())
    }

    /// Returns the number of connections that were accepted, those that were refused included.
    pub fn accepted(&self) -> u64 {
        self.0.accepted.load(Relaxed)
    }

    /// Begins the end of all of them, see [`WorkerHandle::shutdown`].
    pub fn shutdown(&self) {
        self.lock().iter().for_each(WorkerHandle::shutdown);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WorkerHandle>> {
        self.0
            .handles
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Gives a socket to the least loaded worker that reacts, or refuses it where all places are taken. At the end
    /// workers are not told what is refused: it may be the connection that wakes the acceptor.
    pub(crate) fn place(&self, socket: TcpStream, opening: Opening<'_>, is_ending: bool) {
        self.0.accepted.fetch_add(1, Relaxed);
        let handles = self.lock();
        let connections = connections_of(&handles);
        let given = if connections < self.0.connections_max {
            self.offer(&handles, socket, |handle, socket| {
                handle.give(socket, opening)
            })
        } else if !is_ending
            && handles.iter().map(WorkerHandle::refused).sum::<usize>() < self.0.refused_max
        {
            self.offer(&handles, socket, |handle, socket| {
                handle.refuse(socket, opening)
            })
        } else {
            Err(socket)
        };
        drop(handles);
        if let Err(mut socket) = given
            && opening.tls.is_none()
        {
            // The socket does not block and a fresh one has room for this, so it is written at once or never.
            let _ = socket.write(&self.0.refusal);
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Offers the socket to the workers, best first, until one takes it.
    fn offer(
        &self,
        handles: &[WorkerHandle],
        mut socket: TcpStream,
        put: impl Fn(&WorkerHandle, TcpStream) -> Result<(), TcpStream>,
    ) -> Result<(), TcpStream> {
        let first = self.0.next.fetch_add(1, Relaxed);
        let mut order: Vec<&WorkerHandle> = (0..handles.len())
            .map(|at| &handles[(first.wrapping_add(at)) % handles.len()])
            .collect();
        // Stable, so equals keep the rotated order.
        order.sort_by_key(|handle| (!handle.is_responsive(), handle.connections()));
        for handle in order {
            match put(handle, socket) {
                Ok(()) => return Ok(()),
                Err(back) => socket = back,
            }
        }
        Err(socket)
    }
}

/// Returns the number of connections of these workers, with those that they share.
fn connections_of(handles: &[WorkerHandle]) -> usize {
    let served: usize = handles.iter().map(WorkerHandle::connections).sum();
    served + parked_by(handles)
}

/// Returns the number of idle connections that these workers share.
fn parked_by(handles: &[WorkerHandle]) -> usize {
    let parking = handles.iter().find_map(WorkerHandle::parking);
    parking.map_or(0, |parking| parking.len())
}
