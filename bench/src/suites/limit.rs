//! `cargo xtask bench limit`: a JSON route of a script beside an epoll loop in C that parses nothing.

use clap::Args;

use super::side_by_side::{RoundOptions, SideBySide};
use crate::Error;
use crate::measure::ExtraCases;
use crate::measure::setup;
use crate::peers::LIMIT_PEERS;
use crate::report::{self, targets};
use crate::routes;

/// The loop has one thread.
const THREADS: u32 = 1;

/// The options of `cargo xtask bench limit`.
#[derive(Args)]
pub(crate) struct LimitOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(LIMIT_PEERS))]
    only: Vec<String>,
    #[command(flatten)]
    shared: RoundOptions,
}

/// Runs the benchmark and writes `limit.json`, `limit.md` and `limit.svg`. `false` if nothing could be
/// measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn limit(options: &LimitOptions) -> Result<bool, Error> {
    SideBySide {
        suite: &report::LIMIT,
        peers: LIMIT_PEERS,
        only: &options.only,
        routes: routes::LIMIT.to_vec(),
        extra: ExtraCases::None,
        threads: THREADS,
        targets: targets::LIMIT,
        options: &options.shared,
    }
    .run()
}
