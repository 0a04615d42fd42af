//! The text format of Prometheus, version 0.0.4.

use super::family::{MetricKind, MetricShape, Total};
use std::fmt::Write;

/// Writes a metric.
pub(super) fn write(out: &mut String, shape: &MetricShape, totals: &[(Vec<String>, Total)]) {
    let MetricShape { name, help, .. } = shape;
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    let kind = shape.kind.word();
    // Writing into a String never fails.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, total) in totals {
        match shape.kind {
            MetricKind::Histogram => histogram(out, shape, labels, total),
            MetricKind::Counter | MetricKind::Gauge => {
                line(out, shape, "", labels, None, total.value);
            }
        }
    }
}

fn histogram(out: &mut String, shape: &MetricShape, labels: &[String], total: &Total) {
    let mut sum = 0;
    let bounds = shape.buckets.iter().map(|bound| number(*bound));
    let bounds = bounds.chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(&total.counts) {
        sum += count;
        line(out, shape, "_bucket", labels, Some(&bound), sum as f64);
    }
    line(out, shape, "_sum", labels, None, total.value);
    line(out, shape, "_count", labels, None, sum as f64);
}

fn line(
    out: &mut String,
    shape: &MetricShape,
    suffix: &str,
    labels: &[String],
    bound: Option<&str>,
    value: f64,
) {
    out.push_str(&shape.name);
    out.push_str(suffix);
    let names = shape.labels.iter().map(String::as_str).zip(labels);
    let mut separator = '{';
    for (name, value) in names
        .map(|(name, value)| (name, value.as_str()))
        .chain(bound.map(|bound| ("le", bound)))
    {
        out.push(separator);
        separator = ',';
        out.push_str(name);
        out.push_str("=\"");
        for char in value.chars() {
            match char {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                char => out.push(char),
            }
        }
        out.push('"');
    }
    if separator == ',' {
        out.push('}');
    }
    let _ = writeln!(out, " {}", number(value));
}

/// Returns a number as Prometheus reads it.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}
