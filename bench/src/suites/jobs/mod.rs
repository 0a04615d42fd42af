//! `cargo xtask bench jobs`: jobs, with the routes of examples/bench_jobs.
//!
//! Empty jobs are measured beside other systems ([`rate`]). The rest has no peer: adding a job beside a row
//! ([`adding`]), the time until one starts ([`start`]), and requests while jobs use the processors ([`beside`]). With
//! `--before` also the start and the memory of a project without jobs, beside an older executable ([`older`]).

mod adding;
mod beside;
mod older;
mod rate;
mod start;

use clap::{Args, ValueEnum};

use super::side_by_side::RoundOptions;
use crate::error::Error;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup};
use crate::peers::placement::Placement;
use crate::peers::{JOBS_PEERS, JS_JOBS, LUA_JOBS, Peer};
use crate::report;
use crate::report::targets;

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Empty jobs per second, beside River, graphile-worker and BullMQ
    Rate,
    /// Adding a job in the transaction of a request, beside one INSERT more
    Adding,
    /// The time from adding a job to its start
    Start,
    /// A quick route while four jobs use the processors
    Beside,
    /// The start and the memory of examples/hello, where --before names an older executable
    Older,
}

/// The options of `cargo xtask bench jobs`.
#[derive(Args)]
pub(crate) struct JobsOptions {
    /// Measure only these systems
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(JOBS_PEERS))]
    only: Vec<String>,
    /// Measure only these parts
    #[arg(long, value_name = "PART,...", value_delimiter = ',', value_enum)]
    parts: Vec<Part>,
    #[command(flatten)]
    shared: RoundOptions,
}

/// The options and the servers of a run.
struct JobsBench<'a> {
    options: &'a JobsOptions,
    setup: &'a mut Setup,
}

/// Runs the benchmark and writes `jobs.json`, `jobs.md` and `jobs.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn jobs(options: &JobsOptions) -> Result<bool, Error> {
    let suite = &options.shared.suite;
    suite.refuse_cost()?;
    if let Some(program) = suite.before.as_deref().filter(|program| !program.is_file()) {
        return Err(format!("--before: there is no {}", program.display()).into());
    }
    let has = |part: Part| options.parts.is_empty() || options.parts.contains(&part);
    let mut only = options.only.clone();
    if only.is_empty() && !has(Part::Rate) {
        // The others only do empty jobs.
        only = [LUA_JOBS, JS_JOBS].map(str::to_owned).into();
    }
    let mut setup = suite.prepare_all(JOBS_PEERS, &only)?;
    let mut bench = JobsBench {
        options,
        setup: &mut setup,
    };
    let (mut series, mut ratios) = (Vec::new(), Vec::new());
    if has(Part::Rate) {
        series.extend(bench.rates());
        ratios.extend(targets::judge(targets::JOBS, &series, 1));
        ratios.extend(rate::judge(&series));
    }
    if has(Part::Adding) {
        let adding = bench.adding();
        ratios.extend(adding::judge(&adding));
        series.extend(adding);
    }
    if has(Part::Start) {
        ratios.extend(bench.each("time until a job starts", start::start));
    }
    if has(Part::Beside) {
        ratios.extend(bench.each("requests beside jobs", beside::beside));
    }
    if let Some(program) = suite.before.as_deref().filter(|_| has(Part::Older)) {
        ratios.extend(bench.older(program));
    }
    let (seconds, rounds) = (options.shared.seconds, options.shared.rounds);
    let placed = format!(
        "empty jobs: system and database on all processors; adding: {}",
        Placement::here(1).describe()
    );
    let load = format!(
        "{} empty jobs at once, {seconds} s × {rounds} rounds; adding: {}",
        rate::count(seconds),
        adding::LOAD
    );
    let conditions = [("processors", placed), ("load", load)];
    report::finish(&report::JOBS, setup, conditions, series, ratios, Vec::new())
}

impl JobsBench<'_> {
    /// Takes a figure of each of ours.
    fn each(
        &mut self,
        what: &str,
        figure: fn(&RoundOptions, &Setup, &'static Peer) -> Result<Figure, String>,
    ) -> Vec<Figure> {
        let options = &self.options.shared;
        self.setup
            .of_ours(what, |setup, peer| Ok(vec![figure(options, setup, peer)?]))
    }
}
