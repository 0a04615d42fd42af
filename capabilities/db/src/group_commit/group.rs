//! Group commit on one worker.
//!
//! All writes of the handlers that are runnable together share one transaction. The first write takes the write
//! connection and begins; each `exec` outside of `batch` is a statement of it, each `batch` a savepoint. When the
//! handlers that were runnable have run, or a millisecond has passed, and no savepoint is open, it commits, and only
//! then does anything leave: the worker's [`Outbox`](sampan_host::Outbox) is open from the first write to the verdict.
//!
//! One request cannot take the group with it unnoticed: SQLite undoes a whole transaction on some errors, so after
//! every error the connection is asked whether its transaction is still there. If it is gone, everything that was held
//! becomes 500, the request that did it too, and what did it runs alone from then on.

use crate::group_commit::worker::{Db, GroupState, WorkerDb, WriteGroup};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, StatementError};
use sampan_host::database::RouteUse;
use sampan_host::{Error, ErrorKind, Verdict};
use std::cell::Cell;
use std::task::Poll;
use std::time::{Duration, Instant};

/// A group that is this old commits although more handlers could join it.
const GROUP_AGE_MAX: Duration = Duration::from_millis(1);
/// The longest age of a group while another worker waits for the write connection.
const GROUP_AGE_SHARED_MAX: Duration = Duration::from_micros(250);

impl Db {
    /// Commits what is written, and fetches the write connection for those who wait for it. Runs on the worker's
    /// `LocalSet` as long as the worker serves.
    pub async fn serve(self) {
        let inner = self.0;
        loop {
            if inner.has_group() {
                inner.gather().await;
                inner.commit();
                inner.committed().await;
            } else if std::mem::take(&mut inner.wanted.borrow_mut().is_asked) {
                let answer = inner.fetch_unless_begun().await;
                inner.answer_wanted(answer.err());
            } else {
                inner.wake.notified().await;
            }
        }
    }

    /// Ends the read transaction that the reads of one turn share. Runs beside [`Db::serve`].
    pub async fn end_turns(self) {
        loop {
            self.0.reads.begun().await;
            self.0.reads.end(self.0.reader.get());
        }
    }

    /// To be called whenever the isolate was left, in a run for this route. Takes back savepoints that a stopped script
    /// left open, and commits what should not wait: also where all others who could join the group wait for it already
    /// (`is_complete`). Returns the time that a commit took. [`Db::losses`] tells whether a group was lost in between.
    pub fn left(&self, route: Option<&RouteUse>, is_complete: impl FnOnce() -> bool) -> Duration {
        let inner = &*self.0;
        inner.close_savepoints();
        inner.behind.note_left();
        let wrote = inner.wrote.take();
        if let Some(route) = route {
            route.note(wrote);
        }
        if inner.undid.take()
            && let Some(route) = route
        {
            route.note_undone();
        }
        let is_alone = route.is_some_and(|route| route.runs_alone());
        // While commits fail, only requests that have written join a group: reads must go on.
        let goes_now = is_alone || inner.is_failing.get();
        if !inner.is_open() {
            return Duration::ZERO;
        }
        let mut took = Duration::ZERO;
        if goes_now || is_complete() || inner.is_old() {
            let begun = Instant::now();
            inner.commit();
            took = begun.elapsed();
        }
        inner.tell();
        took
    }

    /// Returns the number of groups of this worker were lost so far. A run in which the number changes must not be
    /// answered as if its writes
    /// were there.
    pub fn losses(&self) -> u64 {
        self.0.losses.get()
    }

    /// Reports whether a request of this worker has a transaction, open or waiting for its turn.
    #[inline]
    pub fn has_transactions(&self) -> bool {
        !self.0.transactions.is_empty()
    }

    /// Reports whether a project is being loaded on this worker, or starts.
    pub fn set_loading(&self, is_loading: bool) {
        self.0.is_loading.set(is_loading);
    }

    /// Commits what a project wrote while it was loaded.
    ///
    /// # Errors
    /// The writes could not be committed.
    pub fn finish_loading(&self) -> Result<(), Error> {
        let inner = &*self.0;
        inner.close_savepoints();
        // What the project has done is not noted for the route of the next request.
        inner.wrote.set(false);
        inner.undid.set(false);
        inner.commit_in_place()
    }
}

impl WorkerDb {
    /// Lets those join the group who can: all runnable tasks run first, and the system is asked for more, again and
    /// again while more come. The group's age is looked at whenever one has run, so this ends.
    async fn gather(&self) {
        let mut joined = self.outbox.held();
        loop {
            tokio::task::yield_now().await;
            let now = self.outbox.held();
            if now == joined || !self.is_open() {
                return;
            }
            joined = now;
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.group.borrow(), GroupState::Open(_))
    }

    pub(crate) fn has_group(&self) -> bool {
        !matches!(*self.group.borrow(), GroupState::Closed)
    }

    fn is_old(&self) -> bool {
        let GroupState::Open(group) = &*self.group.borrow() else {
            return false;
        };
        let is_shared = self
            .database
            .opened()
            .is_some_and(|opened| opened.writers.waiting() > 0);
        let age_max = if is_shared {
            GROUP_AGE_SHARED_MAX
        } else {
            GROUP_AGE_MAX
        };
        group.since.elapsed() >= age_max
    }

    pub(crate) fn enter_group(&self, writer: Box<SqliteConnection>) {
        *self.group.borrow_mut() = GroupState::Open(WriteGroup {
            writer,
            since: Instant::now(),
            writes: Cell::new(0),
            is_told: Cell::new(false),
        });
        self.outbox.open();
        // A run that may go on for long must not keep the write connection as long.
        let millis = self.database.config.transaction_millis_max;
        self.watch.shorten_to(Duration::from_millis(millis));
    }

    /// Has [`Db::serve`] commit the open group.
    pub(super) fn tell(&self) {
        if let GroupState::Open(group) = &*self.group.borrow()
            && !group.is_told.replace(true)
        {
            self.wake.notify_one();
        }
    }

    /// Commits the open group, here or on the commit thread, as fast disks and slow ones want it.
    pub(crate) fn commit(&self) {
        if self.depth.get() > 0 || !self.is_open() {
            return;
        }
        if !self.latency.is_slow() {
            // What failed has been logged, and everything that is held becomes 500.
            let _ = self.commit_in_place();
            return;
        }
        let GroupState::Open(group) = self.group.replace(GroupState::Closed) else {
            return;
        };
        self.commit_begins(&group);
        match self.database.opened() {
            Some(opened) => {
                let outcome = opened.thread.commit(group.writer);
                *self.group.borrow_mut() = GroupState::Committing(outcome);
                self.outbox.seal();
                self.wake.notify_one();
            }
            None => drop(group),
        }
    }

    fn commit_begins(&self, group: &WriteGroup) {
        if let Some(meters) = self.meters.get() {
            meters.begins(group.writes.get());
        }
    }

    fn commit_took(&self, time: Duration) {
        self.latency.note(time);
        if let Some(meters) = self.meters.get() {
            meters.took(time);
        }
    }

    /// Waits for a commit that is on its way elsewhere.
    async fn committed(&self) {
        let result = std::future::poll_fn(|cx| match &*self.group.borrow() {
            GroupState::Committing(outcome) => outcome.poll(cx).map(Some),
            _ => Poll::Ready(None),
        })
        .await;
        if let Some((writer, result, took)) = result {
            *self.group.borrow_mut() = GroupState::Closed;
            self.commit_took(took);
            let _ = self.conclude(writer, result);
        }
    }

    /// Commits the open group before it returns; waits for one that is on its way.
    pub(crate) fn commit_in_place(&self) -> Result<(), Error> {
        match self.group.replace(GroupState::Closed) {
            GroupState::Closed => Ok(()),
            GroupState::Committing(outcome) => {
                let (writer, result, took) = outcome.wait();
                self.commit_took(took);
                self.conclude(writer, result)
            }
            GroupState::Open(group) => {
                self.commit_begins(&group);
                let began = Instant::now();
                let result = group.writer.commit();
                self.commit_took(began.elapsed());
                self.conclude(group.writer, result)
            }
        }
    }

    /// Acts on the result of a commit.
    fn conclude(
        &self,
        writer: Box<SqliteConnection>,
        result: Result<(), StatementError>,
    ) -> Result<(), Error> {
        let Some(opened) = self.database.opened() else {
            self.outbox.settle(Verdict::Failed);
            return Ok(());
        };
        match result {
            Ok(()) => {
                self.database.committed(opened, writer);
                self.is_failing.set(false);
                self.outbox.settle(Verdict::Committed);
                Ok(())
            }
            Err(fault) => {
                let text = format!("a commit failed: {}", fault.error.message());
                let file = self.database.config.path.display();
                self.database.report(&format!(
                    "{file}: {text}; all answers that depend on it are replaced by errors"
                ));
                opened.take_back(writer, &fault);
                self.losses.set(self.losses.get() + 1);
                self.is_failing.set(true);
                self.outbox.settle(Verdict::Failed);
                Err(fault.code.error(ErrorKind::Internal, text))
            }
        }
    }
}

impl WorkerDb {
    /// Commits the open group before a read that has undone a transaction once.
    ///
    /// # Errors
    /// The commit has failed; or the group must stay open, and the read would undo it.
    pub(super) fn commit_before_lonely(&self, sql: &str) -> Result<(), Error> {
        let is_read = match &*self.group.borrow() {
            GroupState::Open(group) if self.is_lonely(sql) => {
                group.writer.is_readonly(sql).unwrap_or(false)
            }
            _ => false,
        };
        match is_read {
            true if self.may_commit_before() => self.commit_now(),
            true => Err(ErrorCode::TooLarge.error(
                ErrorKind::Script,
                "the statement has undone a transaction, because it took more memory than statement_bytes_max: with an \
                 Idempotency-Key, run it before the first write",
            )),
            false => Ok(()),
        }
    }

    /// Reports whether the group may be committed in the middle of this run. What a run has written that is recorded
    /// with its answer must not be there without the record.
    pub(super) fn may_commit_before(&self) -> bool {
        !self.wrote.get() || !self.is_recorded_with_writes()
    }

    /// Reports whether a statement outside of a batch has undone a transaction before.
    pub(super) fn is_lonely(&self, sql: &str) -> bool {
        let opened = self.database.opened();
        self.depth.get() == 0 && opened.is_some_and(|opened| opened.lonely.contains(sql))
    }
}

impl Drop for WorkerDb {
    /// A worker that ends in the middle of a group takes it back; the connection goes to the next.
    fn drop(&mut self) {
        match self.group.replace(GroupState::Closed) {
            GroupState::Closed => {
                if let Some(opened) = self.database.opened() {
                    self.stop_fetching(opened);
                }
            }
            GroupState::Open(group) => {
                if let Some(opened) = self.database.opened() {
                    opened.roll_back(group.writer);
                }
                self.outbox.settle(Verdict::Failed);
            }
            GroupState::Committing(outcome) => {
                let (writer, result, _) = outcome.wait();
                let _ = self.conclude(writer, result);
            }
        }
    }
}

#[cfg(test)]
mod tests;
