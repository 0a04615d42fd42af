//! The measurements of one route, on one worker.

use crate::request::times::RecordedTimes;
use sampan_host::metrics::{Counter, Family, Histogram, KnownMetric, Registry, known};
use sampan_http::Method;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The label of requests that no route answers.
pub(crate) const NO_ROUTE: &str = "(none)";
/// The label of requests that the module's `fetch` answers.
pub(crate) const FETCH: &str = "(fetch)";
/// The measurements of one route.
pub(crate) struct RouteMeter {
    route: Box<str>,
    registry: Arc<Registry>,
    requests: Arc<Family>,
    /// By method and status: a route has few.
    answers: RefCell<Vec<(Option<Method>, u16, Counter)>>,
    elapsed: LazyTimes,
    queued: LazyTimes,
    script: LazyTimes,
    sql: LazyTimes,
}

/// A histogram that begins with its first value.
struct LazyTimes(&'static KnownMetric, OnceCell<Histogram>);

impl LazyTimes {
    const fn new(metric: &'static KnownMetric) -> Self {
        Self(metric, OnceCell::new())
    }

    #[inline]
    fn observe(&self, of: &RouteMeter, time: Duration) {
        let Self(metric, histogram) = self;
        let begin = || {
            let registry = &of.registry;
            registry.histogram(&registry.known(metric), &[&of.route])
        };
        histogram.get_or_init(begin).observe_time(time);
    }
}

impl RouteMeter {
    pub(super) fn new(registry: &Arc<Registry>, route: &str) -> Rc<Self> {
        Rc::new(Self {
            route: route.into(),
            registry: Arc::clone(registry),
            requests: registry.known(&known::REQUESTS),
            answers: RefCell::default(),
            elapsed: LazyTimes::new(&known::REQUEST_SECONDS),
            queued: LazyTimes::new(&known::QUEUE_SECONDS),
            script: LazyTimes::new(&known::SCRIPT_SECONDS),
            sql: LazyTimes::new(&known::SQL_SECONDS),
        })
    }

    #[inline]
    pub(super) fn answered(&self, method: Option<Method>, status: u16) {
        let mut answers = self.answers.borrow_mut();
        let known = answers
            .iter()
            .find(|known| known.0 == method && known.1 == status);
        match known {
            Some((_, _, counter)) => counter.inc(),
            None => {
                let counter = self.begin(method, status);
                counter.inc();
                answers.push((method, status, counter));
            }
        }
    }

    /// Takes note of the times of a request. Those without a script or a statement are left out.
    #[inline]
    pub(super) fn took(&self, elapsed: Duration, times: &RecordedTimes) {
        let (script, sql) = (times.script, times.db);
        self.elapsed.observe(self, elapsed);
        if let Some(queued) = times.queued {
            self.queued.observe(self, queued);
        }
        if !script.is_zero() {
            self.script.observe(self, script);
        }
        if !sql.is_zero() {
            self.sql.observe(self, sql);
        }
    }

    #[cold]
    fn begin(&self, method: Option<Method>, status: u16) -> Counter {
        // Other methods are the clients' words.
        let method = method.and_then(Method::name).unwrap_or("other");
        let labels = [&*self.route, method, &status.to_string()];
        self.registry.counter(&self.requests, &labels)
    }
}
