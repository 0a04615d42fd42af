//! All measurements of a process.

use super::family::{Family, KnownMetric, MetricKind, MetricShape, Total};
use super::handles::{Counter, Gauge, Histogram, Level, Shard};
use super::text;
use super::{LABEL_SETS_MAX, SERIES_MAX};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tells values that are known where they are asked for, such as the memory of the process.
type Collector = Box<dyn Fn(&mut Readings) + Send + Sync>;
/// Writes a line to the log.
type Told = Box<dyn Fn(&str) + Send + Sync>;

/// All measurements of a process. Threads lock it only where they add a shard, and where it is read.
pub struct Registry {
    families: Mutex<BTreeMap<String, Arc<Family>>>,
    collectors: Mutex<Vec<Collector>>,
    series: AtomicUsize,
    told: Told,
    has_told: AtomicBool,
}

/// The values of a metric, each with its labels.
type Totals = Vec<(Vec<String>, Total)>;

/// Values that are read at one time.
#[derive(Default)]
pub struct Readings(BTreeMap<&'static str, (&'static KnownMetric, Totals)>);

impl Readings {
    /// Adds a value of a counter or a gauge.
    pub fn put(&mut self, metric: &'static KnownMetric, labels: &[&str], value: f64) {
        let (_, values) = (self.0.entry(metric.name)).or_insert_with(|| (metric, Vec::new()));
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let counts = Vec::new();
        values.push((labels, Total { value, counts }));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Creates an empty registry. `told` writes a line to the log.
    pub fn new(told: impl Fn(&str) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            families: Mutex::default(),
            collectors: Mutex::default(),
            series: AtomicUsize::new(0),
            told: Box::new(told),
            has_told: AtomicBool::new(false),
        })
    }

    /// Declares a metric of the server's own, or returns the one that is declared.
    pub fn known(&self, metric: &'static KnownMetric) -> Arc<Family> {
        let mut families = lock(&self.families);
        let family = families.entry(metric.name.to_owned());
        Arc::clone(family.or_insert_with(|| Family::new(metric.shape())))
    }

    /// Declares a metric, or returns the one that is declared.
    ///
    /// # Errors
    /// The name is declared with another shape, which is returned.
    pub fn declare(&self, shape: MetricShape) -> Result<Arc<Family>, Arc<Family>> {
        let mut families = lock(&self.families);
        let family = families.entry(shape.name.clone());
        let family = family.or_insert_with(|| Family::new(shape.clone()));
        match family.shape == shape {
            true => Ok(Arc::clone(family)),
            false => Err(Arc::clone(family)),
        }
    }

    /// Replaces a metric whose shape has changed: what was counted is lost.
    pub fn redeclare(&self, shape: MetricShape) -> Arc<Family> {
        let family = Family::new(shape.clone());
        lock(&self.families).insert(shape.name, Arc::clone(&family));
        family
    }

    /// Returns the number of metrics that are declared.
    pub fn len(&self) -> usize {
        lock(&self.families).len()
    }

    /// Reports whether no metric is declared.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has `read` asked for values whenever all are read.
    pub fn collect(&self, read: impl Fn(&mut Readings) + Send + Sync + 'static) {
        lock(&self.collectors).push(Box::new(read));
    }

    /// Returns a counter of the calling thread. `labels` has a value for each label, in their order.
    pub fn counter(&self, family: &Family, labels: &[&str]) -> Counter {
        Counter::new(self.shard(family, labels))
    }

    /// Returns the calling thread's part of a gauge.
    pub fn level(&self, family: &Family, labels: &[&str]) -> Level {
        Level::new(self.shard(family, labels))
    }

    /// Returns a histogram of the calling thread.
    pub fn histogram(&self, family: &Family, labels: &[&str]) -> Histogram {
        let bounds = family.shape.buckets.as_slice().into();
        Histogram::new(self.shard(family, labels), bounds)
    }

    /// Returns the value of a gauge that all threads set.
    pub fn gauge(&self, family: &Family, labels: &[&str]) -> Gauge {
        Gauge(self.with(family, labels, |series| series.gauge()))
    }

    fn shard(&self, family: &Family, labels: &[&str]) -> Arc<Shard> {
        let buckets = match family.shape.kind {
            MetricKind::Histogram => family.shape.buckets.len() + 1,
            _ => 0,
        };
        let shard = Shard::new(buckets);
        self.with(family, labels, |series| series.add_shard(&shard));
        shard
    }

    fn with<T>(
        &self,
        family: &Family,
        labels: &[&str],
        add: impl FnOnce(&mut super::family::Series) -> T,
    ) -> T {
        let take_room = || {
            let has_room = |count| (count < SERIES_MAX).then_some(count + 1);
            let taken = self
                .series
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_room);
            taken.is_ok()
        };
        let (added, fits) = family.with(labels, take_room, add);
        if !fits && !self.has_told.swap(true, Ordering::Relaxed) {
            let name = &family.shape.name;
            (self.told)(&format!(
                "the metric {name} has more label sets than are kept ({LABEL_SETS_MAX} of one metric, {SERIES_MAX} of \
                 all): the rest is counted as \"other\". Later ones are not told"
            ));
        }
        added
    }

    /// Returns all values in the text format of Prometheus, version 0.0.4.
    pub fn text(&self) -> String {
        let mut readings = Readings::default();
        for read in &*lock(&self.collectors) {
            read(&mut readings);
        }
        let mut all: BTreeMap<String, (MetricShape, Totals)> = BTreeMap::new();
        let families: Vec<Arc<Family>> = lock(&self.families).values().map(Arc::clone).collect();
        for family in families {
            let totals = family.totals();
            if !totals.is_empty() {
                all.insert(family.shape.name.clone(), (family.shape.clone(), totals));
            }
        }
        for (name, (metric, values)) in readings.0 {
            let known = all.entry(name.to_owned());
            let (_, totals) = known.or_insert_with(|| (metric.shape(), Vec::new()));
            totals.extend(values);
        }
        let mut out = String::new();
        for (shape, totals) in all.values() {
            text::write(&mut out, shape, totals);
        }
        out
    }
}

#[cfg(test)]
mod tests;
