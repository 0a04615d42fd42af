//! Whether a file of a script has changed since it was read.

use super::lock;
use crate::project::Project;
use crate::reload::SeenFiles;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The files that a script was made from.
pub(super) struct Changes {
    /// The script as its author wrote it.
    project: Project,
    pause: Duration,
    begun: Instant,
    /// When it is looked next, in microseconds since the beginning.
    due_micros: AtomicU64,
    /// Those of the generation that is loaded.
    seen: Mutex<Arc<SeenFiles>>,
}

impl Changes {
    /// Notes what is read of a project from now on.
    pub(super) fn of(project: &Project, pause: Duration) -> Self {
        Self {
            seen: Mutex::new(Arc::new(SeenFiles::new(project.root(), project.sources()))),
            project: project.clone(),
            pause,
            begun: Instant::now(),
            due_micros: AtomicU64::new(0),
        }
    }

    /// The project whose reading is noted, for the first time.
    pub(super) fn project(&self) -> Project {
        self.project.with_sources(self.seen() as _)
    }

    /// The same for a further time, and where it is noted.
    pub(super) fn anew(&self) -> (Project, Arc<SeenFiles>) {
        let seen = Arc::new(self.seen().anew());
        (self.project.with_sources(Arc::clone(&seen) as _), seen)
    }

    fn seen(&self) -> Arc<SeenFiles> {
        Arc::clone(&lock(&self.seen))
    }

    /// Whether it is time to look. True for one caller each time.
    pub(super) fn is_due(&self) -> bool {
        let now = self.begun.elapsed().as_micros() as u64;
        let due = self.due_micros.load(Ordering::Relaxed);
        let next = now + self.pause.as_micros() as u64;
        let order = Ordering::Relaxed;
        let is_first = || {
            self.due_micros
                .compare_exchange(due, next, order, order)
                .is_ok()
        };
        now >= due && is_first()
    }

    /// Whether the files that were read are others now.
    pub(super) fn have_changed(&self) -> bool {
        self.seen().have_changed()
    }

    /// These files are loaded now. Gives those before.
    pub(super) fn serve(&self, seen: Arc<SeenFiles>) -> Arc<SeenFiles> {
        std::mem::replace(&mut *lock(&self.seen), seen)
    }

    /// The files of the newest generation do not load: those before count, and nothing is tried again until a file has changed.
    pub(super) fn go_back_to(&self, before: Arc<SeenFiles>) {
        let failed = self.serve(Arc::clone(&before));
        before.wait_for_change_of(&failed);
    }

    /// The newest generation is loaded: files that it did not find do not matter.
    pub(super) fn is_loaded(&self) {
        self.seen().is_loaded();
    }
}
