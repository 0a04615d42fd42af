//! The room for connections that all workers of a process share.

use crate::config::PostgresConfig;
use crate::connection::tls::TlsClient;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The settings and the room that the workers of a process share.
pub(crate) struct Process {
    pub(crate) config: PostgresConfig,
    pub(crate) tls: TlsClient,
    /// The number of changes of the schema that the process knows of: types that were asked for before may be others.
    schema_changes: AtomicU64,
    seats: Arc<Semaphore>,
    /// The number of those that wait for a seat: workers with idle connections give those up.
    wanted: AtomicUsize,
    /// The number of requests that wait for a connection.
    waiting: AtomicUsize,
    /// One for each worker, to be told that a seat is wanted.
    workers: Mutex<Vec<Weak<Notify>>>,
}

/// The right to have a connection.
pub(crate) type Seat = OwnedSemaphorePermit;

impl Process {
    /// # Errors
    /// The files of certificates cannot be read.
    pub(crate) fn new(config: PostgresConfig) -> Result<Self, String> {
        Ok(Self {
            seats: Arc::new(Semaphore::new(config.connections_max.max(1))),
            schema_changes: AtomicU64::new(0),
            wanted: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            workers: Mutex::default(),
            tls: TlsClient::new(&config.tls)?,
            config,
        })
    }

    /// Takes note of a change of the schema.
    pub(crate) fn schema_changed(&self) {
        self.schema_changes.fetch_add(1, Relaxed);
    }

    /// Returns the number of changes of the schema that are known.
    pub(crate) fn schema_changes(&self) -> u64 {
        self.schema_changes.load(Relaxed)
    }

    /// Takes a seat if one is free and no other worker waits for one.
    pub(crate) fn try_seat(&self) -> Option<Seat> {
        Arc::clone(&self.seats).try_acquire_owned().ok()
    }

    /// Waits for a seat, and has other workers give up connections that they do not use.
    pub(crate) async fn seat(&self) -> Option<Seat> {
        if let Some(seat) = self.try_seat() {
            return Some(seat);
        }
        let _wanted = Counted::new(&self.wanted);
        self.tell_workers();
        Arc::clone(&self.seats).acquire_owned().await.ok()
    }

    fn tell_workers(&self) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        for worker in workers.iter().filter_map(Weak::upgrade) {
            worker.notify_one();
        }
    }

    /// The connections that each worker can keep while others wait for one.
    pub(crate) fn share(&self) -> usize {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        self.config.connections_max / workers.len().max(1)
    }

    pub(crate) fn is_seat_wanted(&self) -> bool {
        self.wanted.load(Relaxed) > 0
    }

    /// Counts a request that waits for a connection; `None` if too many do.
    pub(crate) fn wait(&self) -> Option<Counted<'_>> {
        (self.waiting.load(Relaxed) < self.config.waiting_max).then(|| Counted::new(&self.waiting))
    }

    /// Registers a worker. It is told when a seat is wanted.
    pub(crate) fn register(&self, worker: &Arc<Notify>) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.retain(|known| known.strong_count() > 0);
        workers.push(Arc::downgrade(worker));
    }
}

/// Counted for as long as it lives.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
