//! The pages that commits write, for a copy of the database elsewhere.
//!
//! The database reads them from its own write-ahead log ([`PageLog`]), in order and without a gap, and passes them to a
//! [`PageSink`]. Where a gap cannot be excluded it says so, and the copy begins anew with the whole database.

use crate::error::Error;
use std::path::Path;
use std::time::SystemTime;

/// A place in the write-ahead log, behind a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The two numbers that distinguish this log from the log before it.
    pub salts: [u32; 2],
    /// The number of frames before this place.
    pub frame: u32,
    /// The running checksum of the log up to this place.
    pub checksum: [u32; 2],
}

/// Pages that were written one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageBatch {
    /// The size of a page, in bytes.
    pub page_bytes: u32,
    /// The numbers of the pages, from 1, each once.
    pub numbers: Vec<u32>,
    /// The contents of the pages, in the order of `numbers`.
    pub pages: Vec<u8>,
    /// The number of commits that end in this batch.
    pub commits: u32,
    /// The size of the database in pages after the last commit, if the batch ends with a commit. A large commit is
    /// spread over several batches.
    pub database_pages: Option<u32>,
    /// The place in the log behind the batch.
    pub position: LogPosition,
    /// A moment before which nothing was committed that is neither here nor in an earlier batch. `None` if the next
    /// batch was committed before that moment, too.
    pub until: Option<SystemTime>,
}

/// Receives the pages. It is called on several threads, one at a time, while the database cannot make a checkpoint: it
/// must not wait for a network.
pub trait PageSink: Send {
    /// Takes the next pages. False to end the reading: what follows is not needed.
    fn take(&mut self, batch: PageBatch) -> bool;

    /// Takes note that all pages taken so far are in the whole copy that is being made, and none that follows. `at` is
    /// its place in the log.
    fn whole_copy_begins(&mut self, at: LogPosition);

    /// Takes note that pages are missing from now on, and why.
    fn has_lost(&mut self, why: &str);
}

/// The database as the source of a copy.
pub trait PageLog: Send + Sync {
    /// Reports whether the database is open.
    fn is_open(&self) -> bool;

    /// Passes pages to `sink` from now on, once [`PageLog::resume`] or [`PageLog::copy_whole`] has found a place to
    /// begin. Until then the log is kept for a while.
    fn follow(&self, sink: Box<dyn PageSink>);

    /// Reads on from a place that was reached before, in this process or another. False if the log has begun anew
    /// since. The default place is before all that is in the log now.
    ///
    /// # Errors
    /// The log cannot be read.
    fn resume(&self, from: LogPosition) -> Result<bool, Error>;

    /// Reads what was committed since the last call.
    ///
    /// # Errors
    /// The log cannot be read.
    fn read(&self) -> Result<(), Error>;

    /// Copies the whole database, as it is at one moment, to a new file, and reads on from that moment.
    ///
    /// # Errors
    /// The database cannot be read, or the file cannot be written.
    fn copy_whole(&self, to: &Path) -> Result<(), Error>;

    /// Passes no more pages.
    fn leave(&self);
}
