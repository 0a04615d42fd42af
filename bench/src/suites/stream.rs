//! `cargo xtask bench stream`: large bodies, both ways, with the routes of examples/bench_stream.

use std::time::Duration;

use clap::Args;

use crate::error::Error;
use crate::load::transfers::transfers;
use crate::measure::before;
use crate::measure::case::LoadCase;
use crate::measure::setup::{self, SuiteOptions};
use crate::measure::{Series, Skipped, rounds, sample};
use crate::peers::STREAM_PEERS;
use crate::peers::placement::Placement;
use crate::report;
use crate::report::targets;
use crate::routes::{self, Headers, Route};

/// The options of `cargo xtask bench stream`.
#[derive(Args)]
pub(crate) struct StreamOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(STREAM_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::STREAM))]
    routes: Vec<Route>,
    /// The number of rounds in which each server is measured on each route
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The duration of each measurement
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    suite: SuiteOptions,
}

/// Runs the benchmark and writes `stream.json`, `stream.md` and `stream.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, or the results cannot be written.
pub(crate) fn stream(options: &StreamOptions) -> Result<bool, Error> {
    let mut setup = options.suite.prepare(STREAM_PEERS, &options.only)?;
    let placement = Placement::here(1);
    let runners = setup.start(&placement, 1);
    placement.move_here()?;
    let mut series = Vec::new();
    for route in setup::chosen(&options.routes, routes::STREAM) {
        for runner in &runners {
            // Also the check: each transfer is looked at.
            match transfers(runner.server.address(), route, Duration::ZERO) {
                Ok(_) => series.push(Series::new(runner.peer, case(route))),
                Err(fault) => {
                    let what = format!("{} {}", runner.peer.title, route.title());
                    Skipped::note(&mut setup.skipped, what, fault);
                }
            }
        }
    }
    let time = Duration::from_secs(u64::from(options.seconds));
    let series = rounds(series, options.rounds, &mut setup.skipped, |one, round| {
        let runner = runners.iter().find(|runner| runner.peer.id == one.peer.id);
        let server = &runner.ok_or("its server is gone")?.server;
        sample(server, round, || {
            transfers(server.address(), one.case.route, time)
        })
    });
    drop(runners);
    if let Some(comparison) = options.suite.comparison() {
        return Ok(before::print(&series, comparison));
    }
    let (seconds, count) = (options.seconds, options.rounds);
    let threads = format!("1; {}", placement.describe());
    let load = format!("one connection, {seconds} s × {count} rounds");
    let conditions = [("threads", threads), ("load", load)];
    let ratios = targets::judge(targets::STREAM, &series, 1);
    report::finish(
        &report::STREAM,
        setup,
        conditions,
        series,
        ratios,
        Vec::new(),
    )
}

/// One connection at a time.
fn case(route: Route) -> LoadCase {
    LoadCase {
        connections: 1,
        ..LoadCase::plain(route, Headers::Plain, 1)
    }
}
