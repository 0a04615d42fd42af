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
