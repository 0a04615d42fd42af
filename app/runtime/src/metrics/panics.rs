//! The number of panics, which are faults of the server itself. One costs the request that runs, and the process lives.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static SEEN: AtomicU64 = AtomicU64::new(0);

/// Counts the panics of the process from now on. The hook that was set before this goes on telling of them. Only the
/// first call has an effect.
pub fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            SEEN.fetch_add(1, Ordering::Relaxed);
            before(info);
        }));
    });
}

/// Returns the panics that were counted.
pub(super) fn seen() -> u64 {
    SEEN.load(Ordering::Relaxed)
}
