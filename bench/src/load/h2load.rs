//! The load by HTTP/2: `h2load` of nghttp2, with 100 streams on each connection.

use std::process::Stdio;

use super::{LoadResult, output_of};
use crate::peers::install::find;
use crate::peers::placement::Placement;
use crate::peers::target::Target;
use crate::routes::Route;

/// The connections, which are few: the streams are what is many.
pub(crate) const CONNECTIONS: u32 = 8;
/// The streams of each connection.
pub(crate) const STREAMS: u32 = 100;

/// Puts a server under load, to its end.
///
/// # Errors
///
/// When h2load is missing, or reports nothing.
pub(super) fn load(
    placement: &Placement,
    target: Target,
    route: Route,
    seconds: u32,
) -> Result<LoadResult, String> {
    let program = find("h2load").ok_or("h2load is not installed")?;
    let mut command = placement.load(program);
    command.args(["--threads=1", &format!("--clients={CONNECTIONS}")]);
    command.arg(format!("--max-concurrent-streams={STREAMS}"));
    command.arg(format!("--duration={seconds}"));
    command.arg(format!("{}{}", target.origin(), route.measured().path));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let [output, errors] = output_of(&mut command, seconds, "h2load")?;
    parse(&output, seconds).ok_or_else(|| format!("h2load reported nothing: {output} {errors}"))
}

/// Reads h2load's report: the numbers before words.
fn parse(output: &str, seconds: u32) -> Option<LoadResult> {
    let number = |line: &str, word: &str| -> Option<u64> {
        let line = output.lines().find(|found| found.starts_with(line))?;
        let parts = line.split_once(':')?.1.split(',');
        let mut numbers = parts.filter_map(|part| part.trim().split_once(' '));
        numbers.find(|(_, found)| *found == word)?.0.parse().ok()
    };
    let fulfilled = number("status codes:", "2xx")?;
    let mut errors = Vec::new();
    for (line, word) in [
        ("requests:", "failed"),
        ("requests:", "timeout"),
        ("status codes:", "4xx"),
        ("status codes:", "5xx"),
    ] {
        let count = number(line, word)?;
        errors.extend((count > 0).then(|| (word.to_owned(), count)));
    }
    Some(LoadResult {
        requests: fulfilled,
        per_second: fulfilled as f64 / f64::from(seconds),
        // Its report has no percentiles.
        p50_micros: f64::NAN,
        p90_micros: f64::NAN,
        p99_micros: f64::NAN,
        errors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_report_of_h2load() {
        let output = "finished in 2.00s, 500.00 req/s, 10.00KB/s\n\
            requests: 1003 total, 1003 started, 1000 done, 990 succeeded, 10 failed, 0 errored, 0 timeout\n\
            status codes: 990 2xx, 0 3xx, 8 4xx, 2 5xx\n";
        let seen = parse(output, 2).expect("a report");
        assert_eq!((seen.requests, seen.per_second), (990, 495.0));
        let kinds: Vec<&str> = seen.errors.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["failed", "4xx", "5xx"]);
        assert!(parse("unable to connect", 2).is_none());
    }
}
