//! Reads that run together share one read transaction.
//!
//! Each read transaction takes and releases a lock in the file system and looks at the head of the log: two system
//! calls, which cost as much as several rows. Where a worker's last turn had several reads, those of the next one share
//! a transaction, which ends with the turn. No read is answered from an older state than the last commit of this
//! process: a client whose write was acknowledged sees it on every worker.

use crate::sqlite::connection::SqliteConnection;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Acquire};

/// From so many reads in a turn on, those of the next one share.
const TOGETHER_MIN: u32 = 3;

/// The reads of one turn.
#[derive(Default)]
pub(crate) struct Reads {
    count: Cell<u32>,
    are_shared: Cell<bool>,
    /// The commits of this process before the shared transaction began, while there is one.
    since: Cell<Option<u64>>,
    /// Wakes [`Db::end_turns`](crate::Db::end_turns).
    first: tokio::sync::Notify,
}

impl Reads {
    /// Waits for the first read of a turn, and then for its end: what is runnable before has run by then.
    pub(crate) async fn begun(&self) {
        self.first.notified().await;
    }

    /// To be called before each read on the read connection. `commits` counts those of this process.
    #[inline]
    pub(crate) fn begin(&self, reader: &SqliteConnection, commits: &AtomicU64) {
        let count = self.count.get();
        self.count.set(count + 1);
        if count == 0 {
            // Ends the turn when everything that is runnable has run.
            self.first.notify_one();
        }
        if !self.are_shared.get() {
            return;
        }
        let commits = commits.load(Acquire);
        if self.since.get() == Some(commits) {
            return;
        }
        self.end_snapshot(reader);
        if reader.control("BEGIN").is_ok() {
            self.since.set(Some(commits));
        }
    }

    fn end_snapshot(&self, reader: &SqliteConnection) {
        // There is nothing to commit, and where SQLite has ended the transaction itself there is nothing to end.
        if self.since.take().is_some() && reader.in_transaction() {
            let _ = reader.control("COMMIT");
        }
    }

    /// The turn is over.
    pub(crate) fn end(&self, reader: Option<&SqliteConnection>) {
        let count = self.count.replace(0);
        if count == 0 {
            return;
        }
        self.are_shared.set(count >= TOGETHER_MIN);
        if let Some(reader) = reader {
            self.end_snapshot(reader);
        }
    }
}
