//! The identity of a database file, to notice when another one, or none, stands in its place.
//!
//! A connection that is opened on another file of the same name would take the write-ahead log beside it for its own,
//! and empty it: what is in there and not in the database would be lost. So only the first connection creates the file,
//! and each later one makes sure that it is the same.

use super::log_files::{LogFiles, identity};
use rustix::fs::inotify;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

/// The bytes of events that one look reads. More events stay for the next look.
const EVENT_BYTES: usize = 1024;

/// The file that was opened, as the system numbers it; shared by clones. All are equal: it is not a setting.
#[derive(Clone, Debug, Default)]
pub struct KnownFile(Arc<OnceLock<OpenedFile>>);

#[derive(Debug)]
struct OpenedFile {
    /// The device and the inode.
    identity: (u64, u64),
    /// Has events when the file or its log was moved, removed or changed its links. `None` where the system has no
    /// watch left.
    events: Option<OwnedFd>,
    /// True if an event was seen, and since then the file at the path could be another.
    is_suspect: AtomicBool,
    /// The log and its index beside it.
    logs: Mutex<LogFiles>,
    /// True if there is a lost log.
    is_log_lost: AtomicBool,
    lost_log: Mutex<Option<LostLog>>,
}

/// A log that was removed or replaced while it was open.
#[derive(Debug, Clone, Copy)]
struct LostLog {
    /// True if all of it is in the file.
    is_copied: bool,
    /// The time of the last change of the file by this process, if the file can be asked.
    changed: Option<SystemTime>,
}

impl OpenedFile {
    /// Reports whether the file may have been moved or removed since the last look. Asking for the length of the queue
    /// takes 0.27 µs where the shortest system call takes 0.18, and asking for the file at the path takes 1.0.
    fn is_suspect(&self) -> bool {
        let Some(events) = &self.events else {
            return true;
        };
        if let Ok(1..) = rustix::io::ioctl_fionread(events) {
            let _ = rustix::io::read(events, &mut [0; EVENT_BYTES]);
            self.is_suspect.store(true, Relaxed);
        }
        self.is_suspect.load(Relaxed)
    }

    fn lost_log(&self) -> Option<LostLog> {
        let is_lost = self.is_log_lost.load(Relaxed);
        let lost = || *self.lost_log.lock().unwrap_or_else(PoisonError::into_inner);
        is_lost.then(lost).flatten()
    }

    fn set_lost_log(&self, lost: Option<LostLog>) {
        *self.lost_log.lock().unwrap_or_else(PoisonError::into_inner) = lost;
        self.is_log_lost.store(lost.is_some(), Relaxed);
    }

    fn logs(&self) -> MutexGuard<'_, LogFiles> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for KnownFile {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownFile {}

impl KnownFile {
    /// Remembers what stands at `path` now, if nothing is known yet.
    pub(crate) fn learn(&self, path: &Path) {
        if self.is_known() {
            return;
        }
        // Watched first: a file that is moved between the two is noticed.
        let events = watch(path).ok();
        if let Some(identity) = identity(path) {
            let _ = self.0.set(OpenedFile {
                identity,
                events,
                is_suspect: AtomicBool::new(false),
                logs: Mutex::default(),
                is_log_lost: AtomicBool::new(false),
                lost_log: Mutex::default(),
            });
        }
    }

    /// Remembers the log and its index that are open beside the file, if it stands at `path`.
    pub(crate) fn learn_logs(&self, path: &Path) {
        if let Some(known) = self.0.get()
            && self.is_at(path)
        {
            let logs = LogFiles::beside(path);
            if let Some(events) = &known.events {
                // One that may not be watched is noticed by the lookout.
                logs.paths().for_each(|log| {
                    let _ = inotify::add_watch(events, log, leaving());
                });
            }
            *known.logs() = logs;
            known.set_lost_log(None);
        }
    }

    /// Returns the path of the index of the log that is open.
    pub(crate) fn index(&self) -> Option<PathBuf> {
        self.0.get()?.logs().index().map(Path::to_owned)
    }

    /// Reports whether the log or its index was removed or replaced while it was open.
    fn has_lost_logs(&self) -> bool {
        self.0.get().is_some_and(|known| known.logs().have_left())
    }

    /// Reports whether the log itself was removed or replaced while it was open.
    pub(crate) fn has_lost_log(&self) -> bool {
        self.0
            .get()
            .is_some_and(|known| known.logs().has_lost_log())
    }

    /// Reports whether another process has written a log of its own beside the path of the file: the last connection
    /// that closes may not delete it.
    pub(crate) fn has_other_log(&self) -> bool {
        self.0
            .get()
            .is_some_and(|known| known.logs().has_other_log())
    }

    /// Reports whether the file itself stands at `path`, and no other process has written a log since it was opened:
    /// the open connections can copy theirs into the file.
    pub(crate) fn is_log_ours(&self, path: &Path) -> bool {
        let known = self.0.get();
        self.is_at(path) && known.is_some_and(|known| known.logs().are_ours())
    }

    /// Takes note that the log was lost, and whether all of it was copied into the file, which stands at `path`.
    pub(crate) fn note_lost_log(&self, path: &Path, is_copied: bool) {
        if let Some(known) = self.0.get() {
            let changed = time_of_change(path);
            known.set_lost_log(Some(LostLog { is_copied, changed }));
        }
    }

    /// Reports whether the log was lost, and all of it is in the file.
    pub(crate) fn is_log_copied(&self) -> bool {
        let lost = self.0.get().and_then(OpenedFile::lost_log);
        lost.is_some_and(|lost| lost.is_copied)
    }

    /// Reports whether the open connections may use the file at `path`: not if their log was lost and another process
    /// has written to the file since. They would read or write wrong pages.
    #[inline]
    pub(crate) fn is_ours(&self, path: &Path) -> bool {
        let lost = self.0.get().and_then(OpenedFile::lost_log);
        lost.is_none_or(|lost| !self.has_other_log() && time_of_change(path) == lost.changed)
    }

    /// Reports whether a connection may be opened. Not beside another log than the one that is open: it would look for
    /// the pages of that one there. If the log was lost, it may once all of the log is in the file.
    pub(crate) fn may_open(&self, path: &Path) -> bool {
        self.is_at(path)
            && (!self.has_lost_log() || (self.is_log_copied() && !self.has_other_log()))
    }

    /// Reports whether the file that is known stands at `path`, with the log and the index that are open beside it.
    pub(crate) fn is_whole_at(&self, path: &Path) -> bool {
        self.is_at(path) && !self.has_lost_logs()
    }

    /// Forgets the log and its index: no connection is open.
    pub(crate) fn forget_logs(&self) {
        if let Some(known) = self.0.get() {
            *known.logs() = LogFiles::default();
            known.set_lost_log(None);
        }
    }

    /// Forgets the log and its index, which the last connection that closes removes, unless the log is lost already:
    /// the connections may not touch what stands in its place.
    pub(crate) fn expect_end(&self) {
        if let Some(known) = self.0.get() {
            let mut logs = known.logs();
            if !logs.has_lost_log() {
                *logs = LogFiles::default();
            }
        }
    }

    /// Reports whether the log or its index still stands beside the path of the file.
    pub(crate) fn has_logs(&self) -> bool {
        self.0.get().is_some_and(|known| known.logs().are_there())
    }

    /// Renames the log and its index, because the file has left. Returns their new paths.
    ///
    /// # Errors
    /// One cannot be renamed.
    pub(crate) fn move_logs_aside(&self) -> io::Result<Vec<PathBuf>> {
        let known = self.0.get();
        known.map_or_else(|| Ok(Vec::new()), |known| known.logs().move_aside())
    }

    /// Gives the log and its index their names back, because the file has returned.
    pub(crate) fn move_logs_back(&self) {
        if let Some(known) = self.0.get() {
            known.logs().move_back();
        }
    }

    /// Reports whether a file is known.
    pub(crate) fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Reports whether the file that is known stands at `path`; also where none is.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.0
            .get()
            .is_none_or(|known| identity(path) == Some(known.identity))
    }

    /// Reports whether another file, or none, stands at `path` now, or in the place of its log, for the connection that
    /// writes.
    pub(crate) fn has_left(&self, path: &Path) -> bool {
        let Some(known) = self.0.get() else {
            return false;
        };
        if !known.is_suspect() {
            return false;
        }
        let has_left = !self.is_whole_at(path);
        known.is_suspect.store(has_left, Relaxed);
        has_left
    }
}

/// Returns the events of a file that leaves its path. One that is removed while it is open has one link less, which is
/// a change of its attributes.
fn leaving() -> inotify::WatchFlags {
    use inotify::WatchFlags;
    WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF | WatchFlags::ATTRIB
}

/// Returns the time at which the file at `path` was last changed.
fn time_of_change(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|file| file.modified())
        .ok()
}

fn watch(path: &Path) -> rustix::io::Result<OwnedFd> {
    use inotify::{CreateFlags, WatchFlags};
    let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    inotify::add_watch(&events, path, leaving())?;
    // The path leads to another file, or to none, when a folder above it is moved. Those that may not be watched are
    // noticed by the lookout.
    for folder in path.ancestors().skip(1) {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let _ = inotify::add_watch(&events, folder, WatchFlags::MOVE_SELF);
    }
    Ok(events)
}

/// Looks at the file now and then.
pub(crate) struct Lookout {
    began: Instant,
    next_millis: AtomicU64,
}

impl Lookout {
    const PAUSE_MILLIS: u64 = 500;

    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            next_millis: AtomicU64::new(Self::PAUSE_MILLIS),
        }
    }

    /// Reports whether it is time to look again.
    pub(crate) fn is_due(&self) -> bool {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now < self.next_millis.load(Relaxed) {
            return false;
        }
        self.next_millis.store(now + Self::PAUSE_MILLIS, Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_moved_or_removed_is_missed_at_once() {
        for leave in [
            |path: &Path| std::fs::remove_file(path),
            |path: &Path| std::fs::rename(path, path.with_extension("old")),
            |path: &Path| {
                let above = path.parent().expect("a folder");
                std::fs::rename(above, above.with_extension("old"))
            },
            |path: &Path| {
                std::fs::write(path.with_extension("new"), "b")?;
                std::fs::rename(path.with_extension("new"), path)
            },
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("app/data.db");
            std::fs::create_dir(folder.path().join("app")).expect("made");
            std::fs::write(&path, "a").expect("written");
            let file = KnownFile::default();
            file.learn(&path);
            assert!(!file.has_left(&path));
            std::fs::write(&path, "aa").expect("written");
            assert!(!file.has_left(&path));
            leave(&path).expect("done");
            assert!(file.has_left(&path) && file.has_left(&path));
        }
    }
}
