//! The end of an isolate that another has replaced: its requests end in it, its streams have some time, then its
//! `on_stop` runs.

use crate::hooks::Hooks;
use sampan_host::Error;
use sampan_serve::Loaded;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::spawn_local;

/// The interval between two checks whether an isolate still has requests.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// The number of isolates of a worker that are ending.
#[derive(Clone, Default)]
pub(crate) struct Retiring(Rc<Cell<usize>>);

impl Retiring {
    /// Waits until all of them have ended. Each has a limit.
    pub(crate) async fn ended(&self) {
        while self.0.get() > 0 {
            tokio::time::sleep(LOOKS_EVERY).await;
        }
    }
}

/// Counts one for as long as it lives.
struct OneOf(Retiring);

impl OneOf {
    fn new(retiring: &Retiring) -> Self {
        retiring.0.set(retiring.0.get() + 1);
        Self(retiring.clone())
    }
}

impl Drop for OneOf {
    fn drop(&mut self) {
        let count = &self.0.0;
        count.set(count.get() - 1);
    }
}

/// Lets an isolate end that gets no more requests.
pub(crate) fn retire(old: Rc<Loaded>, retiring: &Retiring) {
    let one = OneOf::new(retiring);
    drop(spawn_local(async move {
        let control = &old.control;
        let time_max = control.shutdown_time_max;
        idle(&old, time_max).await;
        control.streams.begin();
        // What does not answer in this time is answered by the server, and has some time to end.
        idle(&old, control.handler_time_max + control.cleanup_time_max).await;
        stop(&old, time_max).await;
        drop(one);
    }));
}

/// Runs the `on_stop` of an isolate, within a time or what a shutdown leaves of it.
pub(crate) async fn stop(loaded: &Loaded, time_max: Duration) {
    let control = &loaded.control;
    let passed = control
        .ending
        .get()
        .map_or(Duration::ZERO, Instant::elapsed);
    let report = |error: &Error| {
        let text = format!("on_stop: {error}");
        sampan_serve::log_of(&*control.logger, None, text, error);
    };
    let left = time_max.saturating_sub(passed);
    let hooks = loaded.context.get::<Hooks>().unwrap_or_default();
    hooks.stop(&control.gate, left, report).await;
}

/// Waits until nothing runs in an isolate any more, but not for ever.
async fn idle(loaded: &Rc<Loaded>, time_max: Duration) {
    let begun = Instant::now();
    while !is_idle(loaded) {
        // A shutdown has a time of its own, which may be shorter.
        let ending = loaded.control.ending.get().map(Instant::elapsed);
        let is_over = ending.is_some_and(|passed| passed >= loaded.control.shutdown_time_max);
        if is_over || begun.elapsed() >= time_max {
            return;
        }
        tokio::time::sleep(LOOKS_EVERY).await;
    }
}

/// Reports whether nothing runs: a request holds the project, a stream holds its control, work after answers is
/// counted.
fn is_idle(loaded: &Rc<Loaded>) -> bool {
    Rc::strong_count(loaded) == 1
        && Rc::strong_count(&loaded.control) == 1
        && loaded.engine.background_requests() == 0
}
