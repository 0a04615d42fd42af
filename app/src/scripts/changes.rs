//! Whether a file of a script has changed since it was read.

use super::lock;
use crate::inspect::ReadFiles;
use crate::project::Project;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What tells one state of a file from another: its time in seconds and nanoseconds, its size, its number.
type Stamp = Option<(i64, i64, u64, u64)>;

/// The files that a script was made from.
pub(super) struct Changes {
    project: Project,
    files: Arc<ReadFiles>,
    pause: Duration,
    begun: Instant,
    /// When it is looked next, in microseconds since the beginning.
    due_micros: AtomicU64,
    stamps: Mutex<HashMap<String, Stamp>>,
}

impl Changes {
    /// Notes what is read of a project from now on.
    pub(super) fn of(project: &Project, pause: Duration) -> Self {
        let (project, files) = ReadFiles::of(project);
        Self {
            project,
            files,
            pause,
            begun: Instant::now(),
            due_micros: AtomicU64::new(0),
            stamps: Mutex::default(),
        }
    }

    /// The project whose reading is noted.
    pub(super) fn project(&self) -> Project {
        self.project.clone()
    }

    /// Whether it is time to look. True for one caller each time.
    pub(super) fn is_due(&self) -> bool {
        let now = self.begun.elapsed().as_micros() as u64;
        let due = self.due_micros.load(Ordering::Relaxed);
        let next = now + self.pause.as_micros() as u64;
        now >= due
            && self
                .due_micros
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Takes the files as they are now for those that were read.
    pub(super) fn note(&self) {
        let now = self.look();
        *lock(&self.stamps) = now;
    }

    /// Whether they differ from those noted before; they are noted.
    pub(super) fn has_changed(&self) -> bool {
        let now = self.look();
        let mut stamps = lock(&self.stamps);
        // A file that was read first meanwhile is no change.
        let is_other = |(path, stamp): (&String, &Stamp)| {
            let before = stamps.get(path);
            before.is_some_and(|before| before != stamp)
        };
        let has_changed = now.iter().any(is_other);
        *stamps = now;
        has_changed
    }

    fn look(&self) -> HashMap<String, Stamp> {
        let paths = self.files.paths();
        let stamp = |path: &str| {
            let whole: PathBuf = self.project.root().join(path);
            let found = whole.metadata().ok()?;
            Some((found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
        };
        paths
            .into_iter()
            .map(|path| (path.clone(), stamp(&path)))
            .collect()
    }
}
