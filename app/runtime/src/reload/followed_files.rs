//! The files that a project was loaded from, and the times at which they are looked at: for servers with
//! `mode = "file"`, and for pools of scripts.

use super::seen_files::SeenFiles;
use sampan_project::Project;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The files of the generation that counts, shared by all threads and kept over reloads.
pub(crate) struct FollowedFiles {
    seen: Mutex<Arc<SeenFiles>>,
    begun: Instant,
    check_time: Duration,
    /// The time at which it is looked next, in nanoseconds since the beginning.
    due_nanos: AtomicU64,
}

impl FollowedFiles {
    /// Notes what is read of the project that this gives. It is looked once in `check_time` at most whether that has
    /// changed.
    pub(crate) fn of(project: &Project, check_time: Duration) -> (Self, Project) {
        let seen = Arc::new(SeenFiles::new(project.root(), project.sources()));
        let noted = project.with_sources(Arc::clone(&seen) as _);
        let files = Self {
            seen: Mutex::new(seen),
            begun: Instant::now(),
            check_time,
            due_nanos: AtomicU64::new(0),
        };
        (files, noted)
    }

    /// Returns the project for another generation, and where it is noted what is read of it.
    pub(crate) fn anew(&self, project: &Project) -> (Project, Arc<SeenFiles>) {
        let seen = Arc::new(self.seen().anew());
        (project.with_sources(Arc::clone(&seen) as _), seen)
    }

    /// The files that count.
    pub(crate) fn seen(&self) -> Arc<SeenFiles> {
        Arc::clone(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Other files count from now on. Gives those before.
    pub(crate) fn replace(&self, seen: Arc<SeenFiles>) -> Arc<SeenFiles> {
        let mut current = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, seen)
    }

    /// Reports whether it is time to look. True for one caller each time.
    pub(crate) fn is_due(&self) -> bool {
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let due = self.due_nanos.load(Ordering::Relaxed);
        let next = now.saturating_add(self.check_time.as_nanos() as u64);
        let order = Ordering::Relaxed;
        now >= due
            && self
                .due_nanos
                .compare_exchange(due, next, order, order)
                .is_ok()
    }
}
