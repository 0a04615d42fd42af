//! The keys whose first request still runs, in all workers of a process.

use sampan_host::{Error, ErrorKind};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A digest of a user, a method, a URL and a key; or of a request.
pub(super) type KeyDigest = [u8; 32];

/// An id of a process, by which it knows its rows in the database again: 128 random bits.
pub(super) type ProcessId = [u8; 16];

/// The keys of requests that run now. They outlive a reload.
pub(crate) struct RunningKeys {
    process: ProcessId,
    keys: Mutex<HashSet<KeyDigest>>,
}

/// The right to run the request of a key. Dropping it lets the next one run.
pub(super) struct KeyClaim {
    running: Arc<RunningKeys>,
    digest: KeyDigest,
}

impl RunningKeys {
    /// Returns those of a process that begins.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new() -> Result<Self, Error> {
        let mut process = ProcessId::default();
        getrandom::fill(&mut process).map_err(|error| {
            let text = format!("the system has no random numbers for an id: {error}");
            Error::new(ErrorKind::Internal, text)
        })?;
        Ok(Self {
            process,
            keys: Mutex::default(),
        })
    }

    /// Returns the id of the process.
    pub(super) fn process(&self) -> ProcessId {
        self.process
    }

    /// Claims a key; `None` where a request of it runs.
    pub(super) fn claim(self: &Arc<Self>, digest: KeyDigest) -> Option<KeyClaim> {
        let mut running = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(digest).then(|| KeyClaim {
            running: Arc::clone(self),
            digest,
        })
    }
}

impl Drop for KeyClaim {
    fn drop(&mut self) {
        let running = &self.running.keys;
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_of_a_key_runs_at_a_time() {
        let running = Arc::new(RunningKeys::new().expect("random numbers"));
        let first = running.claim([1; 32]);
        assert!(first.is_some());
        assert!(running.claim([1; 32]).is_none());
        assert!(running.claim([2; 32]).is_some());
        drop(first);
        assert!(running.claim([1; 32]).is_some());
    }
}
