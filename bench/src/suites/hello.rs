//! `cargo xtask bench hello`: the routes of examples/hello without its database, those of examples/bench_bodies, and the figures
//! that have no peer.

use clap::Args;

use crate::Error;
use crate::measure::before;
use crate::measure::case::CONNECTIONS;
use crate::measure::figures::Subject;
use crate::measure::machine;
use crate::measure::setup::{self, SuiteOptions};
use crate::measure::{ExtraCases, MeasurementPlan, Skipped};
use crate::peers::placement::Placement;
use crate::peers::{PEERS, Peer};
use crate::report::targets;
use crate::report::{self, BenchReport};
use crate::routes::{self, Route};

/// What `cargo xtask bench hello` takes.
#[derive(Args)]
pub(crate) struct HelloOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(PEERS))]
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
    /// Leave out the figures that have no peer (start, memory, size, many connections, two workers)
    #[arg(long)]
    no_figures: bool,
    #[command(flatten)]
    suite: SuiteOptions,
}

/// Runs the benchmark and writes `hello.json`, `hello.md` and `hello.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When wrk or taskset is missing, or the results cannot be written.
pub(crate) fn hello(options: &HelloOptions) -> Result<bool, Error> {
    let mut setup = options.suite.prepare(PEERS, &options.only)?;
    let placement = Placement::here(options.threads as usize);
    let mut runners = setup.start(&placement, options.threads as usize);
    let renew = |peer| setup.start_one(peer, &placement, options.threads as usize);
    let mut skipped = Vec::new();
    let plan = MeasurementPlan {
        root: &setup.root,
        placement: &placement,
        routes: setup::chosen(&options.routes, routes::HELLO),
        threads: options.threads,
        rounds: options.rounds,
        seconds: options.seconds,
        renew: options.suite.before.is_some().then_some(&renew),
        extra: ExtraCases::Browser,
        shown: &[],
    };
    let series = plan.run(&mut runners, &mut skipped);
    drop(runners);
    setup.skipped.append(&mut skipped);
    if options.suite.before.is_some() {
        return Ok(before::print(&series));
    }

    let mut figures = Vec::new();
    let has_figures = |peer: &Peer| peer.is_ours() && peer.routes.contains(&Route::Greet);
    for (peer, installed) in setup
        .installed
        .iter()
        .filter(|(peer, _)| has_figures(peer) && !options.no_figures)
    {
        let (rounds, seconds) = (options.rounds, options.seconds);
        let subject = Subject {
            root: &setup.root,
            logs: &setup.logs,
            peer,
            installed,
            rounds,
            seconds,
        };
        let (found, faults) = subject.figures();
        figures.extend(found);
        faults
            .into_iter()
            .for_each(|(what, why)| Skipped::note(&mut setup.skipped, what, why));
    }
    let report = BenchReport {
        suite: &report::HELLO,
        conditions: conditions(options, &placement, setup.busy),
        versions: setup::versions(&setup.installed),
        ratios: targets::judge(targets::HELLO, &series, options.threads),
        series,
        figures,
        skipped: setup.skipped,
    };
    report::write(&report, &setup.out)?;
    Ok(!report.series.is_empty())
}

fn conditions(
    options: &HelloOptions,
    placement: &Placement,
    busy: f64,
) -> Vec<(&'static str, String)> {
    let mut conditions = machine::conditions(busy);
    let (threads, seconds, rounds) = (options.threads, options.seconds, options.rounds);
    conditions.push(("threads", format!("{threads}; {}", placement.describe())));
    let load = format!("wrk, {CONNECTIONS} connections, {seconds} s × {rounds} rounds");
    conditions.push(("load", load));
    conditions
}
