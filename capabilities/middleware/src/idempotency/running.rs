//! The keys whose first request still runs, in all workers of a process.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A digest of a user, a method, a URL and a key; or of a request.
pub(super) type KeyDigest = [u8; 32];

/// The keys of requests that run now.
#[derive(Default)]
pub(crate) struct RunningKeys(Mutex<HashSet<KeyDigest>>);

/// The right to run the request of a key. Dropping it lets the next one run.
pub(super) struct KeyClaim {
    running: Arc<RunningKeys>,
    digest: KeyDigest,
}

impl RunningKeys {
    /// Claims a key; `None` where a request of it runs.
    pub(super) fn claim(self: &Arc<Self>, digest: KeyDigest) -> Option<KeyClaim> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(digest).then(|| KeyClaim {
            running: Arc::clone(self),
            digest,
        })
    }
}

impl Drop for KeyClaim {
    fn drop(&mut self) {
        let running = &self.running.0;
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_of_a_key_runs_at_a_time() {
        let running = Arc::new(RunningKeys::default());
        let first = running.claim([1; 32]);
        assert!(first.is_some());
        assert!(running.claim([1; 32]).is_none());
        assert!(running.claim([2; 32]).is_some());
        drop(first);
        assert!(running.claim([1; 32]).is_some());
    }
}
