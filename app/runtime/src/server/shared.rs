//! The state that the parts of a server share.

use super::events::ServerEvent;
use super::worker::WorkerThread;
use crate::app_config::AppConfig;
use crate::generation::Generation;
use crate::health::handler::HealthAnswers;
use crate::health::monitor::HealthMonitor;
use crate::lane::shared::Lane;
use crate::listening::ServerCertificates;
use crate::locks::lock;
use crate::metrics::handler::MetricsAnswers;
use crate::worker::order::Order;
use crate::worker::watchdog::Watchdog;
use sampan_db::AppDatabase;
use sampan_host::capability::Beside;
use sampan_host::metrics::Registry;
use sampan_host::trace::Tracing;
use sampan_http::{ClientBytes, Limits, Parking, WorkerHandle, Workers};
use sampan_serve::lane::RouteNames;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// A worker that serves.
pub(crate) struct CrewMember {
    pub(crate) id: u64,
    pub(super) handle: WorkerHandle,
    pub(crate) orders: UnboundedSender<Order>,
    pub(super) thread: WorkerThread,
}

/// The threads beside those that take connections.
pub(crate) struct BesideCrew {
    pub(super) beside: Beside,
    pub(super) members: Vec<CrewMember>,
    pub(super) keeper: Option<JoinHandle<()>>,
}

/// The threads of the slow lane.
#[derive(Default)]
pub(crate) struct LaneCrew {
    pub(super) members: Vec<CrewMember>,
    /// True once isolates take requests.
    pub(super) has_started: bool,
    /// The thread that looks after the lane.
    pub(super) keeper: Option<JoinHandle<()>>,
}

/// The state that the parts of a server share.
pub(crate) struct ServerShared {
    /// The configuration as it was at start: what a reload does not change.
    pub(crate) config: Arc<AppConfig>,
    pub(super) limits: Arc<Limits>,
    /// Those of a server that speaks HTTPS.
    pub(crate) certificates: Option<ServerCertificates>,
    /// The bytes that clients have not read, counted for all workers.
    pub(super) unsent: Arc<ClientBytes>,
    /// The idle connections, which all workers share where there are several.
    pub(super) parking: Option<Arc<Parking>>,
    pub(crate) database: AppDatabase,
    /// The generation that the workers serve; a worker that takes another's place loads it.
    pub(super) generation: Mutex<Arc<Generation>>,
    /// Held by a reload, and while a worker is replaced: so all workers serve the same generation.
    pub(super) reloading: Mutex<()>,
    pub(super) watchdog: Watchdog,
    /// The workers that serve, and their threads.
    pub(super) crew: Mutex<Vec<CrewMember>>,
    pub(super) workers: Mutex<Option<Workers>>,
    /// The threads beside those that take connections.
    pub(super) beside: Mutex<Option<BesideCrew>>,
    /// The isolates of slow routes, where there may be any.
    pub(super) lane: Option<Arc<Lane>>,
    pub(super) lane_crew: Mutex<LaneCrew>,
    /// The names of the routes.
    pub(super) route_names: Arc<RouteNames>,
    pub(super) events: Sender<ServerEvent>,
    pub(super) next_id: AtomicU64,
    /// The number of isolates whose script could not be stopped, since the server started.
    pub(super) abandoned: AtomicUsize,
    /// Set when the end begins, so that no worker starts behind its back.
    pub(crate) is_ending: AtomicBool,
    /// The time at which the end began, for the requests that are cut.
    pub(super) ending: Arc<OnceLock<Instant>>,
    /// True once the server has been told to end.
    pub(super) is_stopping: Arc<AtomicBool>,
    pub(crate) health: Arc<HealthMonitor>,
    /// The measurements, if anything is measured.
    pub(crate) metrics: Option<Arc<Registry>>,
    /// The rules of traces, if anything is traced.
    pub(crate) tracing: Option<Arc<Tracing>>,
    /// True if the functions that start once for the process have run.
    pub(super) started_once: Arc<AtomicBool>,
}

impl CrewMember {
    /// Returns the number of its open connections.
    pub(crate) fn connections(&self) -> usize {
        self.handle.connections()
    }
}

impl ServerShared {
    pub(crate) fn crew(&self) -> MutexGuard<'_, Vec<CrewMember>> {
        lock(&self.crew)
    }

    /// Returns the number of open connections, and how many of them are parked.
    pub(crate) fn connections(&self) -> (usize, usize) {
        let served: usize = self.crew().iter().map(CrewMember::connections).sum();
        let parked = self.parking.as_ref().map_or(0, |parking| parking.len());
        (served + parked, parked)
    }

    /// Returns the processor time of the thread of each worker, by the worker's number.
    pub(crate) fn processor_times(&self) -> BTreeMap<usize, Duration> {
        self.watchdog.processor_times()
    }

    /// Returns the number of isolates that were given up because their script could not be stopped.
    pub(crate) fn abandoned(&self) -> usize {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Waits until no reload and no replacement of a worker is under way, and holds the lock against others.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.reloading)
    }

    /// Checks that the server has not been told to end.
    ///
    /// # Errors
    /// It has been: a project that is loaded from now on would answer no request.
    pub(crate) fn check_not_ending(&self) -> Result<(), String> {
        match self.is_stopping.load(Ordering::Acquire) {
            true => Err("the server ends".to_owned()),
            false => Ok(()),
        }
    }

    /// Returns what the acceptors give connections to, once they accept.
    pub(crate) fn accepting(&self) -> Option<Workers> {
        lock(&self.workers).clone()
    }

    pub(crate) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&lock(&self.generation))
    }

    /// Returns the answers about the server's health; `None` where they are turned off.
    pub(crate) fn health_answers(&self) -> Option<HealthAnswers> {
        HealthAnswers::new(&self.config.serving.health, &self.health)
    }

    /// Returns the answers about the server's measurements, for the addresses of the project.
    pub(crate) fn metrics_answers(&self) -> Option<MetricsAnswers> {
        MetricsAnswers::new(&self.config.serving.metrics, self.metrics.as_ref())
    }

    pub(crate) fn set_generation(&self, generation: Arc<Generation>) {
        *lock(&self.generation) = generation;
    }
}
