//! A worker's watch over the parked connections: its own descriptor of their epoll set, in its runtime.
#![allow(unsafe_code)]

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Parked, Parking};

/// The watch of one worker, on tokio.
pub(in crate::driver) struct ParkingWatch {
    parking: Arc<Parking>,
    events: AsyncFd<OwnedFd>,
}

impl ParkingWatch {
    /// Begins to watch. It must be called in a tokio runtime with I/O enabled.
    ///
    /// # Errors
    /// The system has no room for it.
    pub(in crate::driver) fn new(parking: Arc<Parking>) -> io::Result<Self> {
        let set = parking.epoll.as_fd().try_clone_to_owned()?;
        // SAFETY: the `AsyncFd` owns the descriptor, which is open and stays the same until the `AsyncFd` closes it.
        let events = unsafe { AsyncFd::register_with_interest(set, Interest::READABLE) }?;
        Ok(Self { parking, events })
    }

    pub(in crate::driver) fn parking(&self) -> &Arc<Parking> {
        &self.parking
    }

    /// Ends once a parked connection may be readable.
    pub(in crate::driver) async fn readable(&self) {
        if self.events.readable().await.is_err() {
            // A runtime that has ended has no events.
            std::future::pending().await
        }
    }

    /// Takes a connection that has become readable, as [`Parking::take`].
    pub(in crate::driver) async fn take(&self, connections: &AtomicUsize) -> Option<Parked> {
        let ready = poll_fn(|cx| match self.events.poll_read_ready(cx) {
            Poll::Ready(Ok(ready)) => Poll::Ready(Some(ready)),
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
        });
        let mut ready = ready.await?;
        let taken = self.parking.take(connections);
        if taken.is_none() {
            // What becomes readable after this is an event of its own.
            ready.clear_ready();
        }
        taken
    }
}
