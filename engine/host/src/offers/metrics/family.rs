//! A metric with all its label sets.

use super::handles::{GaugeCell, Shard};
use super::{LABEL_SETS_MAX, OTHER};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// The distribution of values.
    Histogram,
}

impl MetricKind {
    /// Returns the word of the text format.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric of the server's own.
#[derive(Debug)]
pub struct KnownMetric {
    /// The name, by the rules of Prometheus.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    /// The kind.
    pub kind: MetricKind,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The upper bounds of a histogram, ascending.
    pub buckets: &'static [f64],
}

/// The declaration of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricShape {
    /// The name, by the rules of Prometheus.
    pub name: String,
    /// One line about it.
    pub help: String,
    /// The kind.
    pub kind: MetricKind,
    /// The names of the labels.
    pub labels: Vec<String>,
    /// The upper bounds of a histogram, ascending.
    pub buckets: Vec<f64>,
}

impl KnownMetric {
    /// Returns the declaration.
    pub(super) fn shape(&self) -> MetricShape {
        MetricShape {
            name: self.name.to_owned(),
            help: self.help.to_owned(),
            kind: self.kind,
            labels: self
                .labels
                .iter()
                .map(|label| (*label).to_owned())
                .collect(),
            buckets: self.buckets.to_vec(),
        }
    }
}

/// A metric that is declared, with all its label sets.
pub struct Family {
    /// The declaration.
    pub shape: MetricShape,
    series: Mutex<HashMap<Vec<String>, Series>>,
}

/// The shards of one label set.
#[derive(Default)]
pub(super) struct Series {
    shards: Vec<Arc<Shard>>,
    gauge: Option<Arc<GaugeCell>>,
    /// The sums of counters and histograms whose writers have ended.
    ended: Option<Total>,
}

/// The sum of the shards of one label set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Total {
    pub(super) value: f64,
    /// The counts of the buckets of a histogram; the last is that above all bounds.
    pub(super) counts: Vec<u64>,
}

impl Total {
    fn add(&mut self, shard: &Shard) {
        self.value += shard.value();
        let counts = shard.counts();
        self.counts.resize(counts.len(), 0);
        self.counts
            .iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
}

impl Series {
    /// Adds the shards of writers that have ended to what they have left.
    fn fold(&mut self, kind: MetricKind) {
        let ended = &mut self.ended;
        self.shards.retain(|shard| {
            if Arc::strong_count(shard) > 1 {
                return true;
            }
            // What a writer that has ended had in hand is gone.
            if kind != MetricKind::Gauge {
                ended.get_or_insert_with(Total::default).add(shard);
            }
            false
        });
    }

    fn total(&mut self, kind: MetricKind) -> Total {
        self.fold(kind);
        let mut total = self.ended.clone().unwrap_or_default();
        self.shards.iter().for_each(|shard| total.add(shard));
        if let Some(gauge) = &self.gauge {
            total.value += gauge.get();
        }
        total
    }
}

impl Family {
    pub(super) fn new(shape: MetricShape) -> Arc<Self> {
        Arc::new(Self {
            shape,
            series: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<String>, Series>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds something to a label set with `add`; to the set of the others, where there is no room for a new one.
    /// `take_room` is asked whether the registry has room. Returns false if the set was the one of the others.
    pub(super) fn with<T>(
        &self,
        labels: &[&str],
        take_room: impl FnOnce() -> bool,
        add: impl FnOnce(&mut Series) -> T,
    ) -> (T, bool) {
        let mut values: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        // A missing value is an empty one, which is the same to those who read it.
        values.resize(self.shape.labels.len(), String::new());
        let mut all = self.lock();
        let fits = all.contains_key(&values)
            || (values.is_empty() || (all.len() < LABEL_SETS_MAX && take_room()));
        if !fits {
            values = vec![OTHER.to_owned(); self.shape.labels.len()];
        }
        let series = all.entry(values).or_default();
        series.fold(self.shape.kind);
        (add(series), fits)
    }

    /// Returns the sums of all label sets, in the order of their labels.
    pub(super) fn totals(&self) -> Vec<(Vec<String>, Total)> {
        let mut all = self.lock();
        let totals = all.iter_mut();
        let totals = totals.map(|(labels, series)| (labels.clone(), series.total(self.shape.kind)));
        let mut totals: Vec<_> = totals.collect();
        totals.sort_by(|(one, _), (other, _)| one.cmp(other));
        totals
    }
}

impl Series {
    pub(super) fn add_shard(&mut self, shard: &Arc<Shard>) {
        self.shards.push(Arc::clone(shard));
    }

    /// Returns the value that all writers of a gauge share.
    pub(super) fn gauge(&mut self) -> Arc<GaugeCell> {
        Arc::clone(self.gauge.get_or_insert_with(Arc::default))
    }
}
