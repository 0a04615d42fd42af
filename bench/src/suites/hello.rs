//! `cargo xtask bench hello`: the routes of examples/hello without its database, those of examples/bench_bodies, and
//! the figures that have no peer.

use clap::Args;

use super::side_by_side::{SideBySide, SideOptions};
use crate::error::Error;
use crate::measure::Skipped;
use crate::measure::figures::{Figure, Subject};
use crate::measure::setup::Setup;
use crate::peers::{PEERS, Peer};
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, Suite};
use crate::routes::{self, Route};

/// The options of `cargo xtask bench hello`.
#[derive(Args)]
pub(crate) struct HelloOptions {
    /// The number of threads of each server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Leave out the figures that have no peer (start, memory, size, many connections, two workers)
    #[arg(long)]
    no_figures: bool,
    #[command(flatten)]
    side: SideOptions<Hello>,
}

struct Hello;

impl SideBySide for Hello {
    const SUITE: &'static Suite = &report::HELLO;
    const PEERS: &'static [Peer] = PEERS;
    const ROUTES: &'static [Route] = routes::HELLO;
    const TARGETS: &'static [RatioTarget] = targets::HELLO;
}

/// Runs the benchmark and writes `hello.json`, `hello.md` and `hello.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// As [`SideOptions::run`].
pub(crate) fn hello(options: &HelloOptions) -> Result<bool, Error> {
    options
        .side
        .run_with(options.threads, |setup| match options.no_figures {
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
            rounds: options.side.shared.rounds,
            seconds: options.side.shared.seconds,
        };
        let (found, faults) = subject.figures();
        figures.extend(found);
        faults
            .into_iter()
            .for_each(|(what, why)| Skipped::note(&mut setup.skipped, what, why));
    }
    figures
}
