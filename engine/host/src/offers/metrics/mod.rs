//! Measurements of a server: counters, gauges and histograms, and the registry that adds them up.
//!
//! A handle belongs to one thread. It writes into a shard of its own, with plain loads and stores; the [`Registry`]
//! adds the shards up when it is read. Labels have few values, which no client chooses: patterns of routes, names of
//! settings. Above [`LABEL_SETS_MAX`] and [`SERIES_MAX`] new ones are counted as `other`.
//!
//! ```
//! use sampan_host::metrics::{KnownMetric, MetricKind, Registry};
//!
//! static MEALS: KnownMetric = KnownMetric {
//!     name: "meals_total",
//!     help: "Meals served.",
//!     kind: MetricKind::Counter,
//!     labels: &["kind"],
//!     buckets: &[],
//! };
//! let registry = Registry::new(|_| ());
//! let meals = registry.counter(&registry.known(&MEALS), &["soup"]);
//! meals.add(2.0);
//! assert!(registry.text().contains("meals_total{kind=\"soup\"} 2\n"));
//! ```

mod family;
mod handles;
pub mod known;
mod registry;
mod text;

pub use family::{Family, KnownMetric, MetricKind, MetricShape};
pub use handles::{Counter, Gauge, Histogram, Level, LevelGuard};
pub use registry::{Readings, Registry};

/// The most label sets of one metric. Others are counted together, with the value [`OTHER`] in each label.
pub const LABEL_SETS_MAX: usize = 1_000;
/// The most label sets of all metrics together.
pub const SERIES_MAX: usize = 10_000;
/// The value of labels above those limits.
pub const OTHER: &str = "other";
/// The upper bounds of histograms of times, in seconds.
pub const TIME_BUCKETS: &[f64] = &[
    0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
