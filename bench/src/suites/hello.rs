//! `cargo xtask bench hello`: the routes of examples/hello without its database, those of examples/bench_bodies, and
//! the figures that have no peer.

use clap::Args;

use super::side_by_side::{RoundOptions, SideBySide};
use crate::Error;
use crate::measure::figures::{Figure, Subject};
use crate::measure::setup::{self, Setup};
use crate::measure::{ExtraCases, Skipped};
use crate::peers::{PEERS, Peer};
use crate::report::{self, targets};
use crate::routes::{self, Route};

/// The options of `cargo xtask bench hello`.
#[derive(Args)]
pub(crate) struct HelloOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::HELLO))]
    routes: Vec<Route>,
    /// The number of threads of each server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Leave out the figures that have no peer (start, memory, size, many connections, two workers)
    #[arg(long)]
    no_figures: bool,
    #[command(flatten)]
    shared: RoundOptions,
}

/// Runs the benchmark and writes `hello.json`, `hello.md` and `hello.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn hello(options: &HelloOptions) -> Result<bool, Error> {
    let plan = SideBySide {
        suite: &report::HELLO,
        peers: PEERS,
        only: &options.only,
        routes: setup::chosen(&options.routes, routes::HELLO),
        extra: ExtraCases::Browser,
        threads: options.threads,
        targets: targets::HELLO,
        options: &options.shared,
    };
    plan.run_with(|setup| match options.no_figures {
        true => Vec::new(),
        false => figures(options, setup),
    })
}

/// The figures of ours that have no peer.
fn figures(options: &HelloOptions, setup: &mut Setup) -> Vec<Figure> {
    let mut figures = Vec::new();
    let has_figures = |peer: &Peer| peer.is_ours() && peer.routes.contains(&Route::Greet);
    for (peer, installed) in setup.installed.iter().filter(|(peer, _)| has_figures(peer)) {
        let subject = Subject {
            root: &setup.root,
            logs: &setup.logs,
            peer,
            installed,
            rounds: options.shared.rounds,
            seconds: options.shared.seconds,
        };
        let (found, faults) = subject.figures();
        figures.extend(found);
        faults
            .into_iter()
            .for_each(|(what, why)| Skipped::note(&mut setup.skipped, what, why));
    }
    figures
}
