//! `cargo xtask bench static`: files of three sizes, served from a folder. Ours is that of examples/bench_static.

use std::path::Path;

use clap::Args;

use crate::Error;
use crate::measure::before;
use crate::measure::case::CONNECTIONS;
use crate::measure::machine;
use crate::measure::setup::{self, SuiteOptions};
use crate::measure::{ExtraCases, MeasurementPlan};
use crate::peers::STATIC_PEERS;
use crate::peers::placement::Placement;
use crate::report::targets;
use crate::report::{self, BenchReport};
use crate::routes::{self, Route};

/// The peers serve on one thread.
const THREADS: u32 = 1;

/// What `cargo xtask bench static` takes.
#[derive(Args)]
pub(crate) struct StaticOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(STATIC_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::STATIC))]
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

/// Runs the benchmark and writes `static.json`, `static.md` and `static.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When wrk or taskset is missing, or the results cannot be written.
pub(crate) fn static_files(options: &StaticOptions) -> Result<bool, Error> {
    write_files(&files(&crate::root()))?;
    let mut setup = options.suite.prepare(STATIC_PEERS, &options.only)?;
    let placement = Placement::here(THREADS as usize);
    let mut runners = setup.start(&placement, THREADS as usize);
    let renew = |peer| setup.start_one(peer, &placement, THREADS as usize);
    let mut skipped = Vec::new();
    let (rounds, seconds) = (options.rounds, options.seconds);
    let plan = MeasurementPlan {
        root: &setup.root,
        placement: &placement,
        routes: setup::chosen(&options.routes, routes::STATIC),
        threads: THREADS,
        rounds,
        seconds,
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
    let mut conditions = machine::conditions(setup.busy);
    conditions.push(("threads", format!("{THREADS}; {}", placement.describe())));
    let load = format!("wrk, {CONNECTIONS} connections, {seconds} s × {rounds} rounds");
    conditions.push(("load", load));
    let report = BenchReport {
        suite: &report::STATIC,
        conditions,
        versions: setup::versions(&setup.installed),
        ratios: targets::judge(targets::STATIC, &series, THREADS),
        series,
        figures: Vec::new(),
        skipped: setup.skipped,
    };
    report::write(&report, &setup.out)?;
    Ok(!report.series.is_empty())
}

/// The folder with the files, which all servers share.
pub(crate) fn files(root: &Path) -> std::path::PathBuf {
    root.join("examples/bench_static/public")
}

/// Makes the files that are not there.
fn write_files(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for (name, bytes) in routes::FILES {
        let path = folder.join(name);
        let text = routes::digits(*bytes);
        let is_there = std::fs::read(&path).is_ok_and(|found| found == text.as_bytes());
        if !is_there {
            std::fs::write(&path, text)?;
        }
    }
    Ok(())
}
