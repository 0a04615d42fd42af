//! The note of an orderly end, by which the next process goes on with the same generation.
//!
//! SQLite removes its log when the last connection is closed, and with it the place up to which the log was read. The
//! note has the marks of the database file instead, as they were behind the last commit. If the file still has them
//! when the next process starts, nothing was written in between.

use crate::names;
use crate::object::Hash;
use crate::targets::{Target, TargetFault};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The marks of a database file that is not open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMarks {
    device: u64,
    inode: u64,
    bytes: u64,
    /// The times of the last changes of the contents and of the file, in seconds and nanoseconds.
    changed: [i64; 4],
}

impl FileMarks {
    /// Reads the marks. `None` if there is no file, or a log beside it.
    pub fn of(database: &Path) -> Option<Self> {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        if std::fs::metadata(Path::new(&log)).is_ok_and(|log| log.len() > 0) {
            return None;
        }
        let file = std::fs::metadata(database).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.len(),
            changed: [
                file.mtime(),
                file.mtime_nsec(),
                file.ctime(),
                file.ctime_nsec(),
            ],
        })
    }

    /// Returns the time of the last change of the contents, in milliseconds since 1970.
    pub(crate) fn changed_millis(&self) -> Option<u64> {
        let [seconds, nanos, ..] = self.changed;
        let seconds = u64::try_from(seconds).ok()?;
        Some(seconds * 1_000 + u64::try_from(nanos).ok()? / 1_000_000)
    }
}

/// Returns a mark that a database file keeps as long as it exists, and that no other file has: its inode, which a later
/// file may get, and the time at which it was made. It is empty where the file system does not know that time.
pub(crate) fn file_mark(database: &Path) -> String {
    let mark = std::fs::metadata(database).ok().and_then(|file| {
        let made = file.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(format!("{}-{}", file.ino(), made.as_nanos()))
    });
    mark.unwrap_or_default()
}

/// The note.
#[derive(Serialize, Deserialize)]
struct Note {
    last: Hash,
    marks: FileMarks,
}

/// Leaves the note behind the last object of the log.
pub(crate) fn leave(
    target: &mut dyn Target,
    (generation, sequence, last): (String, u64, Hash),
    marks: FileMarks,
) -> Result<(), TargetFault> {
    let name = names::closed(&generation, sequence);
    let note = serde_json::to_vec(&Note { last, marks }).unwrap_or_default();
    target.remove(&name)?;
    target.put(&name, &note)
}

/// Reports whether the database is as the process left it that wrote the object `sequence`, and removes the note.
pub(crate) fn is_as_left(
    target: &mut dyn Target,
    generation: &str,
    sequence: u64,
    last: &Hash,
    marks: Option<&FileMarks>,
) -> Result<bool, TargetFault> {
    let name = names::closed(generation, sequence);
    let Some(note) = target.get(&name)? else {
        return Ok(false);
    };
    target.remove(&name)?;
    let note = serde_json::from_slice::<Note>(&note).ok();
    Ok(note.is_some_and(|note| note.last == *last && Some(&note.marks) == marks))
}
