//! Outcomes as JSON, one object a line, for programs.

use super::{TestOutcome, TestSummary};
use serde_json::json;
use std::time::Duration;

/// A time in milliseconds, to the microsecond.
fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// The outcome of one test.
pub fn json_line(outcome: &TestOutcome) -> String {
    let failure = outcome.failure.as_ref();
    json!({
        "event": "test",
        "file": outcome.file,
        "name": outcome.name,
        "passed": failure.is_none(),
        "millis": millis(outcome.elapsed),
        "message": failure.map(|failure| &failure.text),
        "log": failure.map(|failure| &failure.log),
        "snapshots": outcome.snapshots,
    })
    .to_string()
}

/// The last line.
pub fn json_summary(summary: &TestSummary) -> String {
    json!({
        "event": "end",
        "passed": summary.passed,
        "failed": summary.failed,
        "filtered": summary.filtered,
        "snapshots": summary.snapshots,
        "not_loaded": summary.not_loaded,
        "millis": millis(summary.elapsed),
    })
    .to_string()
}
