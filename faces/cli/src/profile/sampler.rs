//! The samples of all workers, for `sampan profile`: the thread that asks for them, and the names of what was seen.

use sampan_runtime::{Running, Samples};
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
pub(crate) struct Profiler {
    samples: Samples,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Profiler {
    /// Takes samples of a server from now on. It was started with
    /// [`ProgramParts::is_profiled`](sampan_runtime::ProgramParts::is_profiled).
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(server: &Running) -> Result<Self, String> {
        let samples = server.samples();
        let is_over = Arc::new(AtomicBool::new(false));
        let (watched, over) = (samples.clone(), Arc::clone(&is_over));
        let body = move || {
            let mut next = Instant::now();
            while !over.load(Ordering::Relaxed) {
                watched.take();
                next += PAUSE;
                let now = Instant::now();
                // What was missed is not made up for: it would be a burst.
                next = next.max(now);
                std::thread::sleep(next - now);
            }
        };
        let thread = std::thread::Builder::new().name("sampan-profile".into());
        let thread = thread.stack_size(256 * 1024).spawn(body);
        Ok(Self {
            samples,
            is_over,
            thread: Some(thread.map_err(|error| format!("cannot start a thread: {error}"))?),
        })
    }

    /// Returns the number of times that each stack was seen: the route, then the calls, outermost first.
    pub(crate) fn end(mut self) -> BTreeMap<Vec<String>, u64> {
        self.stop();
        let mut all = BTreeMap::new();
        for worker in self.samples.stacks() {
            for stack in worker.stacks {
                let name = worker.handlers.iter().find(|(id, _)| *id == stack.handler);
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
