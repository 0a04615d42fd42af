//! The samples of all workers, for `sampan profile`: the thread that asks for them, and the names of what was seen.

use crate::server::Running;
use crate::worker::watchdog::Watchdog;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The pause between two samples: a bit more than a millisecond, so that nothing that happens each millisecond is
/// always or never seen.
const PAUSE: Duration = Duration::from_micros(1_003);

/// The name for samples without a route, such as a function that a capability calls.
const NO_ROUTE: &str = "[no route]";

/// Takes samples of what the scripts of a server do, from its start on. Dropping it ends that.
pub struct Profiler {
    watchdog: Watchdog,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Takes samples from now on. The server was started with
    /// [`ProgramParts::is_profiled`](crate::ProgramParts::is_profiled).
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn profiler(&self) -> Result<Profiler, String> {
        let watchdog = self.watchdog();
        let is_over = Arc::new(AtomicBool::new(false));
        let (watched, over) = (watchdog.clone(), Arc::clone(&is_over));
        let body = move || {
            let mut next = Instant::now();
            while !over.load(Ordering::Relaxed) {
                watched.sample();
                next += PAUSE;
                let now = Instant::now();
                // What was missed is not made up for: it would be a burst.
                next = next.max(now);
                std::thread::sleep(next - now);
            }
        };
        let thread = std::thread::Builder::new().name("sampan-profile".into());
        let thread = thread.stack_size(256 * 1024).spawn(body);
        Ok(Profiler {
            watchdog,
            is_over,
            thread: Some(thread.map_err(|error| format!("cannot start a thread: {error}"))?),
        })
    }
}

impl Profiler {
    /// Returns the number of times that each stack was seen: the route, then the calls, outermost first.
    pub fn end(mut self) -> BTreeMap<Vec<String>, u64> {
        self.stop();
        let mut all = BTreeMap::new();
        for (stacks, names) in self.watchdog.stacks() {
            for stack in stacks {
                let name = names.iter().find(|(id, _)| *id == stack.handler);
                let name = name.map_or(NO_ROUTE, |(_, name)| name).to_owned();
                let calls = std::iter::once(name).chain(stack.calls).collect();
                *all.entry(calls).or_default() += stack.count;
            }
        }
        all
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        self.stop();
    }
}
