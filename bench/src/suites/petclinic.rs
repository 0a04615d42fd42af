//! `cargo xtask bench petclinic`: examples/petclinic under 1,000 connections that ask for gzip, beside Spring
//! PetClinic.

use std::path::PathBuf;

use clap::Args;

use crate::error::Error;
use crate::load::{self, LoadResult};
use crate::measure::before;
use crate::measure::case::LoadCase;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup, SuiteOptions};
use crate::measure::{Sample, Series, Skipped, rounds, sample};
use crate::peers::install::Installer;
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::{BenchStorage, Durability};
use crate::peers::{FIXED_ANSWER, PETCLINIC_PEERS, Peer, PeerKind, SPRING};
use crate::report;
use crate::report::stats::mib;
use crate::routes::check;
use crate::routes::{self, Headers, Route};

/// Both processors, which the load has too.
const THREADS: u32 = 2;
const CONNECTIONS: u32 = 1_000;
/// The number of times that Java is warmed up on a route: its compiler takes its time.
const JAVA_WARM_UPS: u32 = 4;
const TAIL_RATIO_MAX: f64 = 3.0;
const FRONT_PAGE_RATE_MIN: f64 = 40_000.0;
/// The rate of the load at which ours can be asked for that.
const LOAD_RATE_MIN: f64 = 60_000.0;
const MIB_MAX: f64 = 60.0;
const SPRING_RATIO_MIN: f64 = 10.0;
/// The setting that turns the cache of compressed answers off.
const UNCACHED: &str = "[compression]\ncache_bytes_max = 0\n";

/// The options of `cargo xtask bench petclinic`.
#[derive(Args)]
pub(crate) struct PetClinicOptions {
    /// The sources of Spring PetClinic; built with Maven if they are not yet
    #[arg(long, value_name = "DIR")]
    spring: Option<PathBuf>,
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(PETCLINIC_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::PETCLINIC))]
    routes: Vec<Route>,
    /// The number of rounds in which each server is measured on each route
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The duration of each measurement
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    suite: SuiteOptions,
}

/// A server, and the database that is removed after it.
struct Running {
    peer: &'static Peer,
    server: PeerServer,
    _storage: BenchStorage,
}

/// Runs the benchmark and writes `petclinic.json`, `petclinic.md` and `petclinic.svg`. `false` if nothing could be
/// measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn petclinic(options: &PetClinicOptions) -> Result<bool, Error> {
    let mut setup = options.suite.prepare(PETCLINIC_PEERS, &options.only)?;
    if let Some(folder) = &options.spring {
        add_spring(&mut setup, folder)?;
    }
    let placement = Placement::here(THREADS as usize);
    let load = |server: &PeerServer, case, seconds| {
        load::load(&setup.root, &placement, server.address(), case, seconds)
    };
    let mut skipped = std::mem::take(&mut setup.skipped);
    let mut running = Vec::new();
    for (peer, _) in &setup.installed {
        match start(&setup, peer, &placement) {
            Ok(server) => running.push(server),
            Err(fault) => Skipped::note(&mut skipped, peer.title.to_owned(), fault),
        }
    }
    let mut series = Vec::new();
    for one in &running {
        for route in wanted(options, one.peer) {
            match warm_up(one, route, options.seconds, load) {
                Ok(()) => series.push(Series::new(one.peer, case(route))),
                Err(fault) => {
                    let what = format!("{} {}", one.peer.title, route.title());
                    Skipped::note(&mut skipped, what, fault);
                }
            }
        }
    }
    let series = rounds(series, options.rounds, &mut skipped, |one, round| {
        let server = running.iter().find(|server| server.peer.id == one.peer.id);
        let server = &server.ok_or("its server is gone")?.server;
        sample(server, round, || load(server, one.case, options.seconds))
    });
    drop(running);
    if let Some(comparison) = options.suite.comparison() {
        return Ok(before::print(&series, comparison));
    }
    let threads = format!("{THREADS}; {}", placement.describe());
    let (seconds, count) = (options.seconds, options.rounds);
    let load = format!("sampan bench, {CONNECTIONS} connections, {seconds} s × {count} rounds");
    let conditions = [("threads", threads), ("load", load)];
    let (ratios, figures) = (ratios(&series), figures(&series));
    setup.skipped = skipped;
    report::finish(
        &report::PETCLINIC,
        setup,
        conditions,
        series,
        ratios,
        figures,
    )
}

/// Puts Spring PetClinic among those that are installed.
fn add_spring(setup: &mut Setup, folder: &std::path::Path) -> Result<(), Error> {
    let peer = Peer::named(SPRING).ok_or("no such peer")?;
    let installed = Installer::new(&setup.root, true).spring(&folder.canonicalize()?)?;
    setup.skipped.retain(|skipped| skipped.what != peer.title);
    setup.installed.push((peer, installed));
    Ok(())
}

fn start(setup: &Setup, peer: &'static Peer, placement: &Placement) -> Result<Running, String> {
    let is_uncached = peer.id.ends_with("-uncached");
    let lines = if is_uncached { UNCACHED } else { "" };
    let storage = setup.storage(Durability::Normal, lines)?;
    let server = setup.start_with(peer, placement, THREADS as usize, Some(&storage))?;
    Ok(Running {
        peer,
        server,
        _storage: storage,
    })
}

/// The routes of a peer that were asked for.
fn wanted(options: &PetClinicOptions, peer: &Peer) -> Vec<Route> {
    let is_wanted = |route: &&Route| {
        options.routes.is_empty() || peer.id == FIXED_ANSWER || options.routes.contains(route)
    };
    peer.routes.iter().filter(is_wanted).copied().collect()
}

fn case(route: Route) -> LoadCase {
    LoadCase {
        connections: CONNECTIONS,
        ..LoadCase::plain(route, Headers::Gzip, THREADS)
    }
}

/// Checks the answers of a route, and makes it warm.
fn warm_up(
    running: &Running,
    route: Route,
    seconds: u32,
    load: impl Fn(&PeerServer, LoadCase, u32) -> Result<LoadResult, String>,
) -> Result<(), String> {
    let Running { peer, server, .. } = running;
    if peer.id == FIXED_ANSWER {
        check::check(server.address(), route)?;
    } else {
        check::check_compressed(server.address(), route)?;
    }
    let (times, seconds) = match peer.kind {
        PeerKind::Spring => (JAVA_WARM_UPS, seconds),
        _ => (1, 1),
    };
    println!("warming up {} {}", peer.title, route.title());
    for _ in 0..times {
        load(server, case(route), seconds)?;
    }
    Ok(())
}

/// Ours against Spring's.
fn ratios(series: &[Series]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for ours in series.iter().filter(|one| is_petclinic(one.peer)) {
        let theirs = series
            .iter()
            .find(|one| one.peer.id == SPRING && one.case == ours.case);
        let ratio = theirs.and_then(|theirs| {
            let (ours, theirs) = (ours, theirs);
            ours.ratio_to(theirs, rate)
        });
        let is_asked = ours.case.route == Route::Owners;
        figures.push(Figure {
            what: format!(
                "{}: {}, requests/s",
                ours.peer.title,
                ours.case.route.title()
            ),
            value: ratio.map_or_else(|| "not measured".to_owned(), |ratio| format!("{ratio:.1}")),
            wanted: match is_asked {
                true => format!("at least {SPRING_RATIO_MIN}"),
                false => "-".to_owned(),
            },
            reached: ratio
                .filter(|_| is_asked)
                .map(|ratio| ratio >= SPRING_RATIO_MIN),
        });
    }
    figures
}

/// Returns the targets of the front page: no errors, a short tail, its rate, little memory.
fn figures(series: &[Series]) -> Vec<Figure> {
    let median = |one: &Series, figure: fn(&Sample) -> f64| {
        one.spread(figure).map_or(f64::NAN, |spread| spread.median)
    };
    let limit = series.iter().find(|one| one.peer.id == FIXED_ANSWER);
    let limit = limit.map_or(f64::NAN, |one| median(one, rate));
    let is_asked = |one: &&Series| is_petclinic(one.peer) && one.case.route == Route::FrontPage;
    let mut figures = Vec::new();
    for one in series.iter().filter(is_asked) {
        let mut add = |what: &str, value: String, wanted: String, reached: bool| {
            figures.push(Figure {
                what: format!("{}: front page, {what}", one.peer.title),
                value,
                wanted,
                reached: Some(reached),
            });
        };
        let errors = one.errors();
        let is_clean = errors.is_empty();
        let shown = if is_clean { "none".to_owned() } else { errors };
        add("errors", shown, "none".to_owned(), is_clean);
        let tail = median(one, |sample| {
            sample.seen.p99_micros / sample.seen.p50_micros
        });
        let wanted = format!("at most {TAIL_RATIO_MAX}");
        add(
            "p99 to p50",
            format!("{tail:.2}"),
            wanted,
            tail <= TAIL_RATIO_MAX,
        );
        let found = median(one, rate);
        let wanted =
            format!("at least {FRONT_PAGE_RATE_MIN}, or the same share of what the load can");
        let least = FRONT_PAGE_RATE_MIN * (limit / LOAD_RATE_MIN).min(1.0);
        let value = format!("{found:.0} of {limit:.0}");
        add("requests/s", value, wanted, found >= least);
        let memory = median(one, |sample| mib(sample.resident_bytes));
        let wanted = format!("at most {MIB_MAX}");
        add(
            "memory MiB",
            format!("{memory:.1}"),
            wanted,
            memory <= MIB_MAX,
        );
    }
    figures
}

fn rate(sample: &Sample) -> f64 {
    sample.seen.per_second
}

fn is_petclinic(peer: &Peer) -> bool {
    peer.is_ours() && peer.id != FIXED_ANSWER
}
