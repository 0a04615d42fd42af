//! The limits of files and forms.

use rustix::process::{Resource, getrlimit};
use std::time::Duration;

/// The largest file that is read in place, in bytes: more would keep the worker's other requests waiting.
pub(crate) const INLINE_BYTES_MAX: u64 = 256 * 1024;
/// The number of bytes that a stream reads or keeps at a time.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;
/// The longest line that `files.lines` gives, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 1024 * 1024;
/// The maximum number of names that `files.list` returns.
pub(crate) const LIST_MAX: usize = 10_000;
/// The longest path and the longest name in it, in bytes: as most file systems have it.
pub(crate) const PATH_BYTES_MAX: usize = 4_000;
pub(crate) const NAME_BYTES_MAX: usize = 255;
/// The maximum number of threads that work on files at a time, for all workers together.
pub(crate) const THREADS_MAX: usize = 8;
/// The time that the lines of a file keep their worker at a time.
pub(crate) const TURN_MAX: Duration = Duration::from_millis(1);
/// The largest file of a form that is kept in memory, and what all of one form may take there, in bytes.
pub(crate) const FILE_MEMORY_BYTES_MAX: usize = 64 * 1024;
pub(crate) const FORM_MEMORY_BYTES_MAX: usize = 1024 * 1024;

/// The number of files of forms that are on the disk at a time, in all workers: each is open.
pub const SPOOLED_FILES_MAX: usize = 1_000;
/// The number of files that scripts hold open at a time, in all workers.
pub(crate) const OPEN_FILES_MAX: usize = 1_000;
/// The number of those that one request holds open.
pub(crate) const OPEN_FILES_PER_REQUEST_MAX: usize = 100;
/// One of so many of the process's descriptors is the most that either of the two kinds takes: a quarter together, as
/// the server reserves them (`capability.rs`).
const DESCRIPTORS_SHARE: u64 = 8;

/// Returns `files_max`, or fewer where the system allows the process few descriptors.
pub(crate) fn share_of_descriptors(files_max: usize) -> usize {
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = usize::try_from(allowed / DESCRIPTORS_SHARE).unwrap_or(files_max);
    share.clamp(1, files_max)
}

/// `[forms]`: what a form with files may have.
#[derive(Clone, Debug)]
pub struct FormLimits {
    /// The maximum number of fields and files together.
    pub parts_max: usize,
    /// The maximum number of files.
    pub files_max: usize,
    /// The names and values of all fields, in bytes.
    pub fields_bytes_max: usize,
    /// One file, in bytes.
    pub file_bytes_max: u64,
}
