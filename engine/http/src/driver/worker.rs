//! A worker: one thread's share of all connections.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

use super::connection::{Connection, DRAIN_MILLIS_MAX};
use super::local::Local;
use super::parking::{Parking, ParkingWatch};
use super::runtime::{Runtime, Tokio};
use super::shared::unsent::ClientBytes;
use super::shared::{Incoming, Opening, Shared, WorkerHandle};
use crate::answer::HandlerSlot;
use crate::limits::Limits;

/// A worker before it runs, and the handle by which other threads use it.
pub fn worker(limits: Arc<Limits>) -> (WorkerHandle, Worker) {
    let unsent = ClientBytes::new(&limits);
    worker_sharing(limits, unsent, None)
}

/// Creates one of several workers of a server, which count together what their clients have not read, and share their
/// idle connections where there is a `parking`.
pub fn worker_sharing(
    limits: Arc<Limits>,
    unsent: Arc<ClientBytes>,
    parking: Option<Arc<Parking>>,
) -> (WorkerHandle, Worker) {
    let shared = Arc::new(Shared::new(unsent, parking));
    let worker = Worker {
        limits,
        shared: Arc::clone(&shared),
        takes_h2c: false,
    };
    (WorkerHandle(shared), worker)
}

/// Serves the sockets that its [`WorkerHandle`] is given. See [`Worker::run`].
#[derive(Debug)]
pub struct Worker {
    limits: Arc<Limits>,
    shared: Arc<Shared>,
    takes_h2c: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Drop for Worker {
    /// However the worker ends, no socket is left waiting for it.
    fn drop(&mut self) {
        self.shared.close_inbox();
    }
}

impl Worker {
    /// Takes HTTP/2 on connections without TLS too, from clients that know that beforehand (RFC 9113 section 3.3).
    #[must_use]
    pub fn with_h2c(mut self, takes_h2c: bool) -> Self {
        self.takes_h2c = takes_h2c;
        self
    }

    /// Serves until [`WorkerHandle::shutdown`] has been carried out or [`WorkerHandle::abandon`] noticed. It must
    /// be polled inside a tokio `LocalSet` on a current-thread runtime with I/O and time enabled.
    ///
    /// `handler` is an `Rc` of the handler, or a [`HandlerSlot`] of which the caller keeps a clone in order to
    /// replace the handler later.
    pub async fn run(self, handler: impl Into<HandlerSlot>) {
        let parking = self.shared.parking.clone();
        // A worker that cannot watch the parking keeps its connections.
        let watch = parking.and_then(|parking| ParkingWatch::new(parking).ok());
        self.serve(Tokio, handler, watch).await;
    }

    /// Runs the worker on any runtime: as one of its tasks. It shares no idle connections.
    pub async fn run_on(self, runtime: impl Runtime, handler: impl Into<HandlerSlot>) {
        self.serve(runtime, handler, None).await;
    }

    async fn serve(
        self,
        runtime: impl Runtime,
        handler: impl Into<HandlerSlot>,
        watch: Option<ParkingWatch>,
    ) {
        let local = Rc::new(Local::new(
            self.limits.clone(),
            self.shared.clone(),
            handler.into(),
            self.takes_h2c,
            watch.as_ref().map(|watch| Arc::clone(watch.parking())),
        ));
        let mut pause = local.tick();
        let mut end_by = None;
        loop {
            let event = first_of(self.shared.notify.notified(), runtime.sleep(pause));
            // One that has ended takes none: it would be woken for the same connection again and again.
            let parked = watch.as_ref().filter(|_| !local.has_ended());
            first_of(event, is_parked_readable(parked)).await;
            pause = local.tick();
            self.take_sockets(&runtime, &local);
            if let Some(watch) = &watch {
                self.take_parked(watch, &runtime, &local).await;
            }
            if self.shared.abandoned.load(Relaxed) {
                kill(&local);
            } else if self.shared.shutdown.load(Relaxed) {
                let now = local.now_millis();
                let end_by = *end_by.get_or_insert_with(|| {
                    let limits = &self.limits;
                    if local.departures.has_begun() {
                        local.departures.hurry();
                    } else {
                        // The second half is for the last of them.
                        let span = limits.drain_millis.min(limits.shutdown_millis_max / 2);
                        local.begin_departures(span);
                    }
                    local.leaving.set(true);
                    local.draining.set(true);
                    local.deadlines.wake_all();
                    if let Some(parking) = &local.parking {
                        parking.close_after(DRAIN_MILLIS_MAX);
                    }
                    now + self.limits.shutdown_millis_max
                });
                if now >= end_by {
                    kill(&local);
                }
            } else if self.shared.leaving.load(Relaxed) && !local.leaving.get() {
                local.begin_departures(self.limits.drain_millis);
                local.leaving.set(true);
                // Streams that can end early do so.
                local.deadlines.wake_all();
            }
            let is_idle =
                local.killed.get() || local.parking.as_ref().is_none_or(|all| all.is_empty());
            if (local.draining.get() || local.killed.get()) && local.deadlines.len() == 0 && is_idle
            {
                return;
            }
        }
    }

    /// Takes one parked connection that has become readable. It has its turn before the next is taken, so that other
    /// workers take what this one has no time for.
    async fn take_parked(&self, watch: &ParkingWatch, runtime: &impl Runtime, local: &Rc<Local>) {
        if local.has_ended() {
            return;
        }
        let Some(parked) = watch.take(&self.shared.connections).await else {
            return;
        };
        match Connection::resume(parked, runtime, local.clone()) {
            Ok(connection) => runtime.spawn(connection),
            Err(_) => self.shared.count_out(false),
        }
        yield_turn().await;
    }

    fn take_sockets(&self, runtime: &impl Runtime, local: &Rc<Local>) {
        for incoming in self.shared.take_inbox() {
            let Incoming {
                socket,
                tls,
                is_proxied,
                is_refused,
            } = incoming;
            let opening = Opening {
                tls: tls.as_ref(),
                is_proxied,
            };
            match Connection::new(socket, opening, runtime, local.clone(), is_refused) {
                Ok(connection) => runtime.spawn(connection),
                // The client has gone already, or the system is out of memory for it; either way it is closed.
                Err(_) => self.shared.count_out(is_refused),
            }
        }
    }
}

/// Ends once a parked connection may be readable.
async fn is_parked_readable(watch: Option<&ParkingWatch>) {
    match watch {
        Some(watch) => watch.readable().await,
        None => pending().await,
    }
}

/// Lets the other tasks of the thread run.
async fn yield_turn() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Ends with the first of two futures.
async fn first_of(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => other.as_mut().poll(cx),
    })
    .await;
}

/// Every connection ends at its next turn, which is now.
fn kill(local: &Local) {
    local.leaving.set(true);
    local.draining.set(true);
    local.killed.set(true);
    local.deadlines.wake_all();
}
