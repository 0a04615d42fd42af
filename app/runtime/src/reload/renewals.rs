//! The outcome of a generation in the isolates of slow routes and of jobs, which load it when they have time.

use crate::locks::lock;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The outcome of a generation in the isolates that load it when they have time.
#[derive(Default)]
pub(crate) struct Renewals {
    outcomes: Mutex<Outcomes>,
    has_changed: Condvar,
}

#[derive(Default)]
struct Outcomes {
    /// The number of isolates that have loaded the generation, or failed to.
    ended: usize,
    /// Each fault once: most often all isolates have the same.
    faults: Vec<String>,
}

impl Renewals {
    /// Takes note that an isolate has loaded the generation, or why not.
    pub(crate) fn note(&self, fault: Option<String>) {
        let mut outcomes = lock(&self.outcomes);
        outcomes.ended += 1;
        if let Some(fault) = fault.filter(|fault| !outcomes.faults.contains(fault)) {
            outcomes.faults.push(fault);
        }
        self.has_changed.notify_all();
    }

    /// Waits until so many isolates have loaded the generation or failed to, for a time. Returns the faults.
    pub(super) fn faults(&self, count: usize, time_max: Duration) -> Vec<String> {
        let outcomes = lock(&self.outcomes);
        let is_awaited = |outcomes: &mut Outcomes| outcomes.ended < count;
        let waited = self
            .has_changed
            .wait_timeout_while(outcomes, time_max, is_awaited);
        let (outcomes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        outcomes.faults.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_once_and_isolates_that_take_long_are_not_awaited() {
        let renewals = Renewals::default();
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(1));
        assert!(renewals.faults(0, long).is_empty());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| renewals.faults(3, long));
            renewals.note(None);
            renewals.note(Some("no start".to_owned()));
            renewals.note(Some("no start".to_owned()));
            assert_eq!(waiting.join().expect("faults"), ["no start"]);
        });
        assert_eq!(renewals.faults(4, short), ["no start"]);
    }
}
