//! The machine that is measured on.

use std::fs;

/// A machine with a higher load average has other work, which bends every figure.
const LOAD_AVERAGE_MAX: f64 = 0.5;

/// The machine's load average of the last minute, with a warning where it is not idle.
pub(super) fn warn_if_busy() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average = text
        .split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0.0);
    if average > LOAD_AVERAGE_MAX {
        println!("warning: this machine is busy (load average {average}): its figures tell little");
    }
    average
}

/// Returns the conditions common to all benchmarks: when and where.
pub(crate) fn conditions(busy: f64) -> Vec<(&'static str, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let date = std::process::Command::new("date")
        .args(["-u", "+%Y-%m-%d"])
        .output();
    let date = date
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    vec![
        ("date", date),
        (
            "machine",
            format!(
                "{count} × {}",
                model.map_or("unknown processor", |(_, name)| name)
            ),
        ),
        (
            "kernel",
            format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        ),
        ("load average before", format!("{busy:.2}")),
    ]
}
