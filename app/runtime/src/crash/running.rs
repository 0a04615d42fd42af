//! The routes that run, told without a lock or an allocation, so that a signal handler may ask for them.

use sampan_host::Watch;
use sampan_serve::lane::RouteNames;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The workers that [`running_routes`] knows. Later ones are known to their threads alone.
const WORKERS_MAX: usize = 256;

static WORKERS: [OnceLock<ThreadWorker>; WORKERS_MAX] = [const { OnceLock::new() }; WORKERS_MAX];

/// True once the routes that run may be asked for.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// The number of workers so far.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// The worker of a thread.
#[derive(Clone, Copy)]
struct ThreadWorker {
    watch: &'static Watch,
    names: &'static RouteNames,
}

thread_local! {
    static WORKER: Cell<Option<ThreadWorker>> = const { Cell::new(None) };
}

/// Has workers that start from now on tell which route runs. For a process that ends with its server, as the stopwatch
/// and the names of each worker stay in memory.
pub fn tell_running_routes() {
    IS_TOLD.store(true, Ordering::Relaxed);
}

/// Takes note of the worker that this thread runs from now on, after [`tell_running_routes`]. Both live as long as the
/// process from then on: a signal may come at any time.
pub(crate) fn set_worker(watch: &Arc<Watch>, names: &Arc<RouteNames>) {
    if !IS_TOLD.load(Ordering::Relaxed) {
        return;
    }
    let watch: &'static Arc<Watch> = Box::leak(Box::new(Arc::clone(watch)));
    let names: &'static Arc<RouteNames> = Box::leak(Box::new(Arc::clone(names)));
    let worker = ThreadWorker { watch, names };
    WORKER.set(Some(worker));
    if let Some(place) = WORKERS.get(STARTED.fetch_add(1, Ordering::Relaxed)) {
        let _ = place.set(worker);
    }
}

/// Returns the method and the pattern of the route whose request runs on this thread. `None` if none does, or if it
/// has no name, or if [`tell_running_routes`] was not called before the worker started. A signal handler may call this.
pub fn running_route() -> Option<&'static str> {
    WORKER.get()?.route()
}

/// Returns the routes whose requests run on any thread, as [`running_route`]. A signal handler may call this.
pub fn running_routes() -> impl Iterator<Item = &'static str> {
    let workers = WORKERS.iter().filter_map(OnceLock::get);
    workers.filter_map(|worker| worker.route())
}

impl ThreadWorker {
    fn route(self) -> Option<&'static str> {
        self.names.get(self.watch.route())
    }
}
