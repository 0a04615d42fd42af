//! `cargo xtask bench load`: quick requests beside slow ones, overload, and one client with many connections, with the
//! routes of examples/bench_load.
//!
//! Loads are open: requests are due at a rate, whether the server answers or not, and a time counts from the moment at
//! which its request was due. Rates are parts of the most that each server does itself in the same round.

mod busy;
mod compute;
mod quick;

use clap::{Args, ValueEnum};

use super::side_by_side::RoundOptions;
use crate::error::Error;
use crate::load::LoadResult;
use crate::load::open::Site;
use crate::measure::case::LoadCase;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup};
use crate::measure::{Sample, Series, Skipped};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::{BenchStorage, Durability};
use crate::peers::{LOAD_BUN, LOAD_PEERS, Peer};
use crate::report;
use crate::report::load as targets;
use crate::routes::{Headers, Route};
use compute::Steps;

/// The part of the most that a server does at which quick routes are measured.
const SHARE: f64 = 0.3;

/// A state in which servers are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// A quick route while another burns 100 ms of CPU per request, on all cores
    Slow,
    /// A quick route beside slow ones after a restart, with what was learned about the routes
    Learned,
    /// A quick route while 50 clients log in with Argon2 and 20 read 100,000 rows
    Logins,
    /// Twice and four times the load that the server can bear
    Overload,
    /// Ten clients with a connection each, beside one client with 1,000
    Crowd,
}

/// The options of `cargo xtask bench load`.
#[derive(Args)]
pub(crate) struct LoadOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(LOAD_PEERS))]
    only: Vec<String>,
    /// Measure only these scenarios
    #[arg(long, value_name = "SCENARIO,...", value_delimiter = ',', value_enum)]
    scenarios: Vec<Scenario>,
    /// The number of threads (workers, processes) of each server
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    #[command(flatten)]
    shared: RoundOptions,
}

/// The options and the servers of a run.
struct LoadBench<'a> {
    options: &'a LoadOptions,
    setup: &'a Setup,
    placement: Placement,
}

/// Something that was measured on one server in one round.
type Found = Vec<(Route, LoadResult)>;

/// Runs the benchmark and writes `load.json`, `load.md` and `load.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn load(options: &LoadOptions) -> Result<bool, Error> {
    options.shared.suite.refuse_before()?;
    let mut setup = options.shared.suite.prepare(LOAD_PEERS, &options.only)?;
    let mut skipped = Vec::new();
    let bench = LoadBench {
        options,
        setup: &setup,
        placement: Placement::here(options.threads as usize),
    };
    let series = bench.run(&mut skipped);
    let conditions = bench.conditions();
    setup.skipped.append(&mut skipped);
    let ratios = targets::judge(&series);
    let (must, also): (Vec<Figure>, Vec<Figure>) = ratios
        .into_iter()
        .partition(|figure| figure.reached.is_some());
    report::finish(&report::LOAD, setup, conditions, series, must, also)
}

impl LoadBench<'_> {
    fn conditions(&self) -> [(&'static str, String); 2] {
        let (seconds, rounds) = (self.options.shared.seconds, self.options.shared.rounds);
        [
            (
                "threads",
                format!("{}; {}", self.options.threads, self.placement.describe()),
            ),
            (
                "load",
                format!(
                    "sampan bench --rate: open, times from the moment at which a request was due; {seconds} s × {rounds} \
                     rounds, each with a server of its own"
                ),
            ),
        ]
    }

    fn has(&self, scenario: Scenario) -> bool {
        let named = &self.options.scenarios;
        named.is_empty() || named.contains(&scenario)
    }

    /// In each round one server after the other, in each all scenarios that it has.
    fn run(&self, skipped: &mut Vec<Skipped>) -> Vec<Series> {
        let mut peers: Vec<(&'static Peer, Steps)> = Vec::new();
        for (peer, _) in &self.setup.installed {
            match self.start(peer, None).and_then(|server| Steps::of(&server)) {
                Ok(steps) => peers.push((peer, steps)),
                Err(fault) => Skipped::note(skipped, peer.title.to_owned(), fault),
            }
        }
        let mut series: Vec<Series> = Vec::new();
        for round in 1..=self.options.shared.rounds {
            println!("round {round} of {}", self.options.shared.rounds);
            for (peer, steps) in &peers {
                for (name, way) in WAYS {
                    match way(self, peer, *steps) {
                        Ok(found) => self.keep(&mut series, peer, round, found),
                        Err(fault) => {
                            let what = format!("{}: {name}, round {round}", peer.title);
                            Skipped::note(skipped, what, fault);
                        }
                    }
                }
            }
            // No server is always the first or the last.
            peers.reverse();
        }
        series.sort_by_key(|one| one.case);
        series
    }

    fn keep(&self, series: &mut Vec<Series>, peer: &'static Peer, round: u32, found: Found) {
        for (route, seen) in found {
            let case = LoadCase::plain(route, Headers::Plain, self.options.threads);
            let (title, p99, rate) = (route.title(), seen.p99_micros / 1e3, seen.per_second);
            println!(
                "  {title:<60} {:<20} p99 {p99:>9.2} ms  {rate:>8.0} requests/s",
                peer.title
            );
            let sample = Sample {
                round,
                seen,
                cpu_micros: f64::NAN,
                resident_bytes: 0,
                database: None,
            };
            let is_it = |one: &&mut Series| one.peer.id == peer.id && one.case == case;
            match series.iter_mut().find(is_it) {
                Some(one) => one.samples.push(sample),
                None => series.push(Series {
                    samples: vec![sample],
                    ..Series::new(peer, case)
                }),
            }
        }
    }

    /// Makes a folder for a database, where a peer has one.
    fn storage(&self, peer: &Peer) -> Result<Option<BenchStorage>, String> {
        let has_database = peer.is_ours() || peer.id == LOAD_BUN;
        let made = || self.setup.storage(Durability::Full, "");
        has_database.then(made).transpose()
    }

    /// Starts a server. Without a folder it gets one that is removed with it.
    fn start(
        &self,
        peer: &'static Peer,
        storage: Option<&BenchStorage>,
    ) -> Result<LoadServer, String> {
        let own = match storage {
            Some(_) => None,
            None => self.storage(peer)?,
        };
        let threads = self.options.threads as usize;
        let storage = storage.or(own.as_ref());
        let server = self
            .setup
            .start_with(peer, &self.placement, threads, storage)?;
        Ok(LoadServer { server, _own: own })
    }

    fn site(&self, server: &LoadServer) -> Site<'_> {
        Site {
            root: &self.setup.root,
            placement: &self.placement,
            server: server.server.address(),
        }
    }
}

/// A server, and the database that is removed after it.
struct LoadServer {
    server: PeerServer,
    _own: Option<BenchStorage>,
}

/// Groups of scenarios that share a server, by name.
type Way = for<'a, 'b> fn(&'a LoadBench<'b>, &'static Peer, Steps) -> Result<Found, String>;

const WAYS: [(&str, Way); 3] = [
    ("a quick route", quick::measure),
    ("overload", busy::overload),
    ("crowd", busy::crowd),
];
