//! `cargo xtask bench db`: the routes of examples/bench_db, and those of examples/hello that need its database.
//!
//! Each measurement has a server and a database of its own: no reads suffer from earlier writes of others, and a server
//! that writes more does not pay for it in later runs. After it the rows are counted.

use clap::Args;

use crate::error::Error;
use crate::load::load;
use crate::measure::before;
use crate::measure::case::{CONNECTIONS, LoadCase};
use crate::measure::setup::{self, Setup, SuiteOptions};
use crate::measure::{self, DatabaseFigures, Sample, Series, sample};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::Durability;
use crate::peers::{DB_PEERS, Peer};
use crate::report;
use crate::report::targets;
use crate::routes::check;
use crate::routes::rows;
use crate::routes::{self, Headers, Route};
use sampan_client::Client;

/// The time that a server is warmed up before it is measured, in seconds.
pub(super) const WARM_UP_SECONDS: u32 = 1;

/// The requests by which a route is checked.
const CHECKS: u64 = 4;

/// The options of `cargo xtask bench db`.
#[derive(Args)]
pub(crate) struct DbOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(DB_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::DB))]
    routes: Vec<Route>,
    /// Measure only with this durability
    #[arg(long, value_name = "normal,full", value_delimiter = ',', value_enum)]
    durability: Vec<Durability>,
    /// The numbers of workers (of the peers: processes or threads) each server has, one number after the other
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2",
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    workers: Vec<u32>,
    /// The number of rounds in which each server is measured on each route
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The duration of each measurement
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    suite: SuiteOptions,
}

/// Runs the benchmark and writes `db.json`, `db.md` and `db.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn db(options: &DbOptions) -> Result<bool, Error> {
    let mut setup = options.suite.prepare(DB_PEERS, &options.only)?;
    let (rounds, seconds) = (options.rounds, options.seconds);
    let series = run(&mut setup, &cases(options), rounds, seconds);
    if let Some(comparison) = options.suite.comparison() {
        return Ok(before::print(&series, comparison));
    }
    let ratios = targets::judge(targets::DB, &series, 1);
    report::finish(
        &report::DB,
        setup,
        conditions(options),
        series,
        ratios,
        Vec::new(),
    )
}

/// Returns the requested cases, and single INSERTs on one connection, where nothing can be grouped.
fn cases(options: &DbOptions) -> Vec<LoadCase> {
    let durabilities = setup::chosen(&options.durability, &[Durability::Normal, Durability::Full]);
    let mut cases = Vec::new();
    for &threads in &options.workers {
        for route in setup::chosen(&options.routes, routes::DB) {
            for &durability in &durabilities {
                let case = LoadCase {
                    durability: Some(durability),
                    ..LoadCase::plain(route, Headers::Plain, threads)
                };
                cases.push(case);
                if route == Route::Write && threads == 1 {
                    cases.push(LoadCase {
                        connections: 1,
                        ..case
                    });
                }
            }
        }
    }
    cases
}

fn conditions(options: &DbOptions) -> [(&'static str, String); 2] {
    let placed = options.workers.iter().map(|&workers| {
        let placement = Placement::here(workers as usize);
        format!("{workers}: {}", placement.describe())
    });
    let (seconds, rounds) = (options.seconds, options.rounds);
    let load = format!(
        "sampan bench, {CONNECTIONS} connections unless it says one, {seconds} s × {rounds} rounds, after {WARM_UP_SECONDS} s \
         of warming up"
    );
    let placed = placed.collect::<Vec<_>>().join("; ");
    [("workers", placed), ("load", load)]
}

/// In each round one case after the other, in it one peer after the other.
pub(super) fn run(setup: &mut Setup, cases: &[LoadCase], rounds: u32, seconds: u32) -> Vec<Series> {
    let mut series = Vec::new();
    for &case in cases {
        let able = setup.installed.iter();
        let able = able.filter(|(peer, _)| peer.routes.contains(&case.route));
        series.extend(able.map(|(peer, _)| Series::new(peer, case)));
    }
    let mut skipped = Vec::new();
    let series = measure::rounds(series, rounds, &mut skipped, |one, round| {
        measure(setup, one.peer, one.case, round, seconds)
    });
    setup.skipped.append(&mut skipped);
    series
}

/// One measurement, from an empty folder to the counting of the rows.
fn measure(
    setup: &Setup,
    peer: &'static Peer,
    case: LoadCase,
    round: u32,
    seconds: u32,
) -> Result<Sample, String> {
    let durability = case.durability.ok_or("it needs a durability")?;
    let storage = setup.storage(durability, "")?;
    let threads = case.threads as usize;
    let placement = Placement::here(threads);
    let server = setup.start_with(peer, &placement, threads, Some(&storage))?;
    check::check(server.address(), case.route)?;
    let load = |seconds| load(&setup.root, &placement, server.address(), case, seconds);
    let warmed = load(WARM_UP_SECONDS)?;
    let mut sample = sample(&server, round, || load(seconds))?;
    let (file_bytes, wal_bytes) = storage.bytes();
    sample.database = Some(DatabaseFigures {
        rows_per_second: sample.seen.per_second * case.route.rows() as f64,
        file_bytes,
        wal_bytes,
    });
    if routes::EVENTS.contains(&case.route) {
        let acknowledged = warmed.fulfilled() + sample.seen.fulfilled();
        audit(&server, case, rows::SEEDED, acknowledged)?;
    }
    Ok(sample)
}

/// Counts the rows, of which so many were there, or adds up what updates changed: what was acknowledged must be there,
/// and no more than that and what was in flight when each of the two loads ended.
pub(super) fn audit(
    server: &PeerServer,
    case: LoadCase,
    seeded: u64,
    acknowledged: u64,
) -> Result<(), String> {
    let (before, each, name) = match case.route {
        Route::Update => (0, rows::PAGE as u64, "sum"),
        route => (seeded, route.rows_written(), "count"),
    };
    let fault = |why: String| format!("GET /count: {why}");
    let mut client = Client::connect(server.address()).map_err(|error| fault(error.to_string()))?;
    let answer = client
        .ask("GET", "/count", &[], "")
        .map_err(|error| fault(error.to_string()))?;
    let found: serde_json::Value =
        serde_json::from_slice(&answer.body).map_err(|error| fault(error.to_string()))?;
    let found = found[name].as_u64();
    let found = found.ok_or_else(|| fault(String::from_utf8_lossy(&answer.body).into_owned()))?;
    let least = before + each * acknowledged;
    let most = least + each * (CHECKS + 2 * u64::from(case.connections));
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => Err(format!(
            "its {name} is {found} where {least} to {most} must be"
        )),
    }
}
