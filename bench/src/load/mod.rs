//! The load: `sampan bench`, on the processors of the load.

mod client_process;
pub(crate) mod collector;
pub(crate) mod h2load;
pub(crate) mod handshakes;
pub(crate) mod idle;
pub(crate) mod open;
pub(crate) mod passed;
mod plain_server;
pub(crate) mod prepared;
pub(crate) mod room;
pub(crate) mod socket_client;
pub(crate) mod sockets;
pub(crate) mod transfers;
mod websocket;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) use idle::{IdleClient, idle_client};
use serde_json::{Value, json};

use crate::measure::case::LoadCase;
use crate::peers::children::Child;
use crate::peers::placement::Placement;
use crate::peers::target::Target;
use crate::routes::RouteExchange;

/// The load program, for messages.
const LOAD: &str = "sampan bench";

/// The executable that is measured and makes the load, from the root of the checkout.
const PROGRAM: &str = "target/bench/sampan";

/// The variable that names another one, to try a benchmark without building it.
const OTHER_PROGRAM: &str = "BENCH_PROGRAM";

/// The executable that is measured in place of the one that is built for it, if one is named.
pub(crate) fn other_program() -> Option<PathBuf> {
    let named = std::env::var_os(OTHER_PROGRAM).filter(|name| !name.is_empty())?;
    std::path::absolute(named).ok()
}

/// The executable that is measured and makes the load.
pub(crate) fn program(root: &Path) -> PathBuf {
    other_program().unwrap_or_else(|| root.join(PROGRAM))
}

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
    target: impl Into<Target>,
    case: LoadCase,
    seconds: u32,
) -> Result<LoadResult, String> {
    load_at(root, placement, target, case, seconds, None)
}

/// Puts a server under load, as [`load`], with so many requests per second if there is a `rate`.
///
/// # Errors
///
/// As [`load`].
pub(crate) fn load_at(
    root: &Path,
    placement: &Placement,
    target: impl Into<Target>,
    case: LoadCase,
    seconds: u32,
    rate: Option<u32>,
) -> Result<LoadResult, String> {
    let mut command = command(root, placement, target.into(), case, seconds, rate)
        .map_err(|error| error.to_string())?;
    let texts = output_of(&mut command, seconds, LOAD)?;
    LoadResult::reported(&texts, "latency_ms", LOAD)
}

/// Runs a load program to its end, and returns its output and its errors.
fn output_of(command: &mut Command, seconds: u32, name: &str) -> Result<[String; 2], String> {
    let mut child = Child::start(command).map_err(|error| format!("{name}: {error}"))?;
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
    receiver
        .recv_timeout(patience)
        .map_err(|_| format!("{name} did not end"))
}

/// A command of `sampan bench`, without what is asked for.
fn load_command(
    root: &Path,
    placement: &Placement,
    connections: u32,
    timeout: &str,
    seconds: f64,
    rate: Option<f64>,
) -> Command {
    let threads = placement.load_threads().min(connections as usize);
    let mut command = placement.load(program(root));
    command.args(["bench", "--json", "--timeout", timeout]);
    command.args(["--connections", &connections.to_string()]);
    command.args(["--threads", &threads.to_string()]);
    command.args(["--duration", &format!("{seconds}s")]);
    if let Some(rate) = rate {
        command.args(["--rate", &rate.to_string()]);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn command(
    root: &Path,
    placement: &Placement,
    target: Target,
    case: LoadCase,
    seconds: u32,
    rate: Option<u32>,
) -> std::io::Result<Command> {
    let exchange = case.route.measured();
    let several = case.route.several();
    let (seconds, rate) = (f64::from(seconds), rate.map(f64::from));
    let connections = case.connections;
    let mut command = load_command(root, placement, connections, TIMEOUT, seconds, rate);
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
    command.arg(format!("{}{}", target.origin(), exchange.path));
    Ok(command)
}

/// Returns a file of requests: method, path and body in each line.
fn lines(several: &[RouteExchange]) -> String {
    let line = |one: &RouteExchange| format!("{} {} {}\n", one.method, one.path, one.body);
    several.iter().map(line).collect()
}

impl LoadResult {
    /// A line of JSON, for a load in another process.
    fn to_line(&self) -> String {
        json!({
            "requests": self.requests, "per_second": self.per_second, "p50_micros": self.p50_micros,
            "p90_micros": self.p90_micros, "p99_micros": self.p99_micros,
        })
        .to_string()
    }

    /// Reads such a line.
    fn from_line(line: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(line).ok()?;
        Some(Self {
            requests: report["requests"].as_u64()?,
            per_second: report["per_second"].as_f64()?,
            p50_micros: report["p50_micros"].as_f64()?,
            p90_micros: report["p90_micros"].as_f64()?,
            p99_micros: report["p99_micros"].as_f64()?,
            errors: Vec::new(),
        })
    }

    /// The figures of these latencies, of which there is one at least.
    fn of(mut micros: Vec<f64>, time: Duration) -> Self {
        micros.sort_by(f64::total_cmp);
        let at = |part: f64| micros[((micros.len() - 1) as f64 * part) as usize];
        Self {
            requests: micros.len() as u64,
            per_second: micros.len() as f64 / time.as_secs_f64(),
            p50_micros: at(0.5),
            p90_micros: at(0.9),
            p99_micros: at(0.99),
            errors: Vec::new(),
        }
    }

    /// The requests that were answered 2xx.
    pub(crate) fn fulfilled(&self) -> u64 {
        let refused = self.errors.iter().find(|(kind, _)| kind == "status");
        self.requests - refused.map_or(0, |(_, count)| *count).min(self.requests)
    }

    /// Reads the report of a load, with the times of this group.
    ///
    /// # Errors
    ///
    /// When it reported nothing, with what it said instead.
    fn reported([output, errors]: &[String; 2], group: &str, load: &str) -> Result<Self, String> {
        Self::parse(output, group).ok_or_else(|| {
            let (output, errors) = (output.trim(), errors.trim());
            format!("{load} reported nothing: {output} {errors}")
        })
    }

    fn parse(output: &str, group: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(output).ok()?;
        let micros = |name: &str| Some(report[group][name].as_f64()? * 1e3);
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
    fn figures_come_back_from_another_process() {
        let micros = (1..=100).map(f64::from).collect();
        let seen = LoadResult::of(micros, Duration::from_secs(2));
        assert_eq!((seen.requests, seen.per_second), (100, 50.0));
        assert_eq!((seen.p50_micros, seen.p99_micros), (50.0, 99.0));
        assert_eq!(LoadResult::from_line(&seen.to_line()), Some(seen));
        assert_eq!(LoadResult::from_line("a fault"), None);
    }

    #[test]
    fn reads_the_report_of_the_load() {
        let output = r#"{"answers":500,"answers_per_second":250.0,"latency_ms":{"p50":0.01,"p90":0.02,"p99":0.03,"max":1},
            "statuses":{"200":498,"304":1,"503":1},"errors":{"connect":0,"closed":2,"timeout":0},"unsent":0}"#;
        let seen = LoadResult::parse(output, "latency_ms").expect("a report");
        assert_eq!(
            (seen.requests, seen.per_second, seen.p99_micros),
            (500, 250.0, 30.0)
        );
        assert_eq!(
            seen.errors,
            [("status".to_owned(), 1), ("closed".to_owned(), 2)]
        );
        assert_eq!(seen.fulfilled(), 499);
        assert_eq!(LoadResult::parse("unable to connect", "latency_ms"), None);
    }
}
