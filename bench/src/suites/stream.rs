//! `cargo xtask bench stream`: large bodies, both ways, with the routes of examples/bench_stream.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::before;
use crate::Error;
use crate::load::transfers::transfers;
use crate::peers::STREAM_PEERS;
use crate::peers::install::Installer;
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::report::targets;
use crate::report::{self, BenchReport};
use crate::suites::case::LoadCase;
use crate::suites::measure::{Runner, Series, Skipped, rounds, sample};
use crate::suites::routes::{self, Headers, Route};

/// What `cargo xtask bench stream` takes.
#[derive(Args)]
pub(crate) struct StreamOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = super::peer_names(STREAM_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::STREAM))]
    routes: Vec<Route>,
    /// How often each server is measured on each route
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// How long each measurement takes
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Use what is installed, install nothing
    #[arg(long)]
    no_install: bool,
    /// Measure only ours, each in turn with this older executable of Sampan, and print what changed
    #[arg(long, value_name = "EXECUTABLE")]
    before: Option<PathBuf>,
    /// Where the results are written
    #[arg(long, value_name = "DIR", default_value = "bench/results")]
    out: PathBuf,
}

/// Runs the benchmark and writes `stream.json`, `stream.md` and `stream.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, or the results cannot be written.
pub(crate) fn stream(options: &StreamOptions) -> Result<bool, Error> {
    super::require_tools()?;
    let busy = super::warn_if_busy();
    let root = crate::root();
    let installer = Installer::new(&root, !options.no_install);
    let logs = installer.folder().join("logs");
    fs::create_dir_all(&logs)?;

    let placement = Placement::here(1);
    let before = options.before.as_deref();
    let mut skipped = Vec::new();
    let installed = super::install_all(
        &root,
        &installer,
        STREAM_PEERS,
        &options.only,
        before,
        &mut skipped,
    );
    let mut runners = Vec::new();
    for (peer, installed) in &installed {
        match PeerServer::start(peer, installed, &placement, 1, None, &logs) {
            Ok(server) => runners.push(Runner { peer, server }),
            Err(fault) => Skipped::note(
                &mut skipped,
                peer.title.to_owned(),
                format!("does not start: {fault}"),
            ),
        }
    }
    placement.move_here()?;
    let mut series = Vec::new();
    for route in super::chosen(&options.routes, routes::STREAM) {
        for runner in &runners {
            // Also the check: each transfer is looked at.
            match transfers(runner.server.address(), route, Duration::ZERO) {
                Ok(_) => series.push(Series::new(runner.peer, case(route))),
                Err(fault) => {
                    let what = format!("{} {}", runner.peer.title, route.title());
                    Skipped::note(&mut skipped, what, fault);
                }
            }
        }
    }
    let time = Duration::from_secs(u64::from(options.seconds));
    let series = rounds(series, options.rounds, &mut skipped, |one, round| {
        let runner = runners.iter().find(|runner| runner.peer.id == one.peer.id);
        let server = &runner.ok_or("its server is gone")?.server;
        sample(server, round, || {
            transfers(server.address(), one.case.route, time)
        })
    });
    drop(runners);
    if before.is_some() {
        return Ok(before::print(&series));
    }
    let mut conditions = super::conditions(busy);
    let (seconds, count) = (options.seconds, options.rounds);
    conditions.push(("threads", format!("1; {}", placement.describe())));
    let load = format!("one connection, {seconds} s × {count} rounds");
    conditions.push(("load", load));
    let report = BenchReport {
        suite: &report::STREAM,
        conditions,
        versions: super::versions(&installed),
        ratios: targets::judge(targets::STREAM, &series, 1),
        series,
        figures: Vec::new(),
        skipped,
    };
    super::write(&report, &root.join(&options.out))?;
    Ok(!report.series.is_empty())
}

/// One connection at a time.
fn case(route: Route) -> LoadCase {
    LoadCase {
        connections: 1,
        ..LoadCase::plain(route, Headers::Plain, 1)
    }
}
