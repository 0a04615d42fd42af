//! Upper bounds on time that hold on a busy machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time that the control sleeps at a time.
const NAP: Duration = Duration::from_millis(2);

/// Measures time beside a control: a thread that only sleeps, and adds up how much too late it wakes. What the machine
/// takes from the control it takes from everybody, so it does not count for an upper bound.
#[derive(Debug)]
pub struct Stopwatch {
    started: Instant,
    late_nanos: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Stopwatch {
    /// Starts it, and its control.
    pub fn start() -> Self {
        let (late_nanos, is_over) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (late, over) = (Arc::clone(&late_nanos), Arc::clone(&is_over));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let before = Instant::now();
                std::thread::sleep(NAP);
                let nanos = before.elapsed().saturating_sub(NAP).as_nanos();
                late.fetch_add(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        Self {
            started: Instant::now(),
            late_nanos,
            is_over,
        }
    }

    /// The time since the start by the clock: for lower bounds.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The time since the start without that by which the control was late: for upper bounds.
    pub fn fair(&self) -> Duration {
        // The control may be late just now: only after its nap is over it tells.
        let elapsed = self.elapsed();
        std::thread::sleep(2 * NAP);
        elapsed.saturating_sub(Duration::from_nanos(
            self.late_nanos.load(Ordering::Relaxed),
        ))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
