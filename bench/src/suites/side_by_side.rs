//! The common parts of benchmarks that measure all servers on all routes, one beside the other.

use clap::Args;

use crate::Error;
use crate::measure::case::CONNECTIONS;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup, SuiteOptions};
use crate::measure::{ExtraCases, MeasurementPlan, Series, before, machine};
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, BenchReport, Suite};
use crate::routes::Route;

/// The options of each of them.
#[derive(Args)]
pub(super) struct RoundOptions {
    /// The number of rounds in which each server is measured on each route
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) rounds: u32,
    /// The duration of each measurement
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(super) seconds: u32,
    #[command(flatten)]
    pub(super) suite: SuiteOptions,
}

/// One of these benchmarks.
pub(super) struct SideBySide<'a> {
    pub(super) suite: &'static Suite,
    pub(super) peers: &'static [Peer],
    /// The ids of those that are measured; all if it is empty.
    pub(super) only: &'a [String],
    pub(super) routes: Vec<Route>,
    pub(super) extra: ExtraCases,
    /// The number of threads that each server has.
    pub(super) threads: u32,
    pub(super) targets: &'static [RatioTarget],
    pub(super) options: &'a RoundOptions,
}

impl SideBySide<'_> {
    /// Measures, and writes the report; with `--before` prints what has changed. `false` if nothing could be measured.
    ///
    /// # Errors
    ///
    /// When taskset is missing, our executable does not build, or the results cannot be written.
    pub(super) fn run(self) -> Result<bool, Error> {
        self.run_with(|_| Vec::new())
    }

    /// Runs the benchmark with figures that have no peer, which are measured last.
    ///
    /// # Errors
    ///
    /// As [`SideBySide::run`].
    pub(super) fn run_with(
        self,
        figures: impl FnOnce(&mut Setup) -> Vec<Figure>,
    ) -> Result<bool, Error> {
        let mut setup = self.options.suite.prepare(self.peers, self.only)?;
        let placement = Placement::here(self.threads as usize);
        let series = self.measure(&mut setup, &placement);
        if self.options.suite.before.is_some() {
            return Ok(before::print(&series));
        }
        let figures = figures(&mut setup);
        let (seconds, rounds) = (self.options.seconds, self.options.rounds);
        let threads = format!("{}; {}", self.threads, placement.describe());
        let load =
            format!("sampan bench, {CONNECTIONS} connections, {seconds} s × {rounds} rounds");
        let mut conditions = machine::conditions(setup.busy);
        conditions.extend([("threads", threads), ("load", load)]);
        let report = BenchReport {
            suite: self.suite,
            conditions,
            versions: setup::versions(&setup.installed),
            ratios: targets::judge(self.targets, &series, self.threads),
            series,
            figures,
            skipped: setup.skipped,
        };
        report::write(&report, &setup.out)?;
        Ok(!report.series.is_empty())
    }

    fn measure(&self, setup: &mut Setup, placement: &Placement) -> Vec<Series> {
        let threads = self.threads as usize;
        let mut runners = setup.start(placement, threads);
        let mut skipped = Vec::new();
        let renew = |peer| setup.start_one(peer, placement, threads);
        let plan = MeasurementPlan {
            root: &setup.root,
            placement,
            routes: self.routes.clone(),
            threads: self.threads,
            rounds: self.options.rounds,
            seconds: self.options.seconds,
            renew: self.options.suite.before.is_some().then_some(&renew),
            extra: self.extra,
            shown: &[],
        };
        let series = plan.run(&mut runners, &mut skipped);
        setup.skipped.append(&mut skipped);
        series
    }
}
