//! The progress of a copy, for the metrics.

use super::now;
use crate::pending::Pending;
use sampan_host::metrics::{Registry, known};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of a copy. Times are milliseconds since 1970.
pub(super) struct CopyProgress {
    /// The time at which something was written to the target last; 0 if nothing was.
    uploaded: AtomicU64,
    /// The time at which all was copied that there was to copy.
    complete: AtomicU64,
}

impl CopyProgress {
    /// Begins now.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            uploaded: AtomicU64::new(0),
            complete: AtomicU64::new(now()),
        })
    }

    /// Takes note that the target has taken something.
    pub(super) fn uploaded(&self) {
        self.uploaded.store(now(), Ordering::Relaxed);
    }

    /// Takes note that all is copied.
    pub(super) fn complete(&self) {
        self.complete.store(now(), Ordering::Relaxed);
    }

    /// Returns how far the copy is behind, in milliseconds.
    fn lag(&self, pending: &Pending) -> u64 {
        let since = match pending.oldest() {
            Some(oldest) => oldest,
            // Without a chain nothing waits in it: the whole database does.
            None if pending.is_broken() => self.complete.load(Ordering::Relaxed),
            None => return 0,
        };
        now().saturating_sub(since)
    }

    /// Has a registry ask.
    pub(super) fn measure(self: &Arc<Self>, pending: Pending, registry: &Registry) {
        let progress = Arc::clone(self);
        registry.collect(move |readings| {
            let seconds = |millis: u64| millis as f64 / 1_000.0;
            let lag = seconds(progress.lag(&pending));
            readings.put(&known::BACKUP_LAG, &[], lag);
            let uploaded = seconds(progress.uploaded.load(Ordering::Relaxed));
            readings.put(&known::BACKUP_UPLOADED, &[], uploaded);
        });
    }
}
