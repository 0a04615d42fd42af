//! The load: `sampan bench`, on the processors of the load.

pub(crate) mod idle;
pub(crate) mod transfers;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) use idle::{IdleClient, idle_client};
use serde_json::Value;

use crate::measure::case::LoadCase;
use crate::peers::children::Child;
use crate::peers::placement::Placement;
use crate::routes::RouteExchange;

/// The load program, for messages.
const LOAD: &str = "sampan bench";

/// The executable that makes the load, from the root of the checkout.
pub(crate) const PROGRAM: &str = "target/bench/sampan";

/// The longest time that an answer may take before its request counts as timed out.
const TIMEOUT: &str = "2s";

/// The overtime after which the load is ended.
const OVERTIME_SECONDS: u64 = 15;

/// The figures that the load program saw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadResult {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
    pub(crate) p50_micros: f64,
    pub(crate) p90_micros: f64,
    pub(crate) p99_micros: f64,
    /// Errors by kind; only those that occurred.
    pub(crate) errors: Vec<(String, u64)>,
}

/// Puts a server under load, to its end.
///
/// # Errors
///
/// When the load cannot be made, or reports nothing.
pub(crate) fn load(
    root: &Path,
    placement: &Placement,
    address: SocketAddr,
    case: LoadCase,
    seconds: u32,
) -> Result<LoadResult, String> {
    let mut command =
        command(root, placement, address, case, seconds).map_err(|error| error.to_string())?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Child::start(&mut command).map_err(|error| format!("{LOAD}: {error}"))?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let pipes = (child.pipes().stdout.take(), child.pipes().stderr.take());
    std::thread::spawn(move || {
        let output = pipes.0.map(std::io::read_to_string);
        let errors = pipes.1.map(std::io::read_to_string);
        let text = |read: Option<std::io::Result<String>>| read.and_then(Result::ok);
        // The receiver is gone where the load was too slow.
        let _ = sender.send([text(output), text(errors)].map(Option::unwrap_or_default));
    });
    let patience = Duration::from_secs(u64::from(seconds) + OVERTIME_SECONDS);
    let [output, errors] = receiver
        .recv_timeout(patience)
        .map_err(|_| format!("{LOAD} did not end"))?;
    LoadResult::parse(&output).ok_or_else(|| {
        let (output, errors) = (output.trim(), errors.trim());
        format!("{LOAD} reported nothing: {output} {errors}")
    })
}

fn command(
    root: &Path,
    placement: &Placement,
    address: SocketAddr,
    case: LoadCase,
    seconds: u32,
) -> std::io::Result<Command> {
    let exchange = case.route.measured();
    let several = case.route.several();
    let (connections, threads) = (case.connections, placement.load_threads());
    let mut command = placement.load(root.join(PROGRAM));
    command.args(["bench", "--json", "--timeout", TIMEOUT]);
    command.args(["--connections", &connections.to_string()]);
    command.args(["--threads", &threads.min(connections as usize).to_string()]);
    command.args(["--duration", &format!("{seconds}s")]);
    for field in case.headers.lines() {
        command.args(["--header", field]);
    }
    if !several.is_empty() {
        let file = root.join("bench/.peers/several");
        std::fs::write(&file, lines(&several))?;
        command.arg("--requests").arg(file);
    } else {
        command.args(["--method", exchange.method]);
        if !exchange.body.is_empty() {
            let file = root.join("bench/.peers/body");
            std::fs::write(&file, exchange.body.as_bytes())?;
            command.args(["--header", "Content-Type: application/json"]);
            command.args(["--body", &format!("@{}", file.display())]);
        }
    }
    command.arg(format!("http://{address}{}", exchange.path));
    Ok(command)
}

/// Returns a file of requests: method, path and body in each line.
fn lines(several: &[RouteExchange]) -> String {
    let line = |one: &RouteExchange| format!("{} {} {}\n", one.method, one.path, one.body);
    several.iter().map(line).collect()
}

impl LoadResult {
    /// The requests that were answered 2xx.
    pub(crate) fn fulfilled(&self) -> u64 {
        let refused = self.errors.iter().find(|(kind, _)| kind == "status");
        self.requests - refused.map_or(0, |(_, count)| *count).min(self.requests)
    }

    fn parse(output: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(output).ok()?;
        let micros = |name: &str| Some(report["latency_ms"][name].as_f64()? * 1e3);
        let refused = report["statuses"].as_object()?.iter();
        let refused = refused.filter(|(status, _)| status.as_str() >= "400");
        let refused: u64 = refused.filter_map(|(_, count)| count.as_u64()).sum();
        let mut errors = vec![("status".to_owned(), refused)];
        for (kind, count) in report["errors"].as_object()? {
            errors.push((kind.clone(), count.as_u64()?));
        }
        errors.retain(|(_, count)| *count > 0);
        Some(Self {
            requests: report["answers"].as_u64()?,
            per_second: report["answers_per_second"].as_f64()?,
            p50_micros: micros("p50")?,
            p90_micros: micros("p90")?,
            p99_micros: micros("p99")?,
            errors,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_report_of_the_load() {
        let output = r#"{"answers":500,"answers_per_second":250.0,"latency_ms":{"p50":0.01,"p90":0.02,"p99":0.03,"max":1},
            "statuses":{"200":498,"304":1,"503":1},"errors":{"connect":0,"closed":2,"timeout":0},"unsent":0}"#;
        let seen = LoadResult::parse(output).expect("a report");
        assert_eq!(
            (seen.requests, seen.per_second, seen.p99_micros),
            (500, 250.0, 30.0)
        );
        assert_eq!(
            seen.errors,
            [("status".to_owned(), 1), ("closed".to_owned(), 2)]
        );
        assert_eq!(seen.fulfilled(), 499);
        assert_eq!(LoadResult::parse("unable to connect"), None);
    }
}
