//! The registry: shards, limits and the text.

use super::*;
use crate::metrics::{MetricKind, TIME_BUCKETS, known};
use std::sync::mpsc::channel;

static MEALS: KnownMetric = KnownMetric {
    name: "meals_total",
    help: "Meals: a\\b\nsecond line.",
    kind: MetricKind::Counter,
    labels: &["kind"],
    buckets: &[],
};
static TABLES: KnownMetric = KnownMetric {
    name: "tables",
    help: "Tables.",
    kind: MetricKind::Gauge,
    labels: &[],
    buckets: &[],
};
static WAITS: KnownMetric = KnownMetric {
    name: "wait_seconds",
    help: "Waits.",
    kind: MetricKind::Histogram,
    labels: &["table"],
    buckets: &[0.5, 1.0],
};

fn lines(registry: &Registry, begin: &str) -> Vec<String> {
    let text = registry.text();
    let lines = text.lines().filter(|line| line.starts_with(begin));
    lines.map(str::to_owned).collect()
}

#[test]
fn shards_of_threads_are_added_up_also_of_those_that_have_ended() {
    let registry = Registry::new(|_| ());
    let meals = registry.known(&MEALS);
    let here = registry.counter(&meals, &["soup"]);
    here.inc();
    for _ in 0..3 {
        let (registry, meals) = (Arc::clone(&registry), Arc::clone(&meals));
        let thread = std::thread::spawn(move || {
            let there = registry.counter(&meals, &["soup"]);
            (0..1_000).for_each(|_| there.inc());
        });
        thread.join().expect("it ends");
    }
    let expected = ["meals_total{kind=\"soup\"} 3001"];
    assert_eq!(lines(&registry, "meals_total"), expected);
    assert_eq!(lines(&registry, "meals_total"), expected, "read again");
    here.add(0.5);
    assert_eq!(
        lines(&registry, "meals_total"),
        ["meals_total{kind=\"soup\"} 3001.5"]
    );
}

#[test]
fn a_level_is_gone_with_its_writer_and_a_gauge_is_shared() {
    let registry = Registry::new(|_| ());
    let tables = registry.known(&TABLES);
    let (one, other) = (registry.level(&tables, &[]), registry.level(&tables, &[]));
    one.inc();
    other.inc();
    other.inc();
    one.dec();
    assert_eq!(lines(&registry, "tables"), ["tables 2"]);
    drop(other);
    assert_eq!(lines(&registry, "tables"), ["tables 0"]);
    let (one, other) = (registry.gauge(&tables, &[]), registry.gauge(&tables, &[]));
    one.set(5.0);
    other.add(-7.5);
    assert_eq!(lines(&registry, "tables"), ["tables -2.5"]);
}

#[test]
fn the_text_is_that_of_prometheus() {
    let registry = Registry::new(|_| ());
    let meals = registry.known(&MEALS);
    registry.counter(&meals, &["a\"b\\c\nd"]).add(2.0);
    let waits = registry.histogram(&registry.known(&WAITS), &["7"]);
    [0.25, 0.5, 0.75, 4.0]
        .into_iter()
        .for_each(|wait| waits.observe(wait));
    registry.collect(|readings| readings.put(&TABLES, &[], f64::INFINITY));
    let expected = "\
# HELP meals_total Meals: a\\\\b\\nsecond line.
# TYPE meals_total counter
meals_total{kind=\"a\\\"b\\\\c\\nd\"} 2
# HELP tables Tables.
# TYPE tables gauge
tables +Inf
# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_bucket{table=\"7\",le=\"0.5\"} 2
wait_seconds_bucket{table=\"7\",le=\"1\"} 3
wait_seconds_bucket{table=\"7\",le=\"+Inf\"} 4
wait_seconds_sum{table=\"7\"} 5.5
wait_seconds_count{table=\"7\"} 4
";
    assert_eq!(registry.text(), expected);
}

#[test]
fn a_value_falls_into_its_bucket_whichever_came_before() {
    let registry = Registry::new(|_| ());
    let family = registry.known(&WAITS);
    // With the buckets that they are counted in: up to 0.5, up to 1 and all.
    let values = [
        (-1.0, [1, 1, 1]),
        (0.5, [1, 1, 1]),
        (0.6, [0, 1, 1]),
        (1.0, [0, 1, 1]),
        (1.1, [0, 0, 1]),
        (f64::INFINITY, [0, 0, 1]),
    ];
    for (at, (first, in_first)) in values.into_iter().enumerate() {
        for (then, (second, in_second)) in values.into_iter().enumerate() {
            let table = format!("{at}-{then}");
            let waits = registry.histogram(&family, &[&table]);
            waits.observe(first);
            waits.observe(second);
            for (bound, (one, other)) in ["0.5", "1", "+Inf"]
                .iter()
                .zip(in_first.iter().zip(in_second))
            {
                let begins = format!("wait_seconds_bucket{{table=\"{table}\",le=\"{bound}\"}}");
                let expected = format!("{begins} {}", one + other);
                assert!(registry.text().contains(&expected), "{expected}");
            }
        }
    }
}

#[test]
fn label_sets_above_the_limits_are_counted_together_and_told_once() {
    let (sender, told) = channel();
    let registry = Registry::new(move |line| drop(sender.send(line.to_owned())));
    let meals = registry.known(&MEALS);
    let count = |at: usize| registry.counter(&meals, &[&at.to_string()]).inc();
    (0..LABEL_SETS_MAX + 7).for_each(count);
    // One that is known is still counted for itself.
    count(3);
    let kept = lines(&registry, "meals_total");
    assert_eq!(kept.len(), LABEL_SETS_MAX + 1);
    assert!(kept.contains(&"meals_total{kind=\"other\"} 7".to_owned()));
    assert!(kept.contains(&"meals_total{kind=\"3\"} 2".to_owned()));
    let told: Vec<String> = told.try_iter().collect();
    assert!(
        told.len() == 1 && told[0].contains("meals_total"),
        "{told:?}"
    );
}

#[test]
fn all_metrics_together_have_a_limit_too() {
    let registry = Registry::new(|_| ());
    for name in 0..SERIES_MAX / LABEL_SETS_MAX + 1 {
        let shape = MetricShape {
            name: format!("m{name}"),
            help: String::new(),
            kind: MetricKind::Counter,
            labels: vec!["at".to_owned()],
            buckets: Vec::new(),
        };
        let family = registry.declare(shape).ok().expect("declared");
        for at in 0..LABEL_SETS_MAX {
            registry.counter(&family, &[&at.to_string()]).inc();
        }
    }
    assert_eq!(lines(&registry, "m").len(), SERIES_MAX + 1);
    assert_eq!(lines(&registry, "m10{"), ["m10{at=\"other\"} 1000"]);
}

#[test]
fn a_metric_has_one_shape() {
    let registry = Registry::new(|_| ());
    let shape = MEALS.shape();
    assert!(registry.declare(shape.clone()).is_ok());
    assert!(registry.declare(shape.clone()).is_ok());
    let other = MetricShape {
        labels: vec!["size".to_owned()],
        ..shape
    };
    assert!(registry.declare(other.clone()).is_err());
    registry.redeclare(other);
    assert_eq!(registry.len(), 1);
}

#[test]
fn the_metrics_of_the_server_follow_the_rules() {
    let mut names: Vec<&str> = known::ALL.iter().map(|metric| metric.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), known::ALL.len(), "a name stands twice");
    for metric in known::ALL {
        let (name, help) = (metric.name, metric.help);
        let is_counter = metric.kind == MetricKind::Counter;
        assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        assert!(
            help.ends_with('.') && !help.contains('\n'),
            "{name}: {help}"
        );
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
    }
    assert!(TIME_BUCKETS.is_sorted());
}
