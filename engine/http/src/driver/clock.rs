//! A worker's coarse clock: read by every request, set by the ticks, so that requests cost no clock reading.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use crate::codec::encoder::DATE_BYTES;

/// Time that passes for deadlines in one step at most. A worker that was kept busy by one handler for
/// seconds has not listened for as long, and its other clients must not pay for that.
const STEP_MILLIS_MAX: u64 = 500;

/// Milliseconds on a clock that all threads share.
pub(super) fn process_millis() -> u64 {
    static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
    EPOCH.elapsed().as_millis() as u64
}

pub(super) struct Clock {
    /// Deadlines are counted on this: milliseconds in which the worker could have listened.
    millis: Cell<u64>,
    process_millis: Cell<u64>,
    /// The second that `date` shows, since 1970.
    second: Cell<u64>,
    date: Cell<[u8; DATE_BYTES]>,
}

impl Clock {
    pub(super) fn new() -> Clock {
        let clock = Clock {
            millis: Cell::new(0),
            process_millis: Cell::new(process_millis()),
            second: Cell::new(u64::MAX),
            date: Cell::new([b' '; DATE_BYTES]),
        };
        clock.update(false);
        clock
    }

    /// Reads the real clocks. `listened` says that the worker waited for events all the time since the last
    /// update, however long that was. Returns the time on [`process_millis`].
    pub(super) fn update(&self, listened: bool) -> u64 {
        let now = process_millis();
        let passed = now.saturating_sub(self.process_millis.replace(now));
        let counted = if listened {
            passed
        } else {
            passed.min(STEP_MILLIS_MAX)
        };
        self.millis.set(self.millis.get() + counted);
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        if wall.as_secs() != self.second.get() {
            self.second.set(wall.as_secs());
            let text = httpdate::fmt_http_date(
                SystemTime::UNIX_EPOCH + Duration::from_secs(wall.as_secs()),
            );
            if let Ok(date) = text.as_bytes().try_into() {
                self.date.set(date);
            }
        }
        now
    }

    /// Now, for deadlines.
    pub(super) fn now_millis(&self) -> u64 {
        self.millis.get()
    }

    /// Now, for the Date field.
    pub(super) fn date(&self) -> [u8; DATE_BYTES] {
        self.date.get()
    }
}
