//! Jumps of the machine's clock.

use crate::limits::JUMP;
use crate::queue::now;
use std::time::{Duration, Instant};

/// The time of day beside the time that has passed: they differ after a jump of the clock.
pub(super) struct ClockWatch {
    wall: i64,
    at: Instant,
}

impl ClockWatch {
    pub(super) fn new() -> Self {
        Self {
            wall: now(),
            at: Instant::now(),
        }
    }

    /// Reports whether the clock has jumped since the last call.
    pub(super) fn has_jumped(&mut self) -> bool {
        let before = std::mem::replace(self, Self::new());
        let passed = self.at.duration_since(before.at).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        let jumped = self.wall.saturating_sub(before.wall).saturating_sub(passed);
        Duration::from_millis(jumped.unsigned_abs()) >= JUMP
    }
}
