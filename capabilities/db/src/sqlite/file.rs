//! Which file a database is, to notice when another one, or none, stands in its place.
//!
//! A connection that is opened on another file of the same name would take the write-ahead log beside it for its own, and empty
//! it: what is in there and not in the database would be lost. So only the first connection creates the file, and each later
//! one makes sure that it is the same.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The file that was opened, as the system numbers it; shared by clones. All are equal: it is no setting.
#[derive(Clone, Debug, Default)]
pub struct KnownFile(Arc<OnceLock<(u64, u64)>>);

impl PartialEq for KnownFile {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownFile {}

impl KnownFile {
    /// Remembers what stands at `path` now, if nothing is known yet.
    pub(crate) fn learn(&self, path: &Path) {
        if let Some(identity) = identity(path) {
            let _ = self.0.set(identity);
        }
    }

    /// Whether a file is known.
    pub(crate) fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether the file that is known stands at `path`; also where none is.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.0
            .get()
            .is_none_or(|known| identity(path).as_ref() == Some(known))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path)
        .ok()
        .map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
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

    /// Whether it is time to look again.
    pub(crate) fn is_due(&self) -> bool {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now < self.next_millis.load(Relaxed) {
            return false;
        }
        self.next_millis.store(now + Self::PAUSE_MILLIS, Relaxed);
        true
    }
}
