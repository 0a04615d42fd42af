//! Getting the write connection: as a future for routes that are known to write, in place for a route's first write.
//!
//! A foreign process that holds the lock is asked again and again, with pauses in which the worker serves others.

use crate::database::Opened;
use crate::group_commit::worker::{Db, Fetch, WorkerDb};
use crate::group_commit::writer::Refused;
use crate::running;
use crate::sqlite::error::ErrorCode;
use sampan_host::database::RouteUse;
use sampan_host::{Error, ErrorKind};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The longest that the first write of a route waits in place, in milliseconds.
const IN_PLACE_MILLIS_MAX: u64 = 1_000;
/// The first pause before the lock is asked for again, and the longest, in milliseconds. A busy process leaves the lock
/// free for moments only: longer pauses would hardly ever meet one.
pub(crate) const RETRY_MILLIS: (u64, u64) = (1, 4);

impl Db {
    /// Reports whether a handler of this route may run at once. If not, see [`Db::acquire`].
    pub fn try_acquire(&self, route: &RouteUse) -> bool {
        let inner = &*self.0;
        if route.runs_alone() && inner.is_open() {
            inner.commit();
        }
        if inner.outbox.is_sealed() {
            return false;
        }
        if inner.is_open() {
            return true;
        }
        if route.is_expected_to_write() {
            return inner.begins_at_once();
        }
        true
    }

    /// Reports whether a run for this route must wait before it goes on, see [`Db::writable`]: it may write, and while
    /// transactions are open or wait for their turn no worker waits in place. The run of such a transaction goes on.
    pub fn must_queue(&self, route: &RouteUse) -> bool {
        route.is_expected_to_write() && self.0.is_behind_transactions()
    }

    /// Waits until this worker owns the write connection, or cannot have it.
    ///
    /// # Errors
    /// The database cannot be written within `busy_millis_max`.
    pub async fn writable(self) -> Result<(), Error> {
        self.0.writable().await
    }

    /// Waits until a handler of this route may run without blocking its worker.
    ///
    /// # Errors
    /// The database cannot be written within `busy_millis_max`.
    pub async fn acquire(&self, route: &RouteUse) -> Result<(), Error> {
        let inner = &*self.0;
        loop {
            inner.outbox.unsealed().await;
            if self.try_acquire(route) {
                return Ok(());
            }
            if !inner.outbox.is_sealed() {
                inner.wanted().await?;
            }
        }
    }
}

impl WorkerDb {
    /// Begins for a handler that is about to write, if that takes no waiting.
    pub(super) fn begins_at_once(&self) -> bool {
        let Some(opened) = self.database.opened() else {
            return true;
        };
        if opened.log_is_full() || !matches!(*self.fetching.borrow(), Fetch::Idle) {
            return false;
        }
        let Some(writer) = opened.writers.try_take() else {
            // The connection is not available: the handler gets the error when it writes.
            return opened.writers.refused().is_some();
        };
        *self.fetching.borrow_mut() = Fetch::Owned(writer);
        let has_begun = self.begin(opened);
        if !matches!(has_begun, Ok(true)) {
            self.stop_fetching(opened);
        }
        // Another fault than a lock is told when the handler writes.
        has_begun.unwrap_or(true)
    }

    /// Reports whether transactions of others keep the run that goes on from the write connection.
    fn is_behind_transactions(&self) -> bool {
        let opened = self.database.opened();
        opened.is_some_and(|opened| opened.writers.has_transactions())
            && !self.is_open()
            && !self.may_have_own_transaction()
    }

    /// Lets a run whose transaction has just ended end its turn if others have transactions. Before the next turn it
    /// waits for them if it is known to write ([`Db::must_queue`]): JavaScript cannot wait in the middle of a turn.
    /// Where no run has written right behind its transaction, it goes on: most answer then.
    pub(crate) async fn yield_to_transactions(&self) {
        if self.behind.are_known.get() && self.is_behind_transactions() {
            tokio::task::yield_now().await;
        }
        self.behind.note_end();
    }

    /// Waits until [`Db::serve`] has fetched the connection.
    async fn wanted(&self) -> Result<(), Error> {
        let round = {
            let mut wanted = self.wanted.borrow_mut();
            wanted.is_asked = true;
            wanted.round
        };
        self.wake.notify_one();
        poll_fn(|cx| {
            let mut wanted = self.wanted.borrow_mut();
            if wanted.round == round {
                wanted.wakers.push(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(wanted.failure.clone().map_or(Ok(()), Err))
        })
        .await
    }

    pub(crate) fn answer_wanted(&self, failure: Option<Error>) {
        let wakers = {
            let mut wanted = self.wanted.borrow_mut();
            wanted.round += 1;
            wanted.failure = failure;
            std::mem::take(&mut wanted.wakers)
        };
        for waker in wakers {
            waker.wake();
        }
    }

    /// Takes the connection as [`WorkerDb::fetch`] does, until a first write has begun in place: that took over what
    /// had been fetched so far, and its group is to be committed.
    pub(crate) async fn fetch_unless_begun(&self) -> Result<(), Error> {
        let mut fetch = pin!(self.fetch());
        let mut woken = pin!(self.wake.notified());
        poll_fn(|cx| {
            while woken.as_mut().poll(cx).is_ready() {
                if self.has_group() {
                    return Poll::Ready(Ok(()));
                }
                woken.set(self.wake.notified());
            }
            fetch.as_mut().poll(cx)
        })
        .await
    }

    /// Waits until a write of this worker need not wait in place: as a rule its group is open then.
    pub(crate) async fn writable(&self) -> Result<(), Error> {
        loop {
            self.outbox.unsealed().await;
            if self.is_open() || self.begins_at_once() {
                return Ok(());
            }
            self.wanted().await?;
        }
    }

    /// Takes the connection and begins, without blocking the worker.
    async fn fetch(&self) -> Result<(), Error> {
        let opened = self.database.open()?;
        let until = Instant::now() + Duration::from_millis(opened.config.busy_millis_max);
        has_log_room(opened, until).await?;
        let mut pause = RETRY_MILLIS.0;
        loop {
            if self.has_group() {
                // A first write went on from here, in place.
                return Ok(());
            }
            self.queue(opened).await?;
            if matches!(*self.fetching.borrow(), Fetch::Idle) {
                // A write in place has given up this place.
                continue;
            }
            if self.begin(opened)? || self.has_group() {
                return Ok(());
            }
            if Instant::now() >= until {
                self.stop_fetching(opened);
                return Err(busy(LOCKED));
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
            pause = (pause * 2).min(RETRY_MILLIS.1);
        }
    }

    /// Waits for the connection, unless it is here.
    async fn queue(&self, opened: &Opened) -> Result<(), Error> {
        if matches!(*self.fetching.borrow(), Fetch::Idle) {
            *self.fetching.borrow_mut() = Fetch::Queued(opened.writers.take());
        }
        poll_fn(|cx| {
            let mut fetching = self.fetching.borrow_mut();
            let Fetch::Queued(take) = &mut *fetching else {
                return Poll::Ready(Ok(()));
            };
            match Pin::new(take).poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(writer)) => {
                    *fetching = Fetch::Owned(writer);
                    Poll::Ready(Ok(()))
                }
                Poll::Ready(Err(why)) => {
                    *fetching = Fetch::Idle;
                    Poll::Ready(Err(refusal(&why)))
                }
            }
        })
        .await
    }

    /// Begins a transaction on the connection that is owned. False if another process holds the lock, or nothing is
    /// owned.
    fn begin(&self, opened: &Opened) -> Result<bool, Error> {
        let Fetch::Owned(writer) = self.fetching.take() else {
            return Ok(false);
        };
        match writer.control("BEGIN IMMEDIATE") {
            Ok(()) if opened.file_is_there(Some(&writer)) => {
                self.enter_group(writer);
                Ok(true)
            }
            Ok(()) => Err(refusal(&Refused::Gone)),
            Err(fault) if fault.code == ErrorCode::Busy => {
                *self.fetching.borrow_mut() = Fetch::Owned(writer);
                Ok(false)
            }
            Err(fault) => {
                opened.take_back(writer, &fault);
                Err(fault.error)
            }
        }
    }

    /// Gives back what has been fetched.
    pub(crate) fn stop_fetching(&self, opened: &Opened) {
        if let Fetch::Owned(writer) = self.fetching.take() {
            opened.writers.give(writer);
        }
    }

    /// Takes the connection and begins in place: for the first write of a route, which did not say that it would. No
    /// worker waits in place for a transaction: it may need this thread. Who can wait in the middle of a call
    /// (`may_wait`) is told so, and calls [`WorkerDb::writable`].
    pub(crate) fn open_in_place(&self, may_wait: bool) -> Result<(), Error> {
        if self.is_in_transaction() {
            return Err(ErrorCode::Denied.error(ErrorKind::Script, running::OUTSIDE));
        }
        self.check_write()?;
        self.wrote.set(true);
        self.behind.note_write();
        if self.is_open() {
            return Ok(());
        }
        let opened = self.database.open()?;
        // Not for a transaction of this worker, which could not go on.
        let is_starting = self.is_loading.get() && self.transactions.is_empty();
        let millis_max = match opened.config.busy_millis_max {
            busy_max if is_starting => busy_max,
            busy_max => IN_PLACE_MILLIS_MAX.min(busy_max),
        };
        let until = Instant::now() + Duration::from_millis(millis_max);
        if !matches!(*self.fetching.borrow(), Fetch::Owned(_)) {
            let writers = &opened.writers;
            let writer = match writers.try_take() {
                Some(writer) => writer,
                None if writers.has_transactions()
                    && (may_wait || !is_starting)
                    && writers.refused().is_none() =>
                {
                    return Err(in_transaction(may_wait));
                }
                None => {
                    // Gives up the place of the future that cannot move now. No other event wakes it: the
                    // group may be committed before this turn ends, or there may be none.
                    if let Fetch::Queued(place) = self.fetching.take() {
                        drop(place);
                        self.wake.notify_one();
                    }
                    writers
                        .take_in_place(millis_max, is_starting, || self.watch.must_stop())
                        .map_err(|why| match why {
                            Refused::Transaction => in_transaction(may_wait),
                            why => refusal(&why),
                        })?
                }
            };
            *self.fetching.borrow_mut() = Fetch::Owned(writer);
        }
        let mut pause = RETRY_MILLIS.0;
        while !self.begin(opened)? {
            if Instant::now() >= until || self.watch.must_stop() {
                self.stop_fetching(opened);
                return Err(busy(LOCKED));
            }
            std::thread::sleep(Duration::from_millis(pause));
            pause = (pause * 2).min(RETRY_MILLIS.1);
        }
        Ok(())
    }
}

const LOCKED: &str = "another process holds its lock";

/// Waits until the log has room for a transaction.
pub(crate) async fn has_log_room(opened: &Opened, until: Instant) -> Result<(), Error> {
    let mut pause = RETRY_MILLIS.0;
    while opened.log_is_full() {
        if Instant::now() >= until {
            return Err(busy("the write-ahead log is full (wal_bytes_max)"));
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
        pause = (pause * 2).min(RETRY_MILLIS.1);
    }
    Ok(())
}

pub(crate) fn busy(why: &str) -> Error {
    unavailable(ErrorCode::Busy, why)
}

/// The error of a write that would have to wait for a transaction.
fn in_transaction(may_wait: bool) -> Error {
    let error = busy("a transaction is open (db.transaction)");
    if may_wait {
        error.with_kind(ErrorKind::TooLong)
    } else {
        error
    }
}

fn unavailable(code: ErrorCode, why: &str) -> Error {
    code.error(
        ErrorKind::Unavailable,
        format!("the database cannot be written at the moment: {why}"),
    )
}

pub(crate) fn refusal(why: &Refused) -> Error {
    match why {
        Refused::Broken(cause) => unavailable(ErrorCode::Io { fsync: false }, cause),
        Refused::Gone => unavailable(
            ErrorCode::Io { fsync: false },
            "its file or its log was removed or replaced",
        ),
        Refused::Closed => unavailable(ErrorCode::Interrupted, "the server is ending"),
        Refused::Transaction => in_transaction(false),
        Refused::Late => unavailable(ErrorCode::Busy, "others were writing for too long"),
    }
}
