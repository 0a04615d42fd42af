//! The one connection that writes, passed from worker to worker.
//!
//! A worker owns it for one group of writes and gives it back; those who wait for it get it in the order in which they
//! asked, handed over directly, so that a busy worker cannot keep it for itself. Waiting is a future; only a route's
//! first write waits in place.
//!
//! After a failed write to the disk the connection is closed and nothing is written until a fresh one has written and
//! synced again, see [`crate::group_commit::repair`].

use crate::sqlite::connection::SqliteConnection;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The reason why there is no connection to write with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The disk failed; what it said.
    Broken(String),
    /// The file or its log was removed or replaced.
    Gone,
    /// The database is being closed.
    Closed,
    /// Others kept it for too long.
    Late,
    /// A transaction has it or will have it next, for as long as its function takes.
    Transaction,
}

/// The place where the connection waits, and the workers that wait for it.
#[derive(Default)]
pub(crate) struct WriterHandover {
    state: Mutex<WriterQueue>,
    /// Tells those who wait in place that a connection was handed over, or that there will be none.
    changed: Condvar,
    waiting: AtomicUsize,
    is_free: AtomicBool,
    /// Counts how often it changed hands.
    leases: AtomicU64,
    /// Transactions that are open or wait for their turn. Changed under the lock.
    transactions: AtomicUsize,
}

#[derive(Default)]
struct WriterQueue {
    free: Option<Box<SqliteConnection>>,
    queue: VecDeque<QueuePlace>,
    /// The connection on its way to the one whose turn it is.
    handed: Option<(u64, Box<SqliteConnection>)>,
    next_ticket: u64,
    refused: Option<Refused>,
    /// A connection to a file that was lost, or whose log was: nothing is written with it, but the log may be copied.
    left: Option<Box<SqliteConnection>>,
}

/// A place in the queue.
struct QueuePlace {
    ticket: u64,
    /// Of a future; a thread that waits in place looks itself.
    waker: Option<Waker>,
}

impl WriterHandover {
    fn lock(&self) -> MutexGuard<'_, WriterQueue> {
        // The state is whole between any two statements, so a panic elsewhere does not take it away.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the number of workers that wait for the connection.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Reports whether it is free at the moment.
    pub(crate) fn is_free(&self) -> bool {
        self.is_free.load(Ordering::Relaxed)
    }

    fn lent(&self) {
        self.is_free.store(false, Ordering::Relaxed);
        self.leases.fetch_add(1, Ordering::Relaxed);
    }

    /// The current lease, if the connection is taken: a number that no other lease has.
    pub(crate) fn lease(&self) -> Option<u64> {
        (!self.is_free()).then(|| self.leases.load(Ordering::Relaxed))
    }

    /// A transaction is going to take the connection. Until the returned guard is dropped, no worker begins to wait in
    /// place.
    pub(crate) fn announce(self: &Arc<Self>) -> Announced {
        let _state = self.lock();
        self.transactions.fetch_add(1, Ordering::Relaxed);
        Announced(Arc::clone(self))
    }

    /// Reports whether a transaction is open or waits for its turn.
    pub(crate) fn has_transactions(&self) -> bool {
        self.transactions.load(Ordering::Relaxed) > 0
    }

    /// Returns the reason why there is no connection, if that is so.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.lock().refused.clone()
    }

    /// Gives the connection back, or a new one: to the first waiter, if there is one.
    pub(crate) fn give(&self, connection: Box<SqliteConnection>) {
        let mut state = self.lock();
        match state.refused {
            Some(Refused::Closed) => return,
            Some(Refused::Gone) => {
                state.left = Some(connection);
                return;
            }
            _ => {}
        }
        state.refused = None;
        self.pass_on(&mut state, connection);
    }

    fn pass_on(&self, state: &mut WriterQueue, connection: Box<SqliteConnection>) {
        match state.queue.pop_front() {
            None => {
                state.free = Some(connection);
                self.is_free.store(true, Ordering::Relaxed);
            }
            Some(turn) => {
                self.waiting.store(state.queue.len(), Ordering::Relaxed);
                self.leases.fetch_add(1, Ordering::Relaxed);
                state.handed = Some((turn.ticket, connection));
                match turn.waker {
                    Some(waker) => waker.wake(),
                    None => self.changed.notify_all(),
                }
            }
        }
    }

    /// Takes the connection if it is free and has no waiter.
    pub(crate) fn try_take(&self) -> Option<Box<SqliteConnection>> {
        let taken = self.lock().free.take()?;
        self.lent();
        Some(taken)
    }

    /// Takes a connection that was given back after the file or its log was lost.
    pub(crate) fn take_left(&self) -> Option<Box<SqliteConnection>> {
        self.lock().left.take()
    }

    /// Waits for the connection, as a future.
    pub(crate) fn take(self: &Arc<Self>) -> Take {
        Take {
            writers: Arc::clone(self),
            ticket: None,
        }
    }

    /// Waits for the connection in place; `give_up` is asked now and then. Behind a transaction only if it is on
    /// another thread for sure (`behind_transactions`).
    pub(crate) fn take_in_place(
        &self,
        millis_max: u64,
        behind_transactions: bool,
        give_up: impl Fn() -> bool,
    ) -> Result<Box<SqliteConnection>, Refused> {
        /// The interval at which `give_up` is asked.
        const LOOK: Duration = Duration::from_millis(5);
        let until = Instant::now() + Duration::from_millis(millis_max);
        let mut state = self.lock();
        if let Some(free) = state.free.take() {
            self.lent();
            return Ok(free);
        }
        if self.has_transactions() && !behind_transactions && state.refused.is_none() {
            return Err(Refused::Transaction);
        }
        let ticket = self.queue_up(&mut state, None);
        loop {
            if let Some(taken) = self.collect(&mut state, ticket) {
                return taken;
            }
            if Instant::now() >= until || give_up() {
                self.leave(&mut state, ticket);
                return Err(Refused::Late);
            }
            state = match self.changed.wait_timeout(state, LOOK) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn queue_up(&self, state: &mut WriterQueue, waker: Option<Waker>) -> u64 {
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.queue.push_back(QueuePlace { ticket, waker });
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
        ticket
    }

    /// Takes the connection handed to the holder of `ticket`, or why there will be nothing.
    fn collect(
        &self,
        state: &mut WriterQueue,
        ticket: u64,
    ) -> Option<Result<Box<SqliteConnection>, Refused>> {
        match state.handed.take() {
            Some((to, connection)) if to == ticket => return Some(Ok(connection)),
            other => state.handed = other,
        }
        let refused = state.refused.clone()?;
        self.leave(state, ticket);
        Some(Err(refused))
    }

    /// Gives up a place in the queue; what had been handed over already goes to the next.
    fn leave(&self, state: &mut WriterQueue, ticket: u64) {
        state.queue.retain(|turn| turn.ticket != ticket);
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
        match state.handed.take() {
            Some((to, connection)) if to == ticket => self.pass_on(state, connection),
            other => state.handed = other,
        }
    }

    /// From now on there is no connection, until one is given. Those who wait hear it.
    pub(crate) fn refuse(&self, why: Refused) {
        let mut state = self.lock();
        if state.refused != Some(Refused::Closed) {
            state.refused = Some(why);
        }
        if state.refused == Some(Refused::Closed) {
            state.left = None;
        }
        state.free = None;
        self.is_free.store(false, Ordering::Relaxed);
        for turn in &mut state.queue {
            if let Some(waker) = turn.waker.take() {
                waker.wake();
            }
        }
        self.changed.notify_all();
    }
}

/// A transaction that is open or waits for its turn.
pub(crate) struct Announced(Arc<WriterHandover>);

impl Drop for Announced {
    fn drop(&mut self) {
        let _state = self.0.lock();
        self.0.transactions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place in the queue for the connection. Dropping it gives the place up.
pub(crate) struct Take {
    writers: Arc<WriterHandover>,
    ticket: Option<u64>,
}

impl Future for Take {
    type Output = Result<Box<SqliteConnection>, Refused>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let writers = Arc::clone(&self.writers);
        let mut state = writers.lock();
        let Some(ticket) = self.ticket else {
            if let Some(free) = state.free.take() {
                writers.lent();
                return Poll::Ready(Ok(free));
            }
            if let Some(refused) = &state.refused {
                return Poll::Ready(Err(refused.clone()));
            }
            self.ticket = Some(writers.queue_up(&mut state, Some(cx.waker().clone())));
            return Poll::Pending;
        };
        if let Some(result) = writers.collect(&mut state, ticket) {
            self.ticket = None;
            return Poll::Ready(result);
        }
        for turn in &mut state.queue {
            if turn.ticket == ticket {
                turn.waker = Some(cx.waker().clone());
            }
        }
        Poll::Pending
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let mut state = self.writers.lock();
            self.writers.leave(&mut state, ticket);
        }
    }
}
