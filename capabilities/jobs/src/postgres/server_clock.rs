//! The clock of the server.

use crate::limits::JUMP;
use crate::queue::now;
use std::time::Instant;

/// The server's clock, as it was seen last.
pub(super) struct ServerClock {
    millis: i64,
    seen: Instant,
}

impl ServerClock {
    /// Returns the clock of this machine, until the server's is seen.
    pub(super) fn new() -> Self {
        Self {
            millis: now(),
            seen: Instant::now(),
        }
    }

    /// Returns about what it shows now.
    pub(super) fn now(&self) -> i64 {
        let passed = i64::try_from(self.seen.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.millis.saturating_add(passed)
    }

    /// Takes note of what it showed at some time since `asked`. Reports whether it has jumped since it was seen before.
    pub(super) fn see(&mut self, millis: i64, asked: Instant) -> bool {
        let jump = i64::try_from(JUMP.as_millis()).unwrap_or(i64::MAX);
        let waited = i64::try_from(asked.elapsed().as_millis()).unwrap_or(i64::MAX);
        let latest = self.now().saturating_add(jump);
        let earliest = self.now().saturating_sub(waited).saturating_sub(jump);
        (self.millis, self.seen) = (millis, Instant::now());
        !(earliest..=latest).contains(&millis)
    }
}
