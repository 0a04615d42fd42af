//! Deadlines on a thread that also runs scripts.
//!
//! A script that computes keeps its thread, and nothing that waits there is looked at meanwhile: neither what the
//! server has sent nor the time. A deadline that is noticed long after it has passed says nothing about the server, so
//! the time begins again.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The delay from which on a timer is late because its thread was busy.
const LATE: Duration = Duration::from_millis(50);

/// The end of a wait.
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn new(limit: Duration) -> Self {
        let at = Instant::now() + limit;
        Self { at, limit }
    }

    /// The time at which to look again.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Reports whether the time is up. Begins it again if the thread could not look when it was.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if now < self.at {
            return false;
        }
        let is_late = now - self.at >= LATE;
        if is_late {
            self.at = now + self.limit;
        }
        !is_late
    }
}

/// Returns the output of a future, or `None` if the time is up first.
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut deadline = Deadline::new(limit);
    loop {
        match timeout_at(deadline.at(), future.as_mut()).await {
            Ok(output) => return Some(output),
            Err(_) if deadline.is_over() => return None,
            Err(_) => {}
        }
    }
}
