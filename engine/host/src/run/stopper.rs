//! Stopping work from another thread, also while a run of it goes on.

use crate::run::watch::Watch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Stops the runs of some work, from any thread.
#[derive(Default)]
pub struct Stopper(Mutex<Stops>);

#[derive(Default)]
struct Stops {
    is_stopped: bool,
    /// The stopwatch of the run that goes on now. It has a limit of its own.
    running: Option<Arc<Watch>>,
}

impl Stopper {
    /// Stops the run that goes on now, and each that begins later.
    pub fn stop(&self) {
        let mut stops = self.lock();
        stops.is_stopped = true;
        if let Some(watch) = &stops.running {
            watch.shorten_to(Duration::ZERO);
        }
    }

    /// Reports whether the work was stopped.
    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Takes note of a run that begins. Its limit was set by [`Watch::limit_until`].
    pub fn enter(&self, watch: &Arc<Watch>) {
        let mut stops = self.lock();
        stops.running = Some(Arc::clone(watch));
        if stops.is_stopped {
            watch.shorten_to(Duration::ZERO);
        }
    }

    /// Takes note of its end.
    pub fn leave(&self) {
        self.lock().running = None;
    }

    fn lock(&self) -> MutexGuard<'_, Stops> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn only_runs_of_its_own_work_are_stopped() {
        let (watch, hour) = (Arc::new(Watch::default()), Duration::from_secs(3_600));
        let begin = |stopper: &Stopper| {
            watch.limit_until(Some(Instant::now() + hour));
            stopper.enter(&watch);
        };
        let is_over = || watch.is_over(Duration::ZERO, hour);
        let (stopper, other) = (Stopper::default(), Stopper::default());
        begin(&other);
        stopper.stop();
        assert!(!is_over() && !other.is_stopped());
        other.leave();
        other.stop();
        assert!(!is_over(), "it has ended");
        begin(&stopper);
        assert!(is_over() && stopper.is_stopped());
        let late = Stopper::default();
        begin(&late);
        late.stop();
        assert!(is_over());
    }
}
