//! The load: wrk, told what to send and how to report by `bench/load.lua`, or bombardier.

mod bombardier;
pub(crate) mod idle;
pub(crate) mod transfers;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) use idle::{IdleClient, idle_client};
use serde_json::Value;

use crate::measure::case::{LoadCase, LoadProgram};
use crate::peers::children::Child;
use crate::peers::placement::Placement;
use crate::routes::RouteExchange;

/// The longest time that a request may take before wrk counts it as timed out, in seconds.
const TIMEOUT_SECONDS: u32 = 2;

/// The overtime after which wrk is ended.
const OVERTIME_SECONDS: u64 = 15;

/// A longer body is given to wrk in a file: the system limits the length of an argument.
const BODY_ARGUMENT_BYTES_MAX: usize = 64 * 1024;

/// The placeholder for the method where requests are in a file.
const SEVERAL: &str = "SEVERAL";

/// The word before the report's JSON in wrk's output.
const MARK: &str = "SAMPAN ";

/// One run of wrk or bombardier.
pub(crate) struct Load<'a> {
    pub(crate) root: &'a Path,
    pub(crate) placement: &'a Placement,
    pub(crate) address: SocketAddr,
    pub(crate) case: LoadCase,
    pub(crate) seconds: u32,
}

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

impl Load<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// When it cannot be run, or reports nothing.
    pub(crate) fn run(&self) -> Result<LoadResult, String> {
        let name = self.case.program.name();
        let command = match self.case.program {
            LoadProgram::Wrk => self.command(),
            LoadProgram::Bombardier => Ok(bombardier::command(self)),
        };
        let mut command = command.map_err(|error| error.to_string())?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Child::start(&mut command).map_err(|error| format!("{name}: {error}"))?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let pipes = (child.pipes().stdout.take(), child.pipes().stderr.take());
        std::thread::spawn(move || {
            let text = |pipe| std::io::read_to_string(pipe).unwrap_or_default();
            let output = pipes.0.map(text).unwrap_or_default();
            let errors = pipes
                .1
                .map(|pipe| std::io::read_to_string(pipe).unwrap_or_default());
            // Nobody listens any more where wrk was too slow.
            let _ = sender.send((output, errors.unwrap_or_default()));
        });
        let patience = Duration::from_secs(u64::from(self.seconds) + OVERTIME_SECONDS);
        let (output, errors) = receiver
            .recv_timeout(patience)
            .map_err(|_| format!("{name} did not end"))?;
        let report = match self.case.program {
            LoadProgram::Wrk => LoadResult::parse(&output),
            LoadProgram::Bombardier => bombardier::parse(&output),
        };
        report.ok_or_else(|| {
            format!(
                "{name} reported nothing: {} {}",
                output.trim(),
                errors.trim()
            )
        })
    }

    fn command(&self) -> std::io::Result<Command> {
        let exchange = self.case.route.measured();
        let several = self.case.route.several();
        let mut command = self.placement.load("wrk");
        let threads = self
            .placement
            .load_threads()
            .min(self.case.connections as usize);
        command.arg(format!("-t{threads}"));
        command.args([
            "-c",
            &self.case.connections.to_string(),
            "-d",
            &format!("{}s", self.seconds),
            "--latency",
        ]);
        command.args(["--timeout", &format!("{TIMEOUT_SECONDS}s")]);
        command.arg("-s").arg(self.root.join("bench/load.lua"));
        command.arg(format!("http://{}{}", self.address, exchange.path));
        if !several.is_empty() {
            let file = self.root.join("bench/.peers/several");
            std::fs::write(&file, lines(&several))?;
            command.args(["--", SEVERAL, &file.display().to_string()]);
            command.args(self.case.headers.lines());
            return Ok(command);
        }
        command.args(["--", exchange.method]);
        if exchange.body.len() > BODY_ARGUMENT_BYTES_MAX {
            let file = self.root.join("bench/.peers/body");
            std::fs::write(&file, exchange.body.as_bytes())?;
            command.arg(format!("@{}", file.display()));
        } else {
            command.arg(&*exchange.body);
        }
        if !exchange.body.is_empty() {
            command.arg("Content-Type: application/json");
        }
        command.args(self.case.headers.lines());
        Ok(command)
    }
}

/// Returns the input of `bench/load.lua`: method, path and body of a request in each line.
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
        let line = output.lines().find_map(|line| line.strip_prefix(MARK))?;
        let report: Value = serde_json::from_str(line).ok()?;
        let number = |name: &str| report[name].as_u64();
        let requests = number("requests")?;
        let errors = ["connect", "read", "write", "timeout", "status"].into_iter();
        Some(Self {
            requests,
            per_second: requests as f64 * 1e6 / number("duration_us")?.max(1) as f64,
            p50_micros: number("p50_us")? as f64,
            p90_micros: number("p90_us")? as f64,
            p99_micros: number("p99_us")? as f64,
            errors: errors
                .filter_map(|name| {
                    number(name)
                        .filter(|count| *count > 0)
                        .map(|count| (name.to_owned(), count))
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_found_among_wrks_own_words() {
        let output = "Running 1s test\n  1 threads\nSAMPAN {\"requests\":500,\"duration_us\":2000000,\"p50_us\":10,\
             \"p90_us\":20,\"p99_us\":30,\"connect\":0,\"read\":2,\"write\":0,\"timeout\":0,\"status\":1}\n";
        let seen = LoadResult::parse(output).expect("a report");
        assert_eq!(
            (seen.requests, seen.per_second, seen.p99_micros),
            (500, 250.0, 30.0)
        );
        assert_eq!(
            seen.errors,
            [("read".to_owned(), 2), ("status".to_owned(), 1)]
        );
        assert_eq!(seen.fulfilled(), 499);
        assert_eq!(LoadResult::parse("unable to connect"), None);
    }
}
