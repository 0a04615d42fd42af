//! The JavaScript threads of the program as the host of the server's workers.

use super::pump::Bell;
use sampan_host::{Error, Isolate, Setup};
use sampan_runtime::{Host, HostedWorker};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Hands workers to threads: place 0 is the program's own, each other one a worker thread of the platform.
#[derive(Debug)]
pub(super) struct JsHost {
    /// Of the program's own thread.
    bell: Arc<Bell>,
    root: PathBuf,
    workers: Mutex<StartingWorkers>,
}

/// Workers on their way to their threads.
#[derive(Debug, Default)]
struct StartingWorkers {
    by_place: BTreeMap<usize, HostedWorker>,
    /// The number of connections that have come so far, and how many of them the program's own thread knows of.
    come: usize,
    seen: usize,
}

impl JsHost {
    pub(super) fn new(bell: Arc<Bell>, root: PathBuf) -> Self {
        Self {
            bell,
            root,
            workers: Mutex::default(),
        }
    }

    /// The project's folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The places of the workers that have come since the last call.
    pub(super) fn arrived(&self) -> Range<usize> {
        let mut workers = self.workers();
        let arrived = workers.seen..workers.come;
        workers.seen = workers.come;
        arrived
    }

    /// The worker of a place, for its thread. Once.
    pub(super) fn take(&self, place: usize) -> Option<HostedWorker> {
        self.workers().by_place.remove(&place)
    }

    fn workers(&self) -> MutexGuard<'_, StartingWorkers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for JsHost {
    fn run(&self, worker: HostedWorker) {
        let mut workers = self.workers();
        let place = workers.come;
        workers.come += 1;
        workers.by_place.insert(place, worker);
        drop(workers);
        self.bell.ring();
    }

    fn load(&self, setup: Setup) -> Result<Box<dyn Isolate>, Error> {
        sampan_napi::load(setup)
    }
}
