//! A metric on one worker.

use sampan_host::Context;
use sampan_host::metrics::{
    Counter, Family, Gauge, Histogram, LABEL_SETS_MAX, MetricKind, MetricShape, OTHER, Registry,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The metrics of one worker. They outlive its isolates.
pub(crate) struct WorkerMetrics {
    pub(crate) registry: Arc<Registry>,
    by_name: RefCell<HashMap<String, Rc<Metric>>>,
}

/// A metric, with the handles of this worker.
pub(crate) struct Metric {
    registry: Arc<Registry>,
    family: Arc<Family>,
    handles: RefCell<HashMap<Vec<String>, Rc<MetricHandle>>>,
}

/// A handle for one label set.
pub(crate) enum MetricHandle {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
}

impl Default for WorkerMetrics {
    /// Those of a worker that is not measured.
    fn default() -> Self {
        Self {
            registry: Registry::new(|_| ()),
            by_name: RefCell::default(),
        }
    }
}

impl WorkerMetrics {
    /// Creates those of a worker, over the registry of the server, if there is one.
    pub(crate) fn of(worker: &Context) -> Self {
        match worker.get::<Arc<Registry>>() {
            Some(registry) => Self {
                registry: Arc::clone(&*registry),
                ..Self::default()
            },
            None => Self::default(),
        }
    }

    /// Returns the metric of a declaration. One that had another shape before, as at a reload, begins anew.
    pub(crate) fn declare(&self, shape: MetricShape) -> Rc<Metric> {
        let mut by_name = self.by_name.borrow_mut();
        if let Some(known) = by_name.get(&shape.name)
            && *known.shape() == shape
        {
            return Rc::clone(known);
        }
        let family = self.registry.declare(shape.clone());
        let family = family.unwrap_or_else(|_| self.registry.redeclare(shape.clone()));
        let metric = Rc::new(Metric {
            registry: Arc::clone(&self.registry),
            family,
            handles: RefCell::default(),
        });
        by_name.insert(shape.name, Rc::clone(&metric));
        metric
    }
}

impl Metric {
    /// Returns the declaration.
    pub(crate) fn shape(&self) -> &MetricShape {
        &self.family.shape
    }

    /// Returns the handle for these values of its labels; the one of the others, where there are too many.
    pub(crate) fn handle(&self, mut values: Vec<String>) -> Rc<MetricHandle> {
        let mut handles = self.handles.borrow_mut();
        if !handles.contains_key(&values) && handles.len() >= LABEL_SETS_MAX {
            values = vec![OTHER.to_owned(); values.len()];
        }
        if let Some(known) = handles.get(&values) {
            return Rc::clone(known);
        }
        let labels: Vec<&str> = values.iter().map(String::as_str).collect();
        let (registry, family) = (&self.registry, &self.family);
        let handle = Rc::new(match self.shape().kind {
            MetricKind::Counter => MetricHandle::Counter(registry.counter(family, &labels)),
            MetricKind::Gauge => MetricHandle::Gauge(registry.gauge(family, &labels)),
            MetricKind::Histogram => MetricHandle::Histogram(registry.histogram(family, &labels)),
        });
        handles.insert(values, Rc::clone(&handle));
        handle
    }
}
