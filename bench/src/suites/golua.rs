//! `cargo xtask bench golua`: a short text from Lua in a program in Go, and from a handler in Go.

use clap::Args;

use crate::Error;
use crate::measure::case::CONNECTIONS;
use crate::measure::machine;
use crate::measure::setup::{self, SuiteOptions};
use crate::measure::{ExtraCases, MeasurementPlan};
use crate::peers::GOLUA_PEERS;
use crate::peers::placement::Placement;
use crate::report::targets;
use crate::report::{self, BenchReport};
use crate::routes::{self, Route};

/// The processors that a program in Go may use.
const THREADS: u32 = 1;

/// What `cargo xtask bench golua` takes.
#[derive(Args)]
pub(crate) struct GoLuaOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(GOLUA_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::GOLUA))]
    routes: Vec<Route>,
    /// How often each server is measured on each route
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// How long each measurement takes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    suite: SuiteOptions,
}

/// Runs the benchmark and writes `golua.json`, `golua.md` and `golua.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When wrk or taskset is missing, or the results cannot be written.
pub(crate) fn golua(options: &GoLuaOptions) -> Result<bool, Error> {
    options.suite.refuse_before()?;
    let mut setup = options.suite.prepare(GOLUA_PEERS, &options.only)?;
    let placement = Placement::here(THREADS as usize);
    let mut runners = setup.start(&placement, THREADS as usize);
    let mut skipped = Vec::new();
    let (rounds, seconds) = (options.rounds, options.seconds);
    let plan = MeasurementPlan {
        root: &setup.root,
        placement: &placement,
        routes: setup::chosen(&options.routes, routes::GOLUA),
        threads: THREADS,
        rounds,
        seconds,
        renew: None,
        extra: ExtraCases::None,
        shown: &[],
    };
    let series = plan.run(&mut runners, &mut skipped);
    drop(runners);
    setup.skipped.append(&mut skipped);
    let mut conditions = machine::conditions(setup.busy);
    conditions.push(("threads", format!("{THREADS}; {}", placement.describe())));
    let load = format!("wrk, {CONNECTIONS} connections, {seconds} s × {rounds} rounds");
    conditions.push(("load", load));
    let report = BenchReport {
        suite: &report::GOLUA,
        conditions,
        versions: setup::versions(&setup.installed),
        ratios: targets::judge(targets::GOLUA, &series, THREADS),
        series,
        figures: Vec::new(),
        skipped: setup.skipped,
    };
    report::write(&report, &setup.out)?;
    Ok(!report.series.is_empty())
}
