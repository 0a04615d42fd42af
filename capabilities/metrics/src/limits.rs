//! Limits of this capability.

/// The most metrics of a project.
pub(crate) const METRICS_MAX: usize = 200;
/// The longest name of a metric or a label, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 100;
/// The longest line about a metric, in bytes.
pub(crate) const HELP_BYTES_MAX: usize = 500;
/// The most labels of a metric.
pub(crate) const LABELS_MAX: usize = 8;
/// The longest value of a label, in characters. Longer ones are cut.
pub(crate) const VALUE_CHARS_MAX: usize = 100;
/// The largest number of one call, without its sign: sums of such numbers stay finite.
pub(crate) const NUMBER_MAX: f64 = 1e100;
/// The most buckets of a histogram, that above all bounds not counted.
pub(crate) const BUCKETS_MAX: usize = 50;
