//! The benchmarks, and what they have in common.

mod before;
pub(crate) mod case;
pub(crate) mod check;
mod db;
pub(crate) mod figures;
mod golua;
mod gust;
mod hello;
pub(crate) mod measure;
mod petclinic;
pub(crate) mod routes;
pub(crate) mod rows;
mod setup;
pub(crate) mod static_files;
mod stream;
mod template;

use std::fs;
use std::path::Path;

use crate::Error;
use crate::peers::{Installed, Peer};
use crate::report::{BenchReport, chart};

pub(crate) use db::{DbOptions, db};
pub(crate) use golua::{GoLuaOptions, golua};
pub(crate) use gust::{GustOptions, gust};
pub(crate) use hello::{HelloOptions, hello};
pub(crate) use petclinic::{PetClinicOptions, petclinic};
pub(crate) use static_files::{StaticOptions, static_files};
pub(crate) use stream::{StreamOptions, stream};
pub(crate) use template::{TemplateOptions, template};

/// A machine with a higher load average has other work, which bends every figure.
const LOAD_AVERAGE_MAX: f64 = 0.5;

fn peer_names(peers: &[Peer]) -> clap::builder::PossibleValuesParser {
    peers.iter().map(|peer| peer.id).collect::<Vec<_>>().into()
}

/// Those that were named, or all.
fn chosen<T: Copy>(named: &[T], all: &[T]) -> Vec<T> {
    if named.is_empty() { all } else { named }.to_vec()
}

/// The title and version of each, those with the same title once.
fn versions(installed: &[(&'static Peer, Installed)]) -> Vec<(&'static str, String)> {
    let mut versions: Vec<(&'static str, String)> = Vec::new();
    for (peer, installed) in installed {
        if !versions.iter().any(|(title, _)| *title == peer.title) {
            versions.push((peer.title, installed.version.clone()));
        }
    }
    versions
}

/// The machine's load average of the last minute, with a warning where it is not idle.
fn warn_if_busy() -> f64 {
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

/// What is the same for every benchmark: when and where.
fn conditions(busy: f64) -> Vec<(&'static str, String)> {
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

/// Writes the report as Markdown, JSON and a chart, named after the benchmark.
fn write(report: &BenchReport, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)?;
    let name = report.suite.name;
    let markdown = report.markdown();
    let json = serde_json::to_string_pretty(&report.json())?;
    for (ending, text) in [
        ("json", json + "\n"),
        ("md", markdown.clone()),
        ("svg", chart::svg(report)),
    ] {
        let file = folder.join(format!("{name}.{ending}"));
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    println!("\n{markdown}");
    println!(
        "written: {name}.json, {name}.md and {name}.svg in {}",
        folder.display()
    );
    Ok(())
}
