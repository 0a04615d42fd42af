//! Measurements of the process, as the system has them.

use super::panics;
use sampan_host::metrics::{Readings, Registry, known};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Has a registry ask the system.
pub(super) fn collect(registry: &Registry) {
    let started = SystemTime::now().duration_since(UNIX_EPOCH);
    let started = started.unwrap_or_default().as_secs_f64();
    registry.collect(move |readings| {
        readings.put(&known::PROCESS_START, &[], started);
        read(readings);
    });
}

/// Reads `/proc`. Values that the system does not tell are left out.
fn read(readings: &mut Readings) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = resident.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    if let Some(kibibytes) = kibibytes {
        let kibibytes: f64 = kibibytes;
        readings.put(&known::RESIDENT, &[], kibibytes * 1024.0);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        // One of them is the folder that is read.
        readings.put(
            &known::OPEN_FILES,
            &[],
            files.count().saturating_sub(1) as f64,
        );
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if let Some(max) = limit.current {
        readings.put(&known::OPEN_FILES_MAX, &[], max as f64);
    }
    readings.put(&known::PANICS, &[], panics::seen() as f64);
    let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = usage.tv_sec as f64 + usage.tv_nsec as f64 / 1e9;
    readings.put(&known::CPU, &[], seconds);
}
