//! Free memory, which a thread of low priority gives back to the system.
//!
//! An allocator that gives it back within some allocation lets any request pay for all: a quick one waits for tens of
//! milliseconds while the pages go that slow ones have left.

use sampan_serve::allocator;
use std::sync::Once;
use std::thread;
use std::time::Duration;

/// The nice value of the thread, which is that of the slow lane.
const NICE: i32 = 10;

/// The interval at which memory goes back.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts the thread, once in a process, where the functions of the allocator are known. It lives as long as the
/// process.
pub(crate) fn give_back() {
    static STARTED: Once = Once::new();
    let Some(allocator) = allocator() else {
        return;
    };
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("sampan-memory".to_owned());
        let started = thread.spawn(move || {
            // Without the priority it works all the same.
            let _ = rustix::process::setpriority_process(None, NICE);
            loop {
                thread::sleep(INTERVAL);
                (allocator.release)();
            }
        });
        // Without a thread, allocations go on to give memory back.
        if started.is_ok() {
            (allocator.leave_to_release)();
        }
    });
}
