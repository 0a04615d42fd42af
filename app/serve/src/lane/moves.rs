//! The moves of routes between the lanes, counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The numbers of routes that have moved since the server started.
#[derive(Debug, Default)]
pub struct LaneMoves {
    pub(super) to_slow: AtomicU64,
    pub(super) to_quick: AtomicU64,
}

impl LaneMoves {
    /// Returns the number of moves to the slow lane, and back.
    pub fn counts(&self) -> (u64, u64) {
        (self.to_slow.load(Relaxed), self.to_quick.load(Relaxed))
    }
}
