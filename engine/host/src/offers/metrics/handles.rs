//! The handles that threads write into.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The values of one writer for one label set.
pub(super) struct Shard {
    /// The bits of a number: the value, or the sum of a histogram.
    value: AtomicU64,
    /// The counts of a histogram's buckets.
    counts: Box<[AtomicU64]>,
}

impl Shard {
    pub(super) fn new(buckets: usize) -> Arc<Self> {
        Arc::new(Self {
            value: AtomicU64::new(0f64.to_bits()),
            counts: (0..buckets).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    pub(super) fn value(&self) -> f64 {
        f64::from_bits(self.value.load(Relaxed))
    }

    pub(super) fn counts(&self) -> Vec<u64> {
        self.counts
            .iter()
            .map(|count| count.load(Relaxed))
            .collect()
    }

    /// Adds to the value. There is one writer, so no locked instruction is needed.
    #[inline]
    fn add(&self, by: f64) {
        self.value.store((self.value() + by).to_bits(), Relaxed);
    }
}

/// Keeps a handle on one thread at a time.
type OneThread = PhantomData<Cell<()>>;

/// A number that grows, as one thread counts it.
pub struct Counter(Arc<Shard>, OneThread);

/// A part of a gauge that goes up and down, such as things that are open, as one thread counts it. It is 0 again when
/// the handle is dropped.
pub struct Level(Arc<Shard>, OneThread);

/// The values that one thread has observed.
pub struct Histogram {
    shard: Arc<Shard>,
    bounds: Arc<[f64]>,
    /// The bucket of the value before: mostly that of the next one too.
    last: Cell<usize>,
    one_thread: OneThread,
}

/// A number that all threads set. Setting it costs more than the other handles do.
#[derive(Clone)]
pub struct Gauge(pub(super) Arc<GaugeCell>);

/// The bits of the value of a [`Gauge`].
pub(super) struct GaugeCell(AtomicU64);

impl Default for GaugeCell {
    fn default() -> Self {
        Self(AtomicU64::new(0f64.to_bits()))
    }
}

impl GaugeCell {
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
}

impl Counter {
    pub(super) fn new(shard: Arc<Shard>) -> Self {
        Self(shard, PhantomData)
    }

    /// Adds `by`, which must not be negative.
    #[inline]
    pub fn add(&self, by: f64) {
        self.0.add(by);
    }

    /// Adds 1.
    #[inline]
    pub fn inc(&self) {
        self.0.add(1.0);
    }

    /// Returns the count of this handle.
    pub fn get(&self) -> f64 {
        self.0.value()
    }
}

impl Level {
    pub(super) fn new(shard: Arc<Shard>) -> Self {
        Self(shard, PhantomData)
    }

    /// Adds 1.
    #[inline]
    pub fn inc(&self) {
        self.0.add(1.0);
    }

    /// Takes 1 away.
    #[inline]
    pub fn dec(&self) {
        self.0.add(-1.0);
    }

    /// Sets the part of this thread.
    pub fn set(&self, value: f64) {
        self.0.value.store(value.to_bits(), Relaxed);
    }
}

/// Counts one thing in a [`Level`] for as long as it exists.
pub struct LevelGuard(std::rc::Rc<Level>);

impl LevelGuard {
    /// Counts it from now on.
    pub fn new(level: &std::rc::Rc<Level>) -> Self {
        level.inc();
        Self(std::rc::Rc::clone(level))
    }
}

impl Drop for LevelGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Histogram {
    pub(super) fn new(shard: Arc<Shard>, bounds: Arc<[f64]>) -> Self {
        Self {
            shard,
            bounds,
            last: Cell::new(0),
            one_thread: PhantomData,
        }
    }

    /// Takes note of a value.
    #[inline]
    pub fn observe(&self, value: f64) {
        let at = self.bucket(value);
        let count = &self.shard.counts[at];
        count.store(count.load(Relaxed) + 1, Relaxed);
        self.shard.add(value);
    }

    /// Returns the first bucket whose bound is not below a value.
    #[inline]
    fn bucket(&self, value: f64) -> usize {
        let (bounds, last) = (&*self.bounds, self.last.get());
        let is_above_lower = last == 0 || bounds[last - 1] < value;
        if is_above_lower && bounds.get(last).is_none_or(|bound| value <= *bound) {
            return last;
        }
        let found = bounds.partition_point(|bound| *bound < value);
        self.last.set(found);
        found
    }

    /// Takes note of a time.
    #[inline]
    pub fn observe_time(&self, time: Duration) {
        // A multiplication takes less than the division of `as_secs_f64`.
        let nanos = f64::from(time.subsec_nanos());
        self.observe(time.as_secs() as f64 + nanos * 1e-9);
    }
}

impl Gauge {
    /// Sets the value.
    pub fn set(&self, value: f64) {
        self.0.0.store(value.to_bits(), Relaxed);
    }

    /// Adds to the value, which may be by less than 0.
    pub fn add(&self, by: f64) {
        let added = |bits| Some((f64::from_bits(bits) + by).to_bits());
        // Never refused.
        let _ = self.0.0.fetch_update(Relaxed, Relaxed, added);
    }

    /// Returns the value.
    pub fn get(&self) -> f64 {
        self.0.get()
    }
}
