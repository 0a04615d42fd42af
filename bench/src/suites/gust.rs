//! `cargo xtask bench gust`: our package of npm on Bun and on Node.js, beside what people use there.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::db;
use super::side_by_side::RoundOptions;
use crate::error::Error;
use crate::measure::case::{CONNECTIONS, LoadCase, MANY_CONNECTIONS};
use crate::measure::setup::{self, Setup};
use crate::measure::{ExtraCases, MeasurementPlan, Series};
use crate::peers::placement::Placement;
use crate::peers::storage::Durability;
use crate::peers::{GUST_DB_PEERS, GUST_PEERS};
use crate::report;
use crate::report::targets;
use crate::routes::{self, Headers, Route};

/// A script of these runtimes has one thread.
const THREADS: u32 = 1;

/// Gust's answer to a static route has a second head inside of its body. It is measured, as others have published the
/// figure.
const SHOWN: &[&str] = &["gust-static-bun", "gust-static-node"];

/// The options of `cargo xtask bench gust`.
#[derive(Args)]
pub(crate) struct GustOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = peer_names())]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(ALL_ROUTES))]
    routes: Vec<Route>,
    /// Leave out the load of 500 connections
    #[arg(long)]
    no_many: bool,
    #[command(flatten)]
    shared: RoundOptions,
}

/// Those of `serve`, and that of an app with a database.
const ALL_ROUTES: &[Route] = &[
    Route::Version,
    Route::Health,
    Route::User,
    Route::Echo,
    Route::Five,
    Route::Write,
];

fn peer_names() -> PossibleValuesParser {
    let all = GUST_PEERS.iter().chain(GUST_DB_PEERS);
    all.map(|peer| peer.id).collect::<Vec<_>>().into()
}

/// Runs the benchmark and writes `gust.json`, `gust.md` and `gust.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn gust(options: &GustOptions) -> Result<bool, Error> {
    options.shared.suite.refuse_before()?;
    let mut setup = options.shared.suite.prepare(GUST_PEERS, &options.only)?;
    let placement = Placement::here(THREADS as usize);
    let load = format!(
        "sampan bench, {CONNECTIONS} connections unless it says {MANY_CONNECTIONS}, {} s × {} rounds",
        options.shared.seconds, options.shared.rounds
    );
    let extra = match options.no_many {
        true => ExtraCases::None,
        false => ExtraCases::Many,
    };
    let mut series = serve(options, &mut setup, &placement, extra);
    if options.routes.is_empty() || options.routes.contains(&Route::Write) {
        let mut with_database = options.shared.suite.prepare(GUST_DB_PEERS, &options.only)?;
        series.extend(write(options, &mut with_database));
        setup.installed.append(&mut with_database.installed);
        setup.skipped.append(&mut with_database.skipped);
    }
    let threads = format!("{THREADS}; {}", placement.describe());
    let conditions = [("threads", threads), ("load", load)];
    let ratios = targets::judge(targets::GUST, &series, THREADS);
    report::finish(&report::GUST, setup, conditions, series, ratios, Vec::new())
}

/// The routes of `serve`.
fn serve(
    options: &GustOptions,
    setup: &mut Setup,
    placement: &Placement,
    extra: ExtraCases,
) -> Vec<Series> {
    let mut runners = setup.start(placement, THREADS as usize);
    let mut skipped = Vec::new();
    let mut chosen = setup::chosen(&options.routes, routes::GUST);
    chosen.retain(|route| routes::GUST.contains(route));
    let plan = MeasurementPlan {
        root: &setup.root,
        placement,
        routes: chosen,
        threads: THREADS,
        rounds: options.shared.rounds,
        seconds: options.shared.seconds,
        renew: None,
        extra,
        shown: SHOWN,
    };
    let series = plan.run(&mut runners, &mut skipped);
    setup.skipped.append(&mut skipped);
    series
}

/// `POST /write` of examples/bench_db, as in `bench db`: each measurement with a fresh server and a fresh database.
fn write(options: &GustOptions, setup: &mut Setup) -> Vec<Series> {
    let case = LoadCase {
        durability: Some(Durability::Normal),
        ..LoadCase::plain(Route::Write, Headers::Plain, THREADS)
    };
    let (rounds, seconds) = (options.shared.rounds, options.shared.seconds);
    db::run(setup, &[case], rounds, seconds)
}
