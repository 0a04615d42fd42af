//! The time of day as scripts see it: the system's, unless a test has set another.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; below zero while the system's time holds.
static SET_MILLIS: AtomicI64 = AtomicI64::new(-1);

/// True if scripts that load from now on get clocks of their languages that follow this one.
static IS_SETTABLE: AtomicBool = AtomicBool::new(false);

/// The time since 1970-01-01 00:00 UTC. A clock before 1970 reads as 1970.
#[inline]
pub fn since_1970() -> Duration {
    match u64::try_from(SET_MILLIS.load(Relaxed)) {
        Ok(millis) => Duration::from_millis(millis),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    }
}

/// Returns the time that a test has set, if one has.
pub fn set_time() -> Option<Duration> {
    let millis = u64::try_from(SET_MILLIS.load(Relaxed)).ok();
    millis.map(Duration::from_millis)
}

/// Lets the time of day be set: engines give scripts that load from now on clocks of their languages that follow it.
pub fn make_settable() {
    IS_SETTABLE.store(true, Relaxed);
}

/// Reports whether [`make_settable`] was called.
pub fn is_settable() -> bool {
    IS_SETTABLE.load(Relaxed)
}

/// Sets the time of day of the process, which stands still from now on, or with `None` lets the system's hold again.
/// Only tests of applications do so.
pub fn set(time: Option<Duration>) {
    let millis = time.map_or(-1, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    });
    SET_MILLIS.store(millis, Relaxed);
}
