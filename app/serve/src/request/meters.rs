//! The measurements of one worker's requests. Without `[metrics]` there are none.

use crate::request::route_meter::{NO_ROUTE, RouteMeter};
use crate::request::times::RecordedTimes;
use sampan_host::metrics::{Counter, KnownMetric, Level, LevelGuard, Registry, known};
use sampan_host::{ErrorKind, Isolate, WorkerPlace};
use sampan_http::{Method, RequestOutcome};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The label of requests that a file answers.
const FILE: &str = "(file)";
/// The interval at which the memory of the isolate and its collections are noted.
const MEMORY_MILLIS: u64 = 1_000;

/// The measurements of one worker. They outlive its isolates.
pub struct WorkerMeters {
    registry: Arc<Registry>,
    routes: RefCell<HashMap<Box<str>, Rc<RouteMeter>>>,
    none: Rc<RouteMeter>,
    file: Rc<RouteMeter>,
    in_flight: Level,
    held: Rc<Level>,
    sockets: Rc<Level>,
    event_streams: Rc<Level>,
    memory: Level,
    /// The number of the worker, as a label.
    worker: String,
    memory_noted: Cell<u64>,
    /// Counters of what is rare, by their metric and their label.
    counters: RefCell<HashMap<(&'static str, String), Counter>>,
}

impl WorkerMeters {
    /// Creates those of a worker.
    pub fn new(registry: &Arc<Registry>, place: WorkerPlace) -> Rc<Self> {
        let level = |metric: &'static KnownMetric, labels: &[&str]| {
            registry.level(&registry.known(metric), labels)
        };
        let route = |route| RouteMeter::new(registry, route);
        let worker = place.index.to_string();
        let meters = Rc::new(Self {
            routes: RefCell::default(),
            none: route(NO_ROUTE),
            file: route(FILE),
            in_flight: level(&known::IN_FLIGHT, &[&worker]),
            held: Rc::new(level(&known::HELD, &[])),
            sockets: Rc::new(level(&known::SOCKETS, &[])),
            event_streams: Rc::new(level(&known::EVENT_STREAMS, &[])),
            memory: level(&known::ISOLATE_MEMORY, &[&worker]),
            worker,
            memory_noted: Cell::new(0),
            counters: RefCell::default(),
            registry: Arc::clone(registry),
        });
        // They are seen before there is one.
        meters.add(&known::ISOLATES_REPLACED, "", 0.0);
        meters.add(&known::ISOLATE_COLLECTIONS, &meters.worker, 0.0);
        meters
    }

    /// Returns the measurements of a route by its pattern, or by one of the labels above.
    pub(crate) fn route(&self, pattern: &str) -> Rc<RouteMeter> {
        let mut routes = self.routes.borrow_mut();
        if let Some(known) = routes.get(pattern) {
            return Rc::clone(known);
        }
        let meter = RouteMeter::new(&self.registry, pattern);
        routes.insert(pattern.into(), Rc::clone(&meter));
        meter
    }

    /// Takes note of a request that begins.
    #[inline]
    pub(crate) fn begun(&self) {
        self.in_flight.inc();
    }

    /// Takes note of a request that is over.
    #[inline]
    pub(crate) fn ended(&self, request: &MeasuredRequest<'_>, outcome: &RequestOutcome) {
        self.in_flight.dec();
        let meter = match (request.is_file, request.route) {
            (true, _) => &*self.file,
            (false, Some(route)) => route,
            (false, None) => &*self.none,
        };
        meter.answered(request.method, outcome.status);
        meter.took(outcome.elapsed, &request.times);
    }

    /// Counts an answer that is held, until the guard is dropped.
    pub(crate) fn held(&self) -> LevelGuard {
        LevelGuard::new(&self.held)
    }

    /// Counts a WebSocket, until the guard is dropped.
    pub(crate) fn socket(&self) -> LevelGuard {
        LevelGuard::new(&self.sockets)
    }

    /// Counts a stream of events, until the guard is dropped.
    pub(crate) fn event_stream(&self) -> LevelGuard {
        LevelGuard::new(&self.event_streams)
    }

    /// Counts something that is rare. `label` has few values.
    #[cold]
    pub fn count(&self, metric: &'static KnownMetric, label: &str) {
        self.add(metric, label, 1.0);
    }

    fn add(&self, metric: &'static KnownMetric, label: &str, by: f64) {
        let mut counters = self.counters.borrow_mut();
        let counter = counters.entry((metric.name, label.to_owned()));
        let begin = || {
            let family = self.registry.known(metric);
            let labels = match metric.labels {
                [] => &[][..],
                _ => &[label][..],
            };
            self.registry.counter(&family, labels)
        };
        counter.or_insert_with(begin).add(by);
    }

    /// Counts a request that failed.
    #[cold]
    pub(crate) fn failed(&self, kind: ErrorKind) {
        let kind = match kind {
            ErrorKind::Stopped => "stopped",
            ErrorKind::Memory => "memory",
            ErrorKind::TooLong => "too_long",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Internal => "internal",
            _ => "script",
        };
        self.count(&known::ERRORS, kind);
    }

    /// Takes note of the memory of the isolate and of its collections, once in a while.
    pub(crate) fn ticked(&self, now_millis: u64, isolate: &dyn Isolate) {
        if now_millis >= self.memory_noted.get() + MEMORY_MILLIS {
            self.memory_noted.set(now_millis);
            self.memory.set(isolate.memory_bytes() as f64);
            let collections = isolate.take_collections() as f64;
            self.add(&known::ISOLATE_COLLECTIONS, &self.worker, collections);
        }
    }
}

/// A request that is over, as its record knows it.
pub(crate) struct MeasuredRequest<'a> {
    pub(crate) method: Option<Method>,
    pub(crate) route: Option<&'a RouteMeter>,
    pub(crate) is_file: bool,
    pub(crate) times: RecordedTimes,
}
