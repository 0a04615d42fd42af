//! The passing of time in tests. A test waits for an event and not for a length of time that its author guessed.
//!
//! `cargo xtask tidy` refuses `sleep` in other test code.

use std::fmt::Display;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The longest time that an event may take. A machine that does much else beside the tests needs less, so only a fault
/// reaches it.
pub const EVENT_TIME_MAX: Duration = Duration::from_secs(60);

/// The time between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(2);
/// The looks in a row that must give one value until it counts as settled.
const LOOKS_SETTLED: u32 = 50;

/// Sets a flag when it goes. Threads that run until the flag is set end where a test fails, too, and keep no scope
/// waiting for ever.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Waits until `is_so` holds.
///
/// # Panics
/// It does not hold within [`EVENT_TIME_MAX`].
#[track_caller]
pub fn until(what: impl Display, mut is_so: impl FnMut() -> bool) {
    found(what, || is_so().then_some(()));
}

/// Waits until `find` finds something, and returns it.
///
/// # Panics
/// It finds nothing within [`EVENT_TIME_MAX`].
#[track_caller]
pub fn found<T>(what: impl Display, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + EVENT_TIME_MAX;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "{what}: not within {EVENT_TIME_MAX:?}"
        );
        std::thread::sleep(LOOK_PAUSE);
    }
}

/// Waits until `look` has returned the same value for a while, and returns it. For upper bounds: where nothing stops
/// the value, it never settles, or settles above the bound.
///
/// # Panics
/// It does not settle within [`EVENT_TIME_MAX`].
#[track_caller]
pub fn settled<T: PartialEq>(what: impl Display, mut look: impl FnMut() -> T) -> T {
    let (mut last, mut looks) = (look(), 0);
    until(what, || {
        let now = look();
        looks = if now == last { looks + 1 } else { 0 };
        last = now;
        looks == LOOKS_SETTLED
    });
    last
}

/// Waits until `is_so` holds, while other tasks of the thread's runtime run.
///
/// # Panics
/// It does not hold within [`EVENT_TIME_MAX`].
pub async fn until_async(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + EVENT_TIME_MAX;
    poll_fn(|cx| {
        if is_so() {
            return Poll::Ready(());
        }
        assert!(
            Instant::now() < deadline,
            "{what}: not within {EVENT_TIME_MAX:?}"
        );
        std::thread::sleep(LOOK_PAUSE / 10);
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Takes time because slowness is what is tested: that of a client, a handler or a disk. A test must hold however much
/// longer this takes.
pub fn dawdle(time: Duration) {
    std::thread::sleep(time);
}

/// Returns the processor time of this thread, exact to a few milliseconds: other work on the machine does not count.
///
/// # Panics
/// The system is not Linux.
pub fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let nanos = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("a number"))
}
