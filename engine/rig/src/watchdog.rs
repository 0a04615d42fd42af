//! The thread that stops scripts that run too long, as the server's watchdog does.

use crate::slowness;
use sampan_client::wait;
use sampan_host::Watch;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The factor by which a run may exceed its limit while its thread waits for a processor.
const STARVED_TIMES: u32 = 20;

/// Stops runs of this thread that take more processor time than the limit. On a busy machine a script would otherwise
/// be stopped before it does what a test is about. Ends with the watch.
pub(crate) fn start(watch: &Arc<Watch>, millis_max: u64) {
    let watch = Arc::downgrade(watch);
    let time_max = Duration::from_millis(millis_max) * slowness();
    let time = ProcessorTime::of_this_thread();
    std::thread::spawn(move || {
        let (mut seen, mut since, mut before) = (0, Instant::now(), Duration::ZERO);
        while let Some(watch) = watch.upgrade() {
            let epoch = watch.epoch();
            if epoch != seen || epoch & 1 == 0 {
                (seen, since, before) = (epoch, Instant::now(), time.used().unwrap_or_default());
            } else if since.elapsed() >= time_max {
                let used = time.used().map(|used| used.saturating_sub(before));
                let is_starved = used.is_some_and(|used| used < time_max);
                if !is_starved || since.elapsed() >= time_max * STARVED_TIMES {
                    watch.stop(epoch);
                }
            }
            drop(watch);
            wait::dawdle(Duration::from_millis(2));
        }
    });
}

/// The processor time of a thread, read from another thread.
struct ProcessorTime(Option<PathBuf>);

impl ProcessorTime {
    fn of_this_thread() -> Self {
        let own = std::fs::read_link("/proc/thread-self").ok();
        Self(own.map(|own| Path::new("/proc").join(own).join("schedstat")))
    }

    /// Returns the time that the thread has had a processor, to some milliseconds; `None` where the system does not
    /// tell.
    fn used(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(self.0.as_ref()?).ok()?;
        let nanos = text.split(' ').next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    }
}
