//! Functions of SQLite that rusqlite lacks. The other unsafe code of this crate is in
//! [`crate::sqlite::statement`] and [`crate::sqlite::prepared`].

#![allow(unsafe_code)]

use rusqlite::{Connection, ffi};
use sampan_host::Watch;
use std::sync::{Mutex, MutexGuard};

/// The text about a file that may not grow.
const FILE_TOO_LARGE: &str = "database or disk is full: a file has reached the limit on the size of files (ulimit -f, \
     LimitFSIZE of systemd, or that of the file system)";

/// Reports whether the open transaction violates deferred foreign keys, so that its COMMIT would fail.
pub(crate) fn deferred_violations(sqlite: &Connection) -> bool {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle is open for as long as `sqlite` is borrowed; SQLite writes two integers, which outlive the
    // call.
    let result = unsafe {
        ffi::sqlite3_db_status(
            sqlite.handle(),
            ffi::SQLITE_DBSTATUS_DEFERRED_FKS,
            &raw mut current,
            &raw mut highest,
            0,
        )
    };
    // A connection that cannot tell has none to commit either; COMMIT itself is the last word.
    result == ffi::SQLITE_OK && current > 0
}

/// Forgets the row that was inserted last, so that a statement that inserts none does not report another's.
pub(crate) fn forget_last_id(sqlite: &Connection) {
    // SAFETY: the handle is open for as long as `sqlite` is borrowed; the call stores an integer in it.
    unsafe { ffi::sqlite3_set_last_insert_rowid(sqlite.handle(), 0) }
}

/// Returns SQLite's error where it gets no memory.
#[cold]
pub(crate) fn no_memory() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None)
}

/// Reports whether SQLite got no memory, for itself or for the work on a file.
pub(crate) fn is_out_of_memory(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_NOMEM | ffi::SQLITE_IOERR_NOMEM))
}

/// Returns the error of a call on a connection: that of a full disk if a file has reached a limit on its size, which
/// SQLite tells as any other fault of the disk.
pub(crate) fn with_cause(sqlite: &Connection, error: rusqlite::Error) -> rusqlite::Error {
    let code = error.sqlite_error().map(|error| error.extended_code);
    if code != Some(ffi::SQLITE_IOERR_WRITE) {
        return error;
    }
    // SAFETY: the handle is open for as long as `sqlite` is borrowed; the call reads an integer of it.
    let cause = unsafe { ffi::sqlite3_system_errno(sqlite.handle()) };
    match std::io::Error::from_raw_os_error(cause).kind() {
        std::io::ErrorKind::FileTooLarge => rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_FULL),
            Some(FILE_TOO_LARGE.to_owned()),
        ),
        _ => error,
    }
}

/// The slot in which the progress handler, which SQLite keeps for the life of a connection, finds the watch of the
/// statement that
/// runs now, which lives for that statement only.
#[derive(Default)]
pub(crate) struct WatchSlot(Mutex<Option<&'static Watch>>);

impl WatchSlot {
    /// Does `work` while the slot shows `watch`.
    pub(crate) fn during<T>(&self, watch: &Watch, work: impl FnOnce() -> T) -> T {
        /// Empties the slot when `work` ends, by a panic too.
        struct Emptied<'a>(&'a WatchSlot);
        impl Drop for Emptied<'_> {
            fn drop(&mut self) {
                *self.0.lock() = None;
            }
        }
        // SAFETY: the reference is never handed out, only followed under the lock of the slot; `_emptied` takes it away
        // under the same lock before this function returns or unwinds, and thus while `watch` is still borrowed.
        let unbounded = unsafe { std::mem::transmute::<&Watch, &'static Watch>(watch) };
        let _emptied = Emptied(self);
        *self.lock() = Some(unbounded);
        work()
    }

    /// Reports whether the script that runs the statement has been told to stop.
    pub(crate) fn must_stop(&self) -> bool {
        self.lock().is_some_and(Watch::must_stop)
    }

    fn lock(&self) -> MutexGuard<'_, Option<&'static Watch>> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_shows_its_watch_only_meanwhile() {
        let (slot, watch) = (WatchSlot::default(), Watch::default());
        watch.enter(1);
        watch.stop(watch.epoch());
        assert!(!slot.must_stop());
        assert!(slot.during(&watch, || slot.must_stop()));
        assert!(!slot.must_stop());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            slot.during(&watch, || panic!("on purpose"));
        }));
        assert!(panicked.is_err() && !slot.must_stop());
    }

    #[test]
    fn deferred_violations_are_seen_and_gone() {
        let sqlite = crate::sqlite::memory::connect_in_memory().unwrap();
        sqlite
            .execute_batch(
                "PRAGMA foreign_keys=ON; CREATE TABLE a(id INTEGER PRIMARY KEY);
                 CREATE TABLE b(a REFERENCES a DEFERRABLE INITIALLY DEFERRED); BEGIN;",
            )
            .unwrap();
        assert!(!deferred_violations(&sqlite));
        sqlite.execute("INSERT INTO b VALUES (7)", []).unwrap();
        assert!(deferred_violations(&sqlite));
        sqlite.execute("INSERT INTO a VALUES (7)", []).unwrap();
        assert!(!deferred_violations(&sqlite));
        assert_eq!(sqlite.last_insert_rowid(), 7);
        forget_last_id(&sqlite);
        assert_eq!(sqlite.last_insert_rowid(), 0);
    }
}
