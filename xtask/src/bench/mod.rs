//! `cargo xtask bench hello`: Sampan and its peers, the same routes on the same number of threads.
//!
//! The order of things: install the peers (`install`), start them all (`server`), check their answers (`check`),
//! warm up and measure in rounds (`measure`, with wrk through `load` and /proc through `processes`), take the
//! figures that have no peer (`figures`), and write it all down (`targets`, `report`, `chart`).

mod chart;
mod check;
mod client;
mod figures;
mod idle;
mod install;
mod load;
mod measure;
mod peers;
mod placement;
mod processes;
mod report;
mod routes;
mod server;
mod stats;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Error, project};
use figures::Subject;
use install::Installer;
use measure::{Plan, Runner, Skipped};
use peers::{Installed, PEERS, Peer};
use placement::Placement;
use report::Report;
use routes::Route;
use server::Server;

pub(crate) use idle::{IdleClient, idle_client};

/// What `cargo xtask bench hello` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = peer_names())]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_enum)]
    routes: Vec<Route>,
    /// How often each server is measured on each route
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// How long each measurement takes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// How many threads each server has
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Use what is installed, install nothing
    #[arg(long)]
    no_install: bool,
    /// Leave out the figures that have no peer (start, memory, size, many connections, two workers)
    #[arg(long)]
    no_figures: bool,
    /// Where the results are written
    #[arg(long, value_name = "DIR", default_value = "bench/results")]
    out: PathBuf,
}

/// A machine with a higher load average has other work, which bends every figure.
const LOAD_AVERAGE_MAX: f64 = 0.5;

fn peer_names() -> clap::builder::PossibleValuesParser {
    PEERS.iter().map(|peer| peer.id).collect::<Vec<_>>().into()
}

/// Runs the benchmark and writes `hello.json`, `hello.md` and `hello.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When wrk or taskset is missing, or the results cannot be written.
pub(crate) fn hello(options: &Options) -> Result<bool, Error> {
    for (program, package) in [("wrk", "wrk"), ("taskset", "util-linux")] {
        if install::find(program).is_none() {
            return Err(format!(
                "{program} is missing: install it, on Debian with `apt-get install {package}`"
            )
            .into());
        }
    }
    let busy = warn_if_busy();
    let root = project::root();
    let installer = Installer::new(&root, !options.no_install);
    let logs = installer.folder().join("logs");
    fs::create_dir_all(&logs)?;

    let placement = Placement::here(options.threads as usize);
    let mut skipped = Vec::new();
    let installed = install_all(&root, &installer, options, &mut skipped);
    let mut runners = Vec::new();
    for (peer, installed) in &installed {
        match Server::start(peer, installed, &placement, options.threads as usize, &logs) {
            Ok(server) => runners.push(Runner { peer, server }),
            Err(fault) => Skipped::note(
                &mut skipped,
                peer.title.to_owned(),
                format!("does not start: {fault}"),
            ),
        }
    }
    let routes = if options.routes.is_empty() {
        routes::ALL.to_vec()
    } else {
        options.routes.clone()
    };
    let plan = Plan {
        root: &root,
        placement: &placement,
        routes,
        rounds: options.rounds,
        seconds: options.seconds,
    };
    let series = plan.run(&mut runners, &mut skipped);
    drop(runners);

    let mut figures = Vec::new();
    for (peer, installed) in installed
        .iter()
        .filter(|(peer, _)| peer.is_ours() && !options.no_figures)
    {
        let (rounds, seconds) = (options.rounds, options.seconds);
        let subject = Subject {
            root: &root,
            logs: &logs,
            peer,
            installed,
            rounds,
            seconds,
        };
        let (found, faults) = subject.figures();
        figures.extend(found);
        faults
            .into_iter()
            .for_each(|(what, why)| Skipped::note(&mut skipped, what, why));
    }
    let report = Report {
        conditions: conditions(options, &placement, busy),
        versions: installed
            .iter()
            .map(|(peer, installed)| (peer.title, installed.version.clone()))
            .collect(),
        verdicts: targets::verdicts(&series),
        series,
        figures,
        skipped,
    };
    write(&report, &root.join(&options.out))?;
    Ok(!report.series.is_empty())
}

/// Installs the peers that were asked for, all by default.
fn install_all(
    root: &Path,
    installer: &Installer,
    options: &Options,
    skipped: &mut Vec<Skipped>,
) -> Vec<(&'static Peer, Installed)> {
    let wanted =
        |peer: &&Peer| options.only.is_empty() || options.only.iter().any(|id| id == peer.id);
    let wanted: Vec<&'static Peer> = PEERS.iter().filter(wanted).collect();
    let built = if wanted.iter().any(|peer| peer.is_ours()) {
        install::build_sampan(root)
    } else {
        Ok(())
    };
    let mut installed = Vec::new();
    for peer in wanted {
        let build = if peer.is_ours() {
            built.clone()
        } else {
            Ok(())
        };
        match build.and_then(|()| installer.install(peer)) {
            Ok(ready) => installed.push((peer, ready)),
            Err(why) => Skipped::note(skipped, peer.title.to_owned(), why),
        }
    }
    installed
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

fn conditions(options: &Options, placement: &Placement, busy: f64) -> Vec<(&'static str, String)> {
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
    let threads = options.threads;
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
        ("threads", format!("{threads}; {}", placement.describe())),
        (
            "load",
            format!(
                "wrk, {} connections, {} s × {} rounds",
                measure::CONNECTIONS,
                options.seconds,
                options.rounds
            ),
        ),
    ]
}

fn write(report: &Report, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)?;
    let markdown = report.markdown();
    let json = serde_json::to_string_pretty(&report.json())?;
    for (name, text) in [
        ("json", json + "\n"),
        ("md", markdown.clone()),
        ("svg", chart::svg(report)),
    ] {
        let file = folder.join(format!("hello.{name}"));
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    println!("\n{markdown}");
    println!(
        "written: hello.json, hello.md and hello.svg in {}",
        folder.display()
    );
    Ok(())
}
