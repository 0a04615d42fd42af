//! bombardier, with which Gust's authors have measured: 500 connections, and its own report.

use std::process::Command;

use serde_json::Value;

use super::{Load, LoadResult, TIMEOUT_SECONDS};
use crate::peers::install_faces::BOMBARDIER;

/// The command for one run.
pub(super) fn command(load: &Load<'_>) -> Command {
    let exchange = load.case.route.measured();
    let program = load.root.join("bench/.peers").join(BOMBARDIER);
    let mut command = load.placement.load(program);
    command.env("GOMAXPROCS", load.placement.load_threads().to_string());
    command.args(["-c", &load.case.connections.to_string()]);
    command.args(["-d", &format!("{}s", load.seconds)]);
    command.args(["-t", &format!("{TIMEOUT_SECONDS}s")]);
    command.args(["-l", "-p", "r", "-o", "json", "-m", exchange.method]);
    if !exchange.body.is_empty() {
        command.args(["-b", &exchange.body, "-H", "Content-Type: application/json"]);
    }
    for line in load.case.headers.lines() {
        command.args(["-H", line]);
    }
    command.arg(format!("http://{}{}", load.address, exchange.path));
    command
}

/// Reads its report.
pub(super) fn parse(output: &str) -> Option<LoadResult> {
    let report: Value = serde_json::from_str(output.trim()).ok()?;
    let result = &report["result"];
    let count = |name: &str| result[name].as_u64();
    let percentile = |name: &str| result["latency"]["percentiles"][name].as_f64();
    let good = count("req2xx")?;
    let refused = count("req1xx")? + count("req3xx")? + count("req4xx")? + count("req5xx")?;
    let errors = [("status", refused), ("other", count("others")?)];
    let requests = good + refused;
    Some(LoadResult {
        requests,
        per_second: requests as f64 / result["timeTakenSeconds"].as_f64()?.max(1e-6),
        p50_micros: percentile("50")?,
        p90_micros: percentile("90")?,
        p99_micros: percentile("99")?,
        errors: errors
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_report_is_read() {
        let output = r#"{"spec":{},"result":{"bytesRead":7,"timeTakenSeconds":2.0,"req1xx":0,"req2xx":990,"req3xx":0,
            "req4xx":10,"req5xx":0,"others":3,"latency":{"mean":5.5,"max":9,"percentiles":{"50":10,"75":15,"90":20,"95":25,"99":30}}}}"#;
        let seen = parse(output).expect("a report");
        assert_eq!(
            (seen.requests, seen.per_second, seen.p99_micros),
            (1_000, 500.0, 30.0)
        );
        assert_eq!(
            seen.errors,
            [("status".to_owned(), 10), ("other".to_owned(), 3)]
        );
        assert_eq!(seen.fulfilled(), 990);
        assert_eq!(parse("no report"), None);
    }
}
