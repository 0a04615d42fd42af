//! `cargo xtask bench hello`: the routes of examples/hello without its database, those of examples/bench_bodies, and the figures
//! that have no peer.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use super::before;
use crate::Error;
use crate::peers::install::Installer;
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::{PEERS, Peer};
use crate::report::targets;
use crate::report::{self, BenchReport};
use crate::suites::case::CONNECTIONS;
use crate::suites::figures::Subject;
use crate::suites::measure::{MeasurementPlan, Runner, Skipped};
use crate::suites::routes::{self, Route};

/// What `cargo xtask bench hello` takes.
#[derive(Args)]
pub(crate) struct HelloOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = super::peer_names(PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::HELLO))]
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
    /// Measure only ours, each in turn with this older executable of Sampan, and print what changed
    #[arg(long, value_name = "EXECUTABLE")]
    before: Option<PathBuf>,
    /// Where the results are written
    #[arg(long, value_name = "DIR", default_value = "bench/results")]
    out: PathBuf,
}

/// Runs the benchmark and writes `hello.json`, `hello.md` and `hello.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When wrk or taskset is missing, or the results cannot be written.
pub(crate) fn hello(options: &HelloOptions) -> Result<bool, Error> {
    super::require_tools()?;
    let busy = super::warn_if_busy();
    let root = crate::root();
    let installer = Installer::new(&root, !options.no_install);
    let logs = installer.folder().join("logs");
    fs::create_dir_all(&logs)?;

    let placement = Placement::here(options.threads as usize);
    let before = options.before.as_deref();
    let mut skipped = Vec::new();
    let installed = super::install_all(
        &root,
        &installer,
        PEERS,
        &options.only,
        before,
        &mut skipped,
    );
    let mut runners = Vec::new();
    for (peer, installed) in &installed {
        let threads = options.threads as usize;
        match PeerServer::start(peer, installed, &placement, threads, None, &logs) {
            Ok(server) => runners.push(Runner { peer, server }),
            Err(fault) => Skipped::note(
                &mut skipped,
                peer.title.to_owned(),
                format!("does not start: {fault}"),
            ),
        }
    }
    let plan = MeasurementPlan {
        root: &root,
        placement: &placement,
        routes: super::chosen(&options.routes, routes::HELLO),
        threads: options.threads,
        rounds: options.rounds,
        seconds: options.seconds,
    };
    let series = plan.run(&mut runners, &mut skipped);
    drop(runners);
    if before.is_some() {
        return Ok(before::print(&series));
    }

    let mut figures = Vec::new();
    let has_figures = |peer: &Peer| peer.is_ours() && peer.routes.contains(&Route::Greet);
    for (peer, installed) in installed
        .iter()
        .filter(|(peer, _)| has_figures(peer) && !options.no_figures)
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
    let report = BenchReport {
        suite: &report::HELLO,
        conditions: conditions(options, &placement, busy),
        versions: super::versions(&installed),
        ratios: targets::judge(targets::HELLO, &series, options.threads),
        series,
        figures,
        skipped,
    };
    super::write(&report, &root.join(&options.out))?;
    Ok(!report.series.is_empty())
}

fn conditions(
    options: &HelloOptions,
    placement: &Placement,
    busy: f64,
) -> Vec<(&'static str, String)> {
    let mut conditions = super::conditions(busy);
    let (threads, seconds, rounds) = (options.threads, options.seconds, options.rounds);
    conditions.push(("threads", format!("{threads}; {}", placement.describe())));
    let load = format!("wrk, {CONNECTIONS} connections, {seconds} s × {rounds} rounds");
    conditions.push(("load", load));
    conditions
}
