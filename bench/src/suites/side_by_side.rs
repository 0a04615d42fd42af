//! Benchmarks that measure all servers on all routes, one beside the other.

use std::marker::PhantomData;

use clap::Args;

use crate::error::Error;
use crate::measure::case::CONNECTIONS;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup, SuiteOptions};
use crate::measure::{ExtraCases, MeasurementPlan, Series, before};
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, Suite};
use crate::routes::{self, Route};

/// One of these benchmarks.
pub(crate) trait SideBySide: Send + Sync + 'static {
    const SUITE: &'static Suite;
    const PEERS: &'static [Peer];
    const ROUTES: &'static [Route];
    const TARGETS: &'static [RatioTarget];
    const EXTRA: ExtraCases = ExtraCases::Browser;

    /// Describes the load, given the words for an ordinary one.
    fn load(ordinary: String) -> String {
        ordinary
    }
}

/// The options of each of them.
#[derive(Args)]
pub(crate) struct SideOptions<S: SideBySide> {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(S::PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(S::ROUTES))]
    routes: Vec<Route>,
    #[command(flatten)]
    pub(super) shared: RoundOptions,
    #[arg(skip)]
    of: PhantomData<S>,
}

/// The options about rounds.
#[derive(Args)]
pub(crate) struct RoundOptions {
    /// The number of rounds in which each server is measured on each route
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// The duration of each measurement
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    #[command(flatten)]
    pub(crate) suite: SuiteOptions,
}

/// The options of those that take figures of ours without a peer too.
#[derive(Args)]
pub(crate) struct FigureOptions<S: SideBySide> {
    /// Leave out the figures without a peer, such as the memory of idle connections
    #[arg(long)]
    no_figures: bool,
    #[command(flatten)]
    pub(super) side: SideOptions<S>,
}

/// Figures of ours that have no peer: their name for what went wrong with them, and how they are taken.
pub(super) type OwnFigures = (
    &'static str,
    fn(&Setup, &'static Peer) -> Result<Vec<Figure>, String>,
);

impl<S: SideBySide> FigureOptions<S> {
    /// Runs the benchmark as [`SideOptions::run`], and takes these figures of each of ours.
    ///
    /// # Errors
    ///
    /// As [`SideOptions::run`].
    pub(super) fn run(&self, ways: &[OwnFigures]) -> Result<bool, Error> {
        self.run_beside(|_, _| Ok(()), ways)
    }

    /// Runs it beside what `beside` starts before the servers.
    ///
    /// # Errors
    ///
    /// As [`SideOptions::run`], or those of `beside`.
    pub(super) fn run_beside<T>(
        &self,
        beside: impl FnOnce(&mut Setup, &Placement) -> Result<T, Error>,
        ways: &[OwnFigures],
    ) -> Result<bool, Error> {
        let ways: &[OwnFigures] = if self.no_figures { &[] } else { ways };
        self.side.run_beside(1, beside, |setup| {
            let taken = ways.iter().map(|(name, take)| setup.of_ours(name, take));
            taken.flatten().collect()
        })
    }
}

impl<S: SideBySide> SideOptions<S> {
    /// Measures servers with one thread each, and writes the report; with `--before` or `--cost` prints ratios. `false`
    /// if nothing could be measured.
    ///
    /// # Errors
    ///
    /// When taskset is missing, our executable does not build, or the results cannot be written.
    pub(crate) fn run(&self) -> Result<bool, Error> {
        self.run_with(1, |_| Vec::new())
    }

    /// Runs the benchmark with so many threads for each server, and with figures that have no peer, which are measured
    /// last.
    ///
    /// # Errors
    ///
    /// As [`SideOptions::run`].
    pub(super) fn run_with(
        &self,
        threads: u32,
        figures: impl FnOnce(&mut Setup) -> Vec<Figure>,
    ) -> Result<bool, Error> {
        self.run_beside(threads, |_, _| Ok(()), figures)
    }

    /// Runs the benchmark as [`SideOptions::run_with`], beside what `beside` starts before the servers.
    ///
    /// # Errors
    ///
    /// As [`SideOptions::run`], or those of `beside`.
    pub(super) fn run_beside<T>(
        &self,
        threads: u32,
        beside: impl FnOnce(&mut Setup, &Placement) -> Result<T, Error>,
        figures: impl FnOnce(&mut Setup) -> Vec<Figure>,
    ) -> Result<bool, Error> {
        let mut setup = self.shared.suite.prepare(S::PEERS, &self.only)?;
        let placement = Placement::here(threads as usize);
        let _beside = beside(&mut setup, &placement)?;
        let series = self.measure(&mut setup, &placement, threads);
        if let Some(comparison) = self.shared.suite.comparison() {
            return Ok(before::print(&series, comparison));
        }
        let figures = figures(&mut setup);
        let (seconds, rounds) = (self.shared.seconds, self.shared.rounds);
        let placed = format!("{threads}; {}", placement.describe());
        let load =
            format!("sampan bench, {CONNECTIONS} connections, {seconds} s × {rounds} rounds");
        let ratios = targets::judge(S::TARGETS, &series, threads);
        let conditions = [("threads", placed), ("load", S::load(load))];
        report::finish(S::SUITE, setup, conditions, series, ratios, figures)
    }

    fn measure(&self, setup: &mut Setup, placement: &Placement, threads: u32) -> Vec<Series> {
        let mut runners = setup.start(placement, threads as usize);
        let mut skipped = Vec::new();
        let renew = |peer| setup.start_one(peer, placement, threads as usize);
        let plan = MeasurementPlan {
            root: &setup.root,
            placement,
            routes: setup::chosen(&self.routes, S::ROUTES),
            threads,
            rounds: self.shared.rounds,
            seconds: self.shared.seconds,
            renew: self.shared.suite.comparison().is_some().then_some(&renew),
            extra: S::EXTRA,
            shown: &[],
        };
        let series = plan.run(&mut runners, &mut skipped);
        setup.skipped.append(&mut skipped);
        series
    }
}
