//! The plan of a worker: what it is made from.

use super::watchdog::Watchdog;
use crate::generation::Generation;
use crate::health::handler::HealthAnswers;
use crate::metrics::handler::MetricsAnswers;
use sampan_db::AppDatabase;
use sampan_host::metrics::Registry;
use sampan_host::trace::Tracing;
use sampan_http::{ClientBytes, Limits, Parking, WorkerHandle};
use sampan_serve::lane::{RouteNames, SlowLane};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The callback for a worker that is deaf to its stop, with the name of the handler.
pub(crate) type OnDeaf = Box<dyn FnOnce(WorkerHandle, &str) + Send>;

/// The plan of a worker.
pub(crate) struct WorkerPlan {
    /// Tells this worker from all others of the process, also from those whose place it takes.
    pub(crate) id: u64,
    /// The place that it has among the workers.
    pub(crate) place: usize,
    /// True if the project is loaded to see that it loads, and never serves.
    pub(crate) is_trial: bool,
    /// The generation that it loads first.
    pub(crate) generation: Arc<Generation>,
    pub(crate) limits: Arc<Limits>,
    /// The bytes that clients have not read, counted for all workers of the server.
    pub(crate) unsent: Arc<ClientBytes>,
    /// The idle connections, where the workers of the server share them.
    pub(crate) parking: Option<Arc<Parking>>,
    pub(crate) database: AppDatabase,
    pub(crate) watchdog: Watchdog,
    /// Set when the server begins to shut down.
    pub(crate) ending: Arc<OnceLock<Instant>>,
    /// True if the functions that start once for the process have run.
    pub(crate) started_once: Arc<AtomicBool>,
    /// True for a worker of connections, whose requests may have to wait for their turn.
    pub(crate) takes_connections: bool,
    /// The isolates of slow routes, for a worker that takes connections.
    pub(crate) lane: Option<Arc<dyn SlowLane>>,
    /// The names of the server's routes, for a worker that answers requests.
    pub(crate) route_names: Option<Arc<RouteNames>>,
    /// True if there is no slow lane, whose routes have their numbers from it.
    pub(crate) numbers_routes: bool,
    /// The answers about the server's health, where they are not turned off.
    pub(crate) health: Option<HealthAnswers>,
    /// The answers about its measurements, where they are not turned off or elsewhere.
    pub(crate) metrics_answers: Option<MetricsAnswers>,
    /// The measurements, if anything is measured.
    pub(crate) metrics: Option<Arc<Registry>>,
    /// The rules of traces, if anything is traced.
    pub(crate) tracing: Option<Arc<Tracing>>,
    /// Called from the watchdog's thread if the worker, once it serves, is deaf to a stop.
    pub(crate) on_deaf: OnDeaf,
}
